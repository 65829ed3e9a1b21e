import { existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { Command } from 'commander';
import { counted, EXIT, readableBytes } from '../../schemas/command-line.ts';
import { verifyLedger } from '../billing/usage.ts';
import type { Config } from '../config.ts';
import { fileFault } from '../jobs/files.ts';
import { filedJobs, pendingSince } from '../jobs/rows.ts';
import { openCatalog } from '../published/catalog.ts';
import { masterKeyFault } from '../records/cipher.ts';
import { recordsLocation } from '../records/database.ts';
import { isDamage, isOutage } from '../records/errors.ts';
import { overdueMessages } from '../webhooks/messages.ts';
import { print, withRecords } from './cli.ts';
import { ledgerLines } from './usage.ts';

/** While the service runs, jobs end within minutes. */
const JOB_PASSES_MS = 3_600_000;
/** Scans come every two minutes and are served within five. */
const STALE_AFTER_MS = 600_000;
/** A day of scans needs about this much room. */
const FREE_BYTES_MIN = 5e9;
/** Faults that are named in one finding. */
const NAMED = 3;

/** `hail-api doctor`: checks that are safe while the server runs. */
export function doctorCommand(config: () => Config): Command {
  return new Command('doctor')
    .description(
      'check the records, the ledger, deliveries, jobs and their files, the master key, the published data and the disk; exit code 5 when something is wrong',
    )
    .option('--json', 'print one JSON object')
    .action(async ({ json }: { readonly json?: true }) => {
      const settings = config();
      // File modes first: closing the records removes the log that a killed process left.
      const modes = fileModes(settings);
      const findings = [...(await inRecords(settings)), modes, await published(settings), disk(settings.data_root)];
      const lines = findings.map(({ status, check, message }) => `${status.padEnd(5)}  ${check}: ${message}`);
      print(json, { json: { findings }, lines });
      if (findings.some(({ status }) => status === 'fault')) process.exitCode = EXIT.check_found;
    });
}

/** Result of one check, for which the page for operators has an entry. `note`: information that needs no repair. */
function finding(check: string, status: 'ok' | 'note' | 'fault', message: string) {
  return { check, status, message };
}

function listed(check: string, faults: readonly string[], well: string) {
  if (faults.length === 0) return finding(check, 'ok', well);
  const more = faults.length > NAMED ? [`${faults.length - NAMED} more`] : [];
  return finding(check, 'fault', [...faults.slice(0, NAMED), ...more].join('; '));
}

async function inRecords(config: Config) {
  const { data_root, master_keys, now } = config;
  try {
    return await withRecords(config, async (records) => {
      const { store, reader } = records;
      const damage = await store.selfCheck();
      const database = listed('database', damage, `${store.kind} ${store.name}`);
      if (damage.length > 0) return [database];
      const ledger = await verifyLedger(reader);
      const ledgerText = ledgerLines(ledger).join(' ');
      const overdue = await overdueMessages(reader, Date.now());
      const late = overdue.map(({ receiver_id, next_at }) => `an event for ${receiver_id} is due since ${next_at}`);
      const pending = await pendingSince(reader, now() - JOB_PASSES_MS);
      const stuck = pending.map(({ id, created_at }) => `${id} waits since ${created_at}`);
      const lost: string[] = [];
      // A job that lost its file and was refunded is no longer done.
      for (const job of await filedJobs(reader, null)) {
        const fault = job.status === 'done' ? await fileFault(data_root, job) : null;
        if (fault !== null) lost.push(`the file of ${job.id} ${fault}`);
      }
      const key = await masterKeyFault(store, { records_root: data_root, master_keys });
      return [
        database,
        listed('ledger', ledger.faults.length === 0 ? [] : [ledgerText], ledgerText),
        listed('deliveries', late, 'none is overdue'),
        listed('jobs', stuck, 'none waits for more than an hour'),
        listed('job files', lost, 'every report and export that is done has its file'),
        listed('master key', key === null ? [] : [key], 'stored secrets are under one that is here'),
      ];
    });
  } catch (error) {
    if (!isOutage(error) || !isDamage(error.cause)) throw error;
    const reason = error.cause instanceof Error ? error.cause.message : String(error.cause);
    return [finding('database', 'fault', `is malformed (${reason})`)];
  }
}

/** The master key has a check of its own. */
function fileModes({ data_root, database_url }: Config) {
  const location = recordsLocation(data_root, database_url);
  const files = 'path' in location ? ['', '-wal', '-shm'].map((end) => location.path + end) : [];
  const faults = [...files, ...files.slice(0, 1).map(dirname)].flatMap((path, k) => {
    const most = k < files.length ? 0o600 : 0o700;
    const mode = (statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o777;
    return (mode & ~most) === 0 ? [] : [`${path} is ${mode.toString(8)}, expected at most ${most.toString(8)}`];
  });
  return listed('file mode', faults, 'only their owner can read the records');
}

/** Checks that the service can answer from the published data, as `/readyz` does, and the age of the newest scan. */
async function published({ data_root, storm_day_start_hour, now }: Config) {
  const catalog = await openCatalog(data_root, storm_day_start_hour);
  await catalog.close();
  const failure = catalog.failure();
  if (failure !== null) return finding('published', 'fault', failure.message);
  const { newest_scan_ms, newest_provenance, dates } = catalog.edition();
  if (newest_scan_ms === null) return finding('published', 'note', 'no scan is published');
  const age_ms = now() - newest_scan_ms;
  const status = age_ms <= STALE_AFTER_MS ? 'ok' : newest_provenance === 'observed' ? 'fault' : 'note';
  const age = counted(Math.round(age_ms / 60_000), 'minute');
  const message = `${counted(dates.length, 'storm date')} can be read; the newest scan (${newest_provenance}) is ${age} old`;
  return finding('published', status, message);
}

function disk(data_root: string) {
  if (!existsSync(data_root)) return finding('disk', 'note', `${data_root} is not there`);
  const { bavail, bsize } = statfsSync(data_root);
  const free = bavail * bsize;
  return finding('disk', free < FREE_BYTES_MIN ? 'fault' : 'ok', `${readableBytes(free)} are free`);
}
