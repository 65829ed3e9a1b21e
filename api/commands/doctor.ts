import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { counted, EXIT } from '../../schemas/command-line.ts';
import { isDoubted } from '../../schemas/deletion-clock.ts';
import { foreignFolders, layout } from '../../schemas/layout.ts';
import { Current } from '../../schemas/manifest.ts';
import { instant } from '../../schemas/time.ts';
import { orphans, planFaults, scopeFaults, tagFaults } from '../accounts/integrity.ts';
import { openCatalog } from '../catalog.ts';
import type { Config } from '../config.ts';
import { openDataRoot } from '../data-root.ts';
import { sizeFault } from '../jobs/files.ts';
import { expiredJobs, filedJobs, pendingSince } from '../jobs/rows.ts';
import { abandonedClaims } from '../metering/idempotency.ts';
import type { Records } from '../metering/records.ts';
import { verifyLedger } from '../metering/verify.ts';
import { machineClock } from '../store/clock.ts';
import { recordsLocation } from '../store/database.ts';
import { isDamage } from '../store/database-health.ts';
import { readClock } from '../store/deletions.ts';
import { deliveryPause } from '../store/delivery-pause.ts';
import { isOutage } from '../store/errors.ts';
import { type Holder, holdersOf } from '../store/holders.ts';
import { rememberedRoot } from '../store/remembered-root.ts';
import { KEY_FILE_MODE, masterKeyFault, masterKeyPath } from '../store/secrets.ts';
import { countExpiredLeases } from '../store/tasks/table.ts';
import { overdueMessages } from '../webhooks/messages.ts';
import { OVERDUE_MS } from '../webhooks/recover.ts';
import { print, type RecordsConfig, withRecords } from './cli.ts';
import { growthFinding } from './growth.ts';
import { RESUME } from './restore.ts';
import { ledgerLines } from './usage.ts';

/** What `doctor` checks, in the order in which it prints; the page for operators has an entry for each. */
export const DOCTOR_CHECKS = [
  'file lock',
  'database',
  'ledger',
  'plans',
  'orphaned rows',
  'scopes',
  'tags',
  'idempotency',
  'deliveries',
  'leases',
  'jobs',
  'job files',
  'deletions',
  'master key',
  'published',
  'file mode',
  'data root',
  'data',
  'disk',
] as const;
type Check = (typeof DOCTOR_CHECKS)[number];

/** Result of one check. `note`: information that needs no repair. */
interface Finding {
  readonly check: Check;
  readonly status: 'ok' | 'note' | 'fault';
  readonly message: string;
}

/** Scans come every two minutes and are served within five. */
const STALE_AFTER_MS = 10 * 60_000;

/** What the command needs of the settings. */
type DoctorConfig = RecordsConfig & Pick<Config, 'master_keys' | 'storm_day_start_hour'>;

/** `hail-api doctor`: every invariant that can be checked while the server runs. */
export function doctorCommand(config: () => DoctorConfig): Command {
  return new Command('doctor')
    .description(
      'check the records, their file and its lock, the ledger, deliveries, jobs and their files, the master key, the data root, the age of the data and how long the disk lasts; exit code 5 when something is wrong',
    )
    .option('--json', 'print one JSON object')
    .action(async ({ json }: { readonly json?: true }) => {
      const findings = await examine(config());
      print(
        json,
        { findings },
        findings.map(({ status, check, message }) => `${status.padEnd(5)}  ${check}: ${message}`),
      );
      if (findings.some(({ status }) => status === 'fault')) process.exitCode = EXIT.check_found;
    });
}

async function examine(config: DoctorConfig): Promise<readonly Finding[]> {
  const held = await fileLock(config);
  // Before the records are opened, which removes the log that a killed process left.
  const modes = fileModes(config);
  return [
    ...held,
    ...(held.some(({ status }) => status === 'fault') ? [leftClosed(config)] : await inRecords(config)),
    ...modes,
    folders(config.data_root),
    await dataAge(config),
    { check: 'disk', ...growthFinding(config.data_root, config.raw_keep_days) },
  ];
}

/** Checks that each process that has the SQLite file open holds its lock and has no deleted file open. */
async function fileLock({ data_root, database_url }: RecordsConfig): Promise<readonly Finding[]> {
  const location = recordsLocation(data_root, database_url);
  if (!('path' in location) || !existsSync(dirname(location.path))) return [];
  const { path } = location;
  // A process that is opening or closing the file may look unsafe for a moment.
  if (holdersOf(path)?.some(isUnsafe)) await sleep(HOLDER_PASSES_MS);
  const holders = holdersOf(path);
  const check = 'file lock';
  if (holders === null)
    return [{ check, status: 'note', message: `${process.platform} does not tell who holds ${path}` }];
  if (holders.length === 0) return [{ check, status: 'ok', message: `no other process has ${path} open` }];
  return holders.map((holder): Finding => {
    const { pid, locked, deleted } = holder;
    if (!isUnsafe(holder)) return { check, status: 'ok', message: `process ${pid} holds the lock of ${path}` };
    const faults = [
      ...(locked ? [] : [`holds no lock on ${path}, so that the next to close it deletes its log`]),
      ...deleted.map((name) => `has ${name} open, which was deleted or replaced`),
    ];
    return { check, status: 'fault', message: `process ${pid} ${faults.join('; ')}` };
  });
}

const HOLDER_PASSES_MS = 100;

function isUnsafe({ locked, deleted }: Holder): boolean {
  return !locked || deleted.length > 0;
}

/** SQLite deletes the log if it takes itself for the last user of the file. */
function leftClosed(config: RecordsConfig): Finding {
  const name = nameOf(config);
  return {
    check: 'database',
    status: 'note',
    message: `${name} was not opened: closing it could delete the log in use`,
  };
}

async function inRecords(config: DoctorConfig): Promise<readonly Finding[]> {
  try {
    return await withRecords(config, async (records) => {
      const found = await database(records);
      if (found.status === 'fault') return [found];
      const { reader } = records;
      return [
        found,
        await ledger(records),
        listed('plans', await planFaults(reader), 'every business has a plan that fits together'),
        ...(await orphanedRows(records)),
        listed('scopes', await scopeFaults(reader), 'every key has scopes that can be read'),
        listed('tags', await tagFaults(reader), 'every location and area has tags that can be read'),
        await claims(records),
        await deliveries(records),
        await leases(records),
        ...(await jobs(records, config)),
        await deletions(records),
        await masterKey(records, config),
        await published(records, config),
      ];
    });
  } catch (error) {
    if (!isOutage(error) || !isDamage(error.cause)) throw error;
    const reason = error.cause instanceof Error ? error.cause.message : String(error.cause);
    return [{ check: 'database', status: 'fault', message: `${nameOf(config)} is malformed (${reason})` }];
  }
}

function nameOf({ data_root, database_url }: RecordsConfig): string {
  const location = recordsLocation(data_root, database_url);
  return 'path' in location ? location.path : new URL(location.url).host;
}

async function database({ store }: Records): Promise<Finding> {
  const faults = await store.selfCheck();
  if (faults.length > 0) return listed('database', [`${store.name} is malformed`, ...faults], '');
  return { check: 'database', status: 'ok', message: `${store.kind} ${store.name}` };
}

/** Faults that are named in one finding. */
const NAMED = 3;

function listed(check: Check, faults: readonly string[], well: string): Finding {
  if (faults.length === 0) return { check, status: 'ok', message: well };
  const more = faults.length > NAMED ? [`${faults.length - NAMED} more`] : [];
  return { check, status: 'fault', message: [...faults.slice(0, NAMED), ...more].join('; ') };
}

async function orphanedRows({ reader }: Records): Promise<readonly Finding[]> {
  const check = 'orphaned rows';
  const found = await orphans(reader);
  if (found.length === 0) return [{ check, status: 'ok', message: 'none' }];
  return found.map(({ table, rows, missing, passing }) => ({
    check,
    status: passing ? 'note' : 'fault',
    message: `${counted(rows, 'row')} of ${table} without their ${missing}`,
  }));
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

/** Claims of dead processes do no harm: the next request with their key takes them over. */
async function claims({ store }: Records): Promise<Finding> {
  const { length } = await abandonedClaims(store);
  return {
    check: 'idempotency',
    status: length === 0 ? 'ok' : 'note',
    message: `${counted(length, 'claim')} of requests that never ended`,
  };
}

/** While the service runs, due events are sent within a second or two. */
async function deliveries({ reader }: Records): Promise<Finding> {
  const check = 'deliveries';
  const pause = await deliveryPause(reader);
  if (pause !== null) {
    const message = `events and mails wait since ${pause.since}, because ${pause.reason}: once the original is gone, '${RESUME}' sends them`;
    return { check, status: 'note', message };
  }
  const [longest, ...others] = await overdueMessages(reader, machineClock() - OVERDUE_MS);
  if (longest === undefined) return { check, status: 'ok', message: 'none is overdue' };
  const count = counted(others.length + 1, 'event');
  const message = `${count} overdue, the longest since ${longest.next_at} for ${longest.receiver_id}: where the service runs, 'hail-api webhook recover' queues them again`;
  return { check, status: 'fault', message };
}

/** Tasks whose process died are taken again within a second, while the service runs. */
async function leases({ store }: Records): Promise<Finding> {
  const left = await countExpiredLeases(store, LEASE_PASSES_MS);
  const status = left === 0 ? 'ok' : 'fault';
  return { check: 'leases', status, message: `${counted(left, 'task')} left by processes that died` };
}

const LEASE_PASSES_MS = 60_000;

/** Reports and exports that are marked for deletion, and whether the clock is trusted. */
async function deletions({ reader }: Records): Promise<Finding> {
  const check = 'deletions';
  const clock = await readClock(reader);
  const until_ms = clock?.marks.jobs?.until_ms;
  if (clock === null || until_ms === undefined) return { check, status: 'ok', message: 'nothing is marked' };
  if (isDoubted(clock))
    return {
      check,
      status: 'note',
      message: `the clock says ${instant(clock.wall_ms)}, expected about ${instant(clock.trusted_ms)}: nothing is deleted by its age`,
    };
  const marked = await expiredJobs(reader, until_ms, NAMED + 1);
  const names = marked.slice(0, NAMED).map(({ id }) => id);
  const more = marked.length > NAMED ? ' and more' : '';
  return {
    check,
    status: 'ok',
    message:
      names.length === 0
        ? `no report or export has run out by ${instant(until_ms)}`
        : `marked, and deleted a day later: ${names.join(', ')}${more}`,
  };
}

/** While the service runs, jobs end within minutes. A finished job needs its file, which backups of the records do not contain. */
async function jobs({ reader }: Records, { data_root, now }: DoctorConfig): Promise<readonly Finding[]> {
  const stuck = await pendingSince(reader, now() - JOB_PASSES_MS);
  const lost: string[] = [];
  for (const job of await filedJobs(reader, null)) {
    // A job that lost its file is marked and refunded already: nothing is left to repair.
    if (job.status !== 'done') continue;
    const fault = await sizeFault(data_root, job);
    if (fault !== null) lost.push(`the file of ${job.id} ${fault}`);
  }
  return [
    listed(
      'jobs',
      stuck.map(({ id, created_at }) => `${id} waits since ${created_at}`),
      'none waits for more than an hour',
    ),
    listed('job files', lost, 'every report and export that is done has its file'),
  ];
}

const JOB_PASSES_MS = 3_600_000;

/** The service does not start on records that were restored without their master key. */
async function masterKey(records: Records, { data_root, master_keys }: DoctorConfig): Promise<Finding> {
  const fault = await masterKeyFault(records, { records_root: data_root, master_keys });
  return listed('master key', fault === null ? [] : [fault], 'stored secrets are under one that is here');
}

function fileModes({ data_root, database_url }: RecordsConfig): readonly Finding[] {
  const location = recordsLocation(data_root, database_url);
  const path = 'path' in location ? location.path : null;
  const files = path === null ? [] : ['', '-wal', '-shm'].map((suffix) => path + suffix);
  const secret = [...files, masterKeyPath(data_root)].map((each) => ({ path: each, most: KEY_FILE_MODE }));
  return [...secret, ...(path === null ? [] : [{ path: dirname(path), most: 0o700 }])].flatMap(
    ({ path, most }): Finding[] => {
      const stat = statSync(path, { throwIfNoEntry: false });
      if (stat === undefined) return [];
      const mode = stat.mode & 0o777;
      const open = (mode & ~most) !== 0;
      return [
        {
          check: 'file mode',
          status: open ? 'fault' : 'ok',
          message: `${path} is ${mode.toString(8)}${open ? `, expected at most ${most.toString(8)}` : ''}`,
        },
      ];
    },
  );
}

/** Checks that the service can answer from the published data, as `/readyz` does. */
async function published({ reader }: Records, config: DoctorConfig): Promise<Finding> {
  const memory = { recall: () => rememberedRoot(reader), remember: async () => true };
  const catalog = await openCatalog(config.data_root, config.storm_day_start_hour, memory);
  const failure = catalog.failure();
  const dates = failure === null ? catalog.edition().dates.length : 0;
  await catalog.close();
  return listed('published', failure === null ? [] : [failure], `${counted(dates, 'storm date')} can be read`);
}

/** Names in a data root that the pipeline has published to. */
const PUBLISHED = [layout.current, layout.manifests, layout.tables, layout.tiles, layout.live, layout.state];

/** Without its lists and tables a data root looks like one without hail. */
function folders(data_root: string): Finding {
  const isThere = (name: string) => existsSync(join(data_root, name));
  if (!PUBLISHED.some(isThere)) return { check: 'data root', status: 'ok', message: `${data_root} is not yet used` };
  const missing = [layout.manifests, layout.tables].filter((name) => !isThere(name));
  const device = (name: string) => statSync(join(data_root, name), { throwIfNoEntry: false })?.dev ?? null;
  return listed(
    'data root',
    [
      ...missing.map((name) => `${join(data_root, name)} is missing, and the data root has been used`),
      ...foreignFolders(device).map(({ path, reason }) => `${join(data_root, path)} ${reason}`),
    ],
    `${data_root} has its lists and tables`,
  );
}

async function dataAge(config: DoctorConfig): Promise<Finding> {
  const check = 'data';
  const root = openDataRoot(config.data_root);
  const text = await root.text(layout.current);
  if (text === null) return { check, status: 'note', message: `nothing is published under ${root.name}` };
  const parsed = Current.safeParse(parseJson(text));
  if (!parsed.success)
    return { check, status: 'fault', message: `${root.name}/${layout.current} is not what the pipeline writes` };
  const { scan_id, source, data_timestamp } = parsed.data;
  const age_ms = config.now() - Date.parse(data_timestamp);
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
