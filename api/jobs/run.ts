import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { systemFault } from '../../schemas/command-line.ts';
import { ApiError } from '../http/errors.ts';
import { unlessAborted } from '../http/event-loop.ts';
import { DataUnavailable } from '../published/data-root.ts';
import { QueryTimeout } from '../published/duckdb.ts';
import { isOutage } from '../records/errors.ts';
import type { Services } from '../services.ts';
import { openStage, placeFile, removeFile, removeOldStages, sealFile } from './files.ts';
import { EXPORT, type JobHandlers, type MadeFile, type MakingServices, REPORT } from './kinds.ts';
import {
  beginJob,
  deleteJob,
  expiredJobs,
  failJob,
  finishJob,
  JOB_TASK,
  type Job,
  JobTask,
  putJobBack,
} from './rows.ts';

const RUN_DEFAULTS = {
  /** Time limit of a job handler. */
  limit_ms: 900_000,
  /** Wait after the first failure that may pass; five times as long after each later one. */
  retry_wait_ms: 5_000,
  /** How long a job stays with a process that was killed. */
  lease_ms: 30_000,
};
type RunSettings = Readonly<typeof RUN_DEFAULTS>;
/** Attempts at most, over more than an hour with their waits: a full disk may take an operator half an hour. */
const ATTEMPTS_MAX = 6;
const WAIT_GROWS = 5;
const SWEEP_EVERY_MS = 3_600_000;

type RunServices = Pick<Services, 'records' | 'queue' | 'files_root'> & MakingServices;

interface RunParts {
  readonly services: RunServices;
  readonly jobHandlers: JobHandlers;
  readonly settings: RunSettings;
  readonly log: Logger;
  readonly stop: AbortSignal;
}

/** Runs jobs one at a time and deletes expired ones until the returned function is called, which puts the running job back. */
export function startJobs(
  services: RunServices,
  log: Logger,
  jobHandlers: JobHandlers,
  given: Partial<RunSettings> = {},
): () => Promise<void> {
  const settings = { ...RUN_DEFAULTS, ...given };
  const stop = new AbortController();
  const parts = { services, jobHandlers, settings, log, stop: stop.signal };
  const slots = { at_once: 1, at_once_of_group: 1, lease_ms: settings.lease_ms };
  const endWork = services.queue.work(JOB_TASK, slots, ({ payload }) => runJob(parts, JobTask.parse(payload).job_id));
  let sweeping = sweep(services, log);
  const timer = setInterval(() => {
    sweeping = sweeping.then(() => sweep(services, log));
  }, SWEEP_EVERY_MS).unref();
  return async () => {
    clearInterval(timer);
    stop.abort();
    await Promise.all([sweeping, endWork()]);
  };
}

/** Makes an attempt at a job, unless it has ended. The job then is done, has failed and is refunded, or waits for another attempt. */
async function runJob(parts: RunParts, id: string): Promise<void> {
  const { services, settings, log, stop } = parts;
  const { records, queue, now } = services;
  const job = await records.transaction((rows) => beginJob(rows, id, now()));
  if (job === null) return;
  const about = { job: id, takes: job.takes };
  const fail = async (reason: string) => {
    const message = `${reason}, and what it cost was given back`;
    await records.transaction((rows) => failJob(rows, job, message, now()));
  };
  const putBack = (takes: number, wait_ms: number) =>
    records.transaction((rows) => putJobBack(rows, queue, job, { takes, due_ms: Date.now() + wait_ms }));
  // Attempts whose process died count.
  if (job.takes > ATTEMPTS_MAX) return await fail(`it could not be made in ${ATTEMPTS_MAX} attempts`);
  try {
    const isDone = await makeAndPlace(parts, job);
    log.info(about, isDone ? 'Jobs:Run:Done' : 'Jobs:Run:Overtaken');
  } catch (error) {
    if (stop.aborted) await putBack(job.takes - 1, 0);
    else if (mayPass(error) && job.takes < ATTEMPTS_MAX) {
      log.warn({ ...about, err: error }, 'Jobs:Run:Delayed');
      await putBack(job.takes, settings.retry_wait_ms * WAIT_GROWS ** (job.takes - 1));
    } else {
      log.error({ ...about, err: error }, 'Jobs:Run:Failed');
      await fail(reasonOf(error));
    }
  }
}

/**
 * Makes the file of a job in a folder of this attempt, and moves it to its place in the transaction that ends the row: the file of a
 * job that is done always matches its row. False where another attempt has ended the job.
 */
async function makeAndPlace({ services, jobHandlers, settings, stop }: RunParts, job: Job): Promise<boolean> {
  const { records, catalog, files_root, now } = services;
  // Throws while the data root is missing: a folder that is made meanwhile lies under its mount.
  catalog.edition();
  const stage = await openStage(files_root, job);
  const signal = AbortSignal.any([stop, AbortSignal.timeout(settings.limit_ms)]);
  try {
    const making = { id: job.id, path: join(stage, 'file'), services, signal };
    const params: unknown = JSON.parse(job.params);
    const made: Promise<MadeFile<unknown>> =
      job.kind === 'report'
        ? jobHandlers.report({ ...making, params: REPORT.params.parse(params) })
        : jobHandlers.export({ ...making, params: EXPORT.params.parse(params) });
    const result = { ...(await unlessAborted(made, signal)), ...(await sealFile(making.path)) };
    return await records.transaction(async (rows) => {
      if (!(await finishJob(rows, job.id, result, now()))) return false;
      await placeFile(files_root, making.path, { ...job, ...result });
      return true;
    });
  } catch (error) {
    // A handler that obeys the signal throws an error of its own.
    throw signal.aborted ? signal.reason : error;
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

/** True for faults of the machine, the disk, the data root or the records, which may pass. Any other error is a bug. */
function mayPass(error: unknown): boolean {
  if (error instanceof DataUnavailable || isOutage(error) || systemFault(error) !== null) return true;
  if (error instanceof ApiError) return error.code === 'overloaded';
  return isMissingFile(error) || (error instanceof Error && /^(Out of Memory|IO) Error/.test(error.message));
}

/** Why a job failed, for the caller: without paths and statements. */
function reasonOf(error: unknown): string {
  const isTooLong = error instanceof DOMException && error.name === 'TimeoutError';
  if (isTooLong || error instanceof QueryTimeout) return 'it took too long to make';
  if (error instanceof DataUnavailable || isMissingFile(error)) return 'the data it needs could not be read';
  return 'it could not be made';
}

/** True for the DuckDB error of a missing published file; an engine that may open given files alone calls it a permission error. */
function isMissingFile(error: unknown): boolean {
  return (
    error instanceof Error && /^(IO Error: (No files found|Cannot open file)|Permission Error)/.test(error.message)
  );
}

/** Deletes expired jobs with their files, and folders of attempts whose process died. The next sweep makes up for a failure. */
async function sweep({ records, catalog, files_root, now }: RunServices, log: Logger): Promise<void> {
  try {
    const until_ms = await records.deletions.due('jobs', newestObserved(catalog));
    if (until_ms !== null) {
      for (const job of await expiredJobs(records.reader, until_ms)) {
        await removeFile(files_root, job);
        await records.transaction((rows) => deleteJob(rows, job, now()));
        log.info({ job: job.id, created_at: job.created_at }, 'Jobs:Expire:Done');
      }
      await records.deletions.done('jobs');
    }
    await removeOldStages(files_root);
  } catch (error) {
    log.warn({ err: error }, 'Jobs:Sweep:Failed');
  }
}

/** Time of the newest scan, where radars observed it: simulated ones follow the clock of the machine. */
function newestObserved({ failure, edition }: Services['catalog']): number | null {
  if (failure() !== null) return null;
  const { newest_provenance, newest_scan_ms } = edition();
  return newest_provenance === 'observed' ? newest_scan_ms : null;
}
