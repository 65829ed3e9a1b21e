import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Command } from 'commander';
import { layout } from '../../schemas/layout.ts';
import { Current } from '../../schemas/manifest.ts';
import { recordsLocation } from '../records/database.ts';
import { abandonedClaims } from '../records/idempotency.ts';
import type { Records } from '../records/records.ts';
import { verifyLedger } from '../records/verify.ts';
import { counted, EXIT, print, type RecordsConfig, withRecords } from './cli.ts';
import { ledgerLines } from './usage.ts';

/** What one check found. `note`: worth knowing, nothing to mend. */
interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'note' | 'fault';
  readonly message: string;
}

/** Scans come every two minutes and are served within five. */
const STALE_AFTER_MS = 10 * 60_000;

/** `hail-api doctor`: every invariant that can be checked while the server runs. */
export function doctorCommand(config: () => RecordsConfig): Command {
  return new Command('doctor')
    .description(
      'check the records, the ledger, file modes and the age of the data; exit code 5 when something is wrong',
    )
    .option('--json', 'print one JSON object')
    .action(async ({ json }: { readonly json?: true }) => {
      const settings = config();
      const findings = await withRecords(settings, (records) => examine(records, settings));
      print(
        json,
        { findings },
        findings.map(({ status, check, message }) => `${status.padEnd(5)}  ${check}: ${message}`),
      );
      if (findings.some(({ status }) => status === 'fault')) process.exitCode = EXIT.check_found;
    });
}

async function examine(records: Records, config: RecordsConfig): Promise<readonly Finding[]> {
  return [
    await database(records),
    await ledger(records),
    await claims(records),
    ...fileModes(config),
    dataAge(config.data_root, config.now()),
  ];
}

async function database({ store }: Records): Promise<Finding> {
  const faults = await store.selfCheck();
  if (faults.length > 0) return { check: 'database', status: 'fault', message: faults.join('; ') };
  return { check: 'database', status: 'ok', message: `${store.kind} ${store.name}` };
}

async function ledger({ reader }: Records): Promise<Finding> {
  const check = await verifyLedger(reader);
  return {
    check: 'ledger',
    status: check.faults.length === 0 ? 'ok' : 'fault',
    message: ledgerLines(check)
      .map((line) => line.trim())
      .join(' '),
  };
}

/** Claims of dead processes hurt nobody: the next request with their key takes them over. */
async function claims({ reader }: Records): Promise<Finding> {
  const { length } = await abandonedClaims(reader, Date.now());
  return {
    check: 'idempotency',
    status: length === 0 ? 'ok' : 'note',
    message: `${counted(length, 'claim')} of requests that never ended`,
  };
}

function fileModes({ data_root, database_url }: RecordsConfig): readonly Finding[] {
  const location = recordsLocation(data_root, database_url);
  if (!('path' in location)) return [];
  return [
    [location.path, 0o600],
    [dirname(location.path), 0o700],
  ].map(([path, most]): Finding => {
    const mode = statSync(String(path)).mode & 0o777;
    const open = (mode & ~Number(most)) !== 0;
    return {
      check: 'file mode',
      status: open ? 'fault' : 'ok',
      message: `${path} is ${mode.toString(8)}${open ? `, expected at most ${Number(most).toString(8)}` : ''}`,
    };
  });
}

function dataAge(data_root: string, now_ms: number): Finding {
  const check = 'data';
  const path = join(data_root, layout.current);
  if (!existsSync(path)) return { check, status: 'note', message: `nothing is published under ${data_root}` };
  const parsed = Current.safeParse(parseJson(readFileSync(path, 'utf8')));
  if (!parsed.success) return { check, status: 'fault', message: `${path} is not what the pipeline writes` };
  const { scan_id, source, data_timestamp } = parsed.data;
  const age_ms = now_ms - Date.parse(data_timestamp);
  const minutes = Math.round(age_ms / 60_000);
  const stale = age_ms > STALE_AFTER_MS;
  const status = stale ? (source === 'observed' ? 'fault' : 'note') : 'ok';
  return { check, status, message: `newest scan ${scan_id} (${source}) is ${counted(minutes, 'minute')} old` };
}

/** The value in the text, or undefined when it is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
