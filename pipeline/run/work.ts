import { randomBytes } from 'node:crypto';
import fs from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import { type ObjectStore, openObjectStore } from '../../schemas/object-store/client.ts';
import { addDays } from '../../schemas/time.ts';
import { type ClaimedDate, type DateTasks, type MadeDate, openDateTasks } from '../cluster/date-tasks.ts';
import { type Lease, leaseName, takeLease } from '../cluster/lease.ts';
import type { Config } from '../config.ts';
import { Conflict, Overtaken, PipelineError, RootLost } from '../error.ts';
import type { Log } from '../log.ts';
import { takeLock } from '../publish/lock.ts';
import type { RootReplica } from '../publish/root-replica.ts';
import { startReadPool } from '../scans/read-ahead.ts';
import { pause } from '../sources/http.ts';
import { joinNext } from './join-next.ts';
import { makeDate } from './make-date.ts';
import { requireCluster } from './require-cluster.ts';
import { openStoredDates, type StoredDates } from './stored-dates.ts';
import type { BackfillSource } from './storm-date-files.ts';
import { isOfSurroundings } from './surroundings.ts';

const RENEW_EVERY_MS = 5_000;
/** Pause before the next claim when none is due. */
const IDLE_MS = 2_000;
/** Pause after a fault of the surroundings: store, database, bucket, disk. */
const FAULT_PAUSE_MS = 10_000;
/** A worker that was killed keeps the lease of its date for up to 10 s. */
const LEASE_PATIENCE_MS = 30_000;

/** Age of a scratch root from which its lock is tried. */
const LEFTOVER_AGE_MS = 10 * 60_000;

export interface WorkRequest {
  readonly threads: number;
  readonly log: Log;
  /** Ends the work; a date that was not finished is given back. */
  readonly signal: AbortSignal;
  /** Ends when every date is done or has failed; otherwise waits for more. */
  readonly until_done: boolean;
}

/** Result of a worker; `work --json` prints it. */
export interface WorkReport {
  readonly dates: number;
  readonly scans: number;
  readonly failed: number;
}

/** Makes storm dates of backfills until there are none left, or until the signal. Workers on any number of machines share the dates. */
export async function work(config: Config, { threads, log, signal, until_done }: WorkRequest): Promise<WorkReport> {
  const { database_url, address } = requireCluster(config);
  const store = openObjectStore(address);
  const holder = `${hostname()} process ${process.pid} ${randomBytes(4).toString('hex')}`;
  const folder = join(config.data_root, layout.work(''));
  await removeLeftovers(folder, config.now());
  const tasks = await openDateTasks(database_url, address.url);
  const readers = startReadPool(threads);
  const report = { dates: 0, scans: 0, failed: 0 };
  const worker = { config, store, dates: openStoredDates(store), tasks, readers, log, database_url };
  try {
    while (!signal.aborted) {
      try {
        const task = await tasks.claim(holder);
        if (task === null) {
          if (until_done && (await tasks.count()).open === 0) break;
          await pause(IDLE_MS, signal);
          continue;
        }
        const made = await workOn(worker, task, join(folder, randomBytes(6).toString('hex')), signal);
        if (made === null) report.failed += 1;
        else Object.assign(report, { dates: report.dates + 1, scans: report.scans + made.scans });
      } catch (error) {
        if (signal.aborted) break;
        if (!isOfSurroundings(error)) throw error;
        log.warn('Work:Wait:Begin', { reason: (error as Error).message, seconds: FAULT_PAUSE_MS / 1000 });
        await pause(FAULT_PAUSE_MS, signal);
      }
    }
    return report;
  } finally {
    await readers.close();
    await tasks.close();
  }
}

interface Worker {
  readonly config: Config;
  readonly store: ObjectStore;
  readonly dates: StoredDates;
  readonly tasks: DateTasks;
  readonly readers: ReturnType<typeof startReadPool>;
  readonly log: Log;
  readonly database_url: string;
}

/** Makes and publishes one date. Null when it failed, which is recorded; a fault of the surroundings gives the date back and is thrown. */
async function workOn(worker: Worker, task: ClaimedDate, scratch: string, stop: AbortSignal): Promise<MadeDate | null> {
  const { tasks, log } = worker;
  const { storm_date } = task;
  const lost = new AbortController();
  const renewal = setInterval(() => {
    tasks.renew(task).then(
      (is_held) => is_held || lost.abort(new RootLost(storm_date, 'is claimed by another worker')),
      (error) => log.warn('Work:Renew:Failed', { date: storm_date, reason: error.message }),
    );
  }, RENEW_EVERY_MS);
  log.info('Backfill:Date:Begin', { date: storm_date, attempt: task.attempts });
  try {
    const made = await makeAndPush(worker, task, scratch, AbortSignal.any([stop, lost.signal]));
    if (!(await tasks.finish(task, made))) throw new RootLost(storm_date, 'is claimed by another worker');
    log.info('Backfill:Date:Done', { date: storm_date, scans: made.scans, seconds: made.seconds });
    return made;
  } catch (error) {
    if (stop.aborted || lost.signal.aborted || isOfSurroundings(error)) {
      await tasks.release(task);
      throw lost.signal.aborted ? lost.signal.reason : error;
    }
    const reason = error instanceof Error ? error.message : String(error);
    await tasks.fail(task, reason, error instanceof Conflict && !(error instanceof Overtaken));
    log.warn('Backfill:Date:Failed', { date: storm_date, attempt: task.attempts, reason });
    return null;
  } finally {
    clearInterval(renewal);
    await fs.rm(scratch, { recursive: true, force: true });
  }
}

async function makeAndPush(
  worker: Worker,
  { storm_date, source, is_last }: ClaimedDate,
  scratch: string,
  signal: AbortSignal,
): Promise<MadeDate> {
  const { config, store, dates, tasks, readers, log, database_url } = worker;
  const lease = await takeLease({
    ...{ database_url, name: leaseName(store.name, `date:${storm_date}`), log, signal },
    ...{ highestFence: () => dates.highestFence(storm_date), patience_ms: LEASE_PATIENCE_MS },
  }).catch((error: unknown) => {
    throw error instanceof Conflict ? new RootLost(storm_date, error.message) : error;
  });
  if (lease === null) throw new RootLost(storm_date, 'was given up');
  try {
    await fs.mkdir(scratch, { recursive: true });
    await dates.prepare(scratch);
    const surroundings = await dates.surroundings(storm_date);
    const made = await makeDate(config, {
      ...{ storm_date, source: source as BackfillSource, surroundings, scratch, readers, log, signal },
      replica: replicaOf(lease),
    });
    if (made.missing > 0 && !is_last)
      throw new PipelineError('sources', storm_date, `${made.missing} files could not be read or fetched`);
    signal.throwIfAborted();
    const { published } = surroundings;
    const next = await dates.published(addDays(storm_date, 1));
    const neighbours = { storm_date, source: source as BackfillSource, made, published, next };
    await joinNext({ ...config, data_root: scratch }, neighbours, tasks, log);
    if (made.scans > 0) await dates.push(scratch, storm_date, { lease, follows: published });
    return made;
  } finally {
    await lease.release();
  }
}

/** Gives the commits of a scratch root the fence of the lease. Nothing follows them: the finished date is pushed as a whole. */
export function replicaOf({ fence, check }: Pick<Lease, 'fence' | 'check'>): RootReplica {
  return {
    fence,
    check,
    reconcile: async () => {},
    committed: () => {},
    commitFailed: () => {},
    update: async () => {},
    takePushed: async () => null,
    sweep: async () => ({ files: 0, bytes: 0 }),
  };
}

/** Deletes the scratch roots of workers that were killed: they are some minutes old, and their lock is free. */
async function removeLeftovers(folder: string, now_ms: number): Promise<void> {
  await fs.mkdir(folder, { recursive: true });
  for (const name of await fs.readdir(folder)) {
    const path = join(folder, name);
    const { mtimeMs } = await fs.stat(path);
    // A folder that was made just now gets its lock in a moment.
    if (Date.now() - mtimeMs < LEFTOVER_AGE_MS) continue;
    try {
      takeLock(path, 'hail-pipeline work', now_ms).release();
    } catch (error) {
      if (error instanceof Conflict) continue;
      throw error;
    }
    await fs.rm(path, { recursive: true, force: true });
  }
}
