import type { Logger } from 'pino';
import { systemFault } from '../../schemas/command-line.ts';
import { ApiError } from '../http/errors.ts';
import { unlessAborted } from '../http/event-loop.ts';
import { DataUnavailable } from '../published/data-root.ts';
import { die } from '../published/die.ts';
import { QueryTimeout } from '../published/duckdb.ts';
import { machineClock } from '../records/clock.ts';
import { isOutage } from '../records/errors.ts';
import { persistently } from '../records/persistently.ts';
import type { Task } from '../records/tasks/queue.ts';
import type { Services } from '../services.ts';
import { openStage, placeFile, removeFile, type Stage, sealFile } from './files.ts';
import { EXPORT, FILE_NAME, type JobHandlers, type Kind, type MakeFile, REPORT } from './kinds.ts';
import { addJobTask, JOB_TASK, JobTask } from './queue.ts';
import { retention } from './retention.ts';
import { beginJob, failJob, finishJob, isKnownJob, type Job, type JobResult, putJobBack } from './rows.ts';

/** How jobs are run; each has a default. */
export interface RunSettings {
  /** Time limit of a job handler. */
  readonly limit_ms: number;
  /** Time after that limit at which a run counts as hanging; the process then exits. */
  readonly hang_ms: number;
  /** Wait after the first temporary failure, or death of the process; five times as long after each later one. */
  readonly retry_wait_ms: number;
  /** How long a job waits for a missing data root. */
  readonly data_wait_ms: number;
  /** Lease of a task: how long it stays with a process that was killed. */
  readonly lease_ms: number;
}

export const RUN_DEFAULTS: RunSettings = {
  limit_ms: 900_000,
  hang_ms: 300_000,
  retry_wait_ms: 5_000,
  data_wait_ms: 1_200_000,
  lease_ms: 30_000,
};

/** Services and settings of a run. */
interface RunParts {
  readonly services: Services;
  readonly jobHandlers: JobHandlers;
  readonly settings: RunSettings;
  readonly log: Logger;
  /** The service is being stopped. */
  readonly stop: AbortSignal;
}

/**
 * Attempts at most, over more than an hour with their waits. A kill of the process is not the job's fault, and a full disk may take
 * an operator half an hour.
 */
const ATTEMPTS_MAX = 6;
/** A slow job delays the jobs behind it at each attempt. */
const ATTEMPTS_MAX_OF_SLOW = 3;
const WAIT_GROWS = 5;
/** While the data root is missing all jobs wait, and each check of a job costs two commits: checks are rarer. */
const DATA_RETRY_TIMES = 6;
/** How long the end of a job is written again during an outage of the records. */
const RECORDING_MS = 30_000;
const SWEEP_EVERY_MS = 3_600_000;

/** A job handler took too long. */
class TooLong extends Error {}
/** The service is being stopped. */
class Stopped extends Error {}

/**
 * Runs the job of a task, unless it has ended. Each attempt writes into a folder of its own. The transaction that ends the row moves
 * the file to a path named by its content: the file of a job that is done always matches its row, also when attempts overlap.
 */
export async function runJobTask(parts: RunParts, { payload, taken }: Pick<Task, 'payload' | 'taken'>): Promise<void> {
  const { services, settings, log } = parts;
  const { records } = services;
  const { job_id, data_waited_ms = 0 } = JobTask.parse(payload);
  const now_ms = services.now();
  // Only a redelivered task shows that the process of the last attempt is gone; a second task of a running job is ignored.
  const left_ms = taken > 1 ? null : now_ms - settings.limit_ms - settings.hang_ms;
  const job = await records.transaction((rows) => beginJob(rows, job_id, now_ms, left_ms));
  if (job === null) return;
  if (job.takes > ATTEMPTS_MAX) {
    await giveUp(parts, job, `it could not be made in ${ATTEMPTS_MAX} attempts`);
    return;
  }
  // A redelivered task of a job that was begun and not put back: its process died.
  if (taken > 1 && job.takes > 1) {
    const wait_ms = waitAfter(job.takes - 1, settings);
    log.warn({ job: job.id, deaths: job.takes - 1, wait_ms }, 'Jobs:Run:Died');
    await putBack(parts, job, { counted: false, wait_ms });
    return;
  }
  const unavailable = await dataFault(services);
  if (unavailable !== null) {
    await waitForData(parts, job, unavailable, data_waited_ms);
    return;
  }
  const stage = await stageOf(parts, job);
  if (stage === null) return;
  try {
    const result = await resultOf(parts, job, stage.path);
    if (result !== null) await finish(parts, job, stage.path, result);
  } finally {
    await stage.remove().catch((error: unknown) => log.warn({ job: job.id, err: error }, 'Jobs:Stage:Left'));
  }
}

/** Error of a missing data root; null when it is present. */
async function dataFault({ catalog }: Services): Promise<DataUnavailable | null> {
  await catalog.refresh();
  try {
    catalog.edition();
    return null;
  } catch (error) {
    if (error instanceof DataUnavailable) return error;
    throw error;
  }
}

/**
 * Lets a job wait for the data root, as for a mount that comes back; the wait is no attempt. A folder made meanwhile would lie under
 * the mount.
 */
async function waitForData(parts: RunParts, job: Job, error: DataUnavailable, waited_ms: number): Promise<void> {
  const { settings, log } = parts;
  if (waited_ms >= settings.data_wait_ms) {
    log.error({ job: job.id, err: error }, 'Jobs:Run:Failed');
    await giveUp(parts, job, reasonOf(error));
    return;
  }
  log.warn({ job: job.id, err: error }, 'Jobs:Data:Awaited');
  const wait_ms = DATA_RETRY_TIMES * settings.retry_wait_ms;
  await putBack(parts, job, { counted: false, wait_ms, waits: { data_waited_ms: waited_ms + wait_ms } });
}

/** The folder of this attempt; null: it cannot be made, and the job has ended or waits again. */
async function stageOf(parts: RunParts, job: Job): Promise<Stage | null> {
  try {
    return await openStage(parts.services.files_root, job);
  } catch (error) {
    await endOrWait(parts, job, error);
    return null;
  }
}

/** The result of the job handler; null: it failed, and the job has ended or waits again. */
async function resultOf(parts: RunParts, job: Job, path: string): Promise<JobResult | null> {
  try {
    return job.kind === 'report'
      ? await make(parts, job, path, REPORT, parts.jobHandlers.report)
      : await make(parts, job, path, EXPORT, parts.jobHandlers.export);
  } catch (error) {
    await endOrWait(parts, job, error);
    return null;
  }
}

/** Fails a job, or queues it again if the fault may pass. */
async function endOrWait(parts: RunParts, job: Job, error: unknown): Promise<void> {
  const { log } = parts;
  if (error instanceof Stopped) await putBack(parts, job, { counted: false, wait_ms: 0 });
  else if (job.takes < attemptsMax(error)) {
    log.warn({ job: job.id, takes: job.takes, err: error }, 'Jobs:Run:Delayed');
    await putBack(parts, job, { counted: true, wait_ms: waitAfter(job.takes, parts.settings) });
  } else {
    log.error({ job: job.id, takes: job.takes, err: error }, 'Jobs:Run:Failed');
    await giveUp(parts, job, reasonOf(error));
  }
}

/**
 * Makes the file and syncs it to the disk, within the time limit. Throws Stopped, TooLong and the errors of the job handler.
 */
async function make<Params, Summary>(
  { services, settings: { limit_ms }, stop }: RunParts,
  job: Job,
  path: string,
  kind: Kind<Params, Summary>,
  handler: MakeFile<Params, Summary>,
): Promise<JobResult> {
  const ending = new AbortController();
  const onStop = () => ending.abort(new Stopped('the service is being stopped'));
  const timer = setTimeout(() => ending.abort(new TooLong(`it took longer than ${limit_ms} ms`)), limit_ms);
  stop.addEventListener('abort', onStop);
  if (stop.aborted) onStop();
  try {
    const { signal } = ending;
    signal.throwIfAborted();
    const { id, business_id } = job;
    const params = kind.params.parse(JSON.parse(job.params));
    const created_ms = Date.parse(job.created_at);
    const making = handler({ id, business_id, params, path, created_ms, services, signal });
    const { summary, ...made } = await unlessAborted(making, signal);
    if (!FILE_NAME.test(made.file_name)) throw new Error(`file name is '${made.file_name}', expected ${FILE_NAME}`);
    return { ...made, summary: kind.summary.parse(summary), ...(await sealFile(path)) };
  } catch (error) {
    // What obeys the signal throws an error of its own.
    throw ending.signal.aborted ? ending.signal.reason : error;
  } finally {
    clearTimeout(timer);
    stop.removeEventListener('abort', onStop);
  }
}

/** Ends the row and moves the file to its path in one transaction. Throws when the outcome is unknown. */
async function finish(parts: RunParts, job: Job, staged: string, result: JobResult): Promise<void> {
  const { services, log } = parts;
  let is_placed = false;
  const ended = await persistently(
    RECORDING_MS,
    () =>
      services.records.transaction(async (rows) => {
        if (!(await finishJob(rows, job.id, result, services.now()))) return false;
        // The row is locked: no other attempt gets here, unless this process stalls until the database ends its transaction.
        is_placed = true;
        await placeFile(services.files_root, staged, { ...job, ...result });
        return true;
      }),
    // The file has been moved: the next delivery of the task finds out whether the row has ended.
    () => !is_placed,
  );
  if (ended) log.info({ job: job.id, takes: job.takes, bytes: result.bytes }, 'Jobs:Run:Done');
  else {
    log.warn({ job: job.id, takes: job.takes }, 'Jobs:Run:Overtaken');
    // Its business was deleted meanwhile.
    if (!(await isKnownJob(services.records.reader, job.id)))
      await removeFile(services.files_root, { ...job, ...result });
  }
}

/** Fails a job once and refunds its charge. */
async function giveUp({ services }: RunParts, job: Job, reason: string): Promise<void> {
  const message = `${reason}, and what it cost was given back`;
  await persistently(RECORDING_MS, () =>
    services.records.transaction((rows) => failJob(rows, job, message, services.now())),
  );
}

/** Queues a job again. */
async function putBack(
  { services: { records, queue } }: RunParts,
  job: Job,
  {
    counted,
    wait_ms,
    waits,
  }: { readonly counted: boolean; readonly wait_ms: number; readonly waits?: Omit<JobTask, 'job_id'> },
): Promise<void> {
  await persistently(RECORDING_MS, () =>
    records.transaction(async (rows) => {
      await putJobBack(rows, job, counted);
      await addJobTask(rows, queue, job, machineClock() + wait_ms, waits);
    }),
  );
}

/** Wait after the first, second, … failure of a job, milliseconds. */
function waitAfter(failures: number, { retry_wait_ms }: RunSettings): number {
  return retry_wait_ms * WAIT_GROWS ** (failures - 1);
}

/** Attempts at most at a job that failed with this error. */
function attemptsMax(error: unknown): number {
  if (error instanceof TooLong || error instanceof QueryTimeout) return ATTEMPTS_MAX_OF_SLOW;
  return mayPass(error) ? ATTEMPTS_MAX : 0;
}

/** True for faults of the machine, the disk, the data root or the records, which may pass. Any other error is a bug. */
function mayPass(error: unknown): boolean {
  if (error instanceof DataUnavailable) return true;
  if (isOutage(error) || systemFault(error) !== null) return true;
  if (error instanceof ApiError) return error.code === 'overloaded';
  return error instanceof Error && /^(Out of Memory|IO) Error/.test(error.message);
}

/** Why a job failed, for the caller: without paths and statements. */
function reasonOf(error: unknown): string {
  if (error instanceof TooLong || error instanceof QueryTimeout) return 'it took too long to make';
  if (error instanceof DataUnavailable || isMissingFile(error)) return 'the data it needs could not be read';
  return 'it could not be made';
}

/** True for the DuckDB error of a missing published file. */
function isMissingFile(error: unknown): boolean {
  return error instanceof Error && /^IO Error: (No files found|Cannot open file)/.test(error.message);
}

/** Runs jobs and deletes expired ones until the returned function is called, which aborts the running job and queues it again. */
export function startJobs(
  services: Services,
  log: Logger,
  jobHandlers: JobHandlers,
  settings: Partial<RunSettings> = {},
): () => Promise<void> {
  const stop = new AbortController();
  const end = startRunning({
    services,
    jobHandlers,
    log,
    settings: { ...RUN_DEFAULTS, ...settings },
    stop: stop.signal,
  });
  const kept = retention(services, log);
  const sweep = async () => {
    try {
      await kept.sweep(performance.now());
    } catch (error) {
      // The next sweep tries again.
      log.warn({ err: error }, 'Jobs:Sweep:Failed');
    }
  };
  let sweeping = sweep();
  const timer = setInterval(() => {
    sweeping = sweeping.then(sweep);
  }, SWEEP_EVERY_MS).unref();
  return async () => {
    clearInterval(timer);
    stop.abort();
    await Promise.all([sweeping, end()]);
  };
}

/** Runs jobs one at a time, businesses in turn, until the returned function is called. */
export function startRunning(parts: RunParts): () => Promise<void> {
  const { queue } = parts.services;
  const { lease_ms } = parts.settings;
  const settings = {
    at_once: 1,
    at_once_of_group: 1,
    lease_ms,
    prolonged: true,
    groups_in_turn: BUSINESSES_IN_TURN,
  } as const;
  return queue.work(JOB_TASK, settings, (task) => endedOrDead(runJobTask(parts, task), parts.settings));
}

/** Ends the process when a run hangs, as on a mount whose server is gone: it would block the jobs of this process. */
async function endedOrDead(run: Promise<void>, { limit_ms, hang_ms }: RunSettings): Promise<void> {
  const hangs = () => die(`a job is not over after ${limit_ms + hang_ms} ms`);
  // Two timers in sequence: a process that stalled aborts its run first.
  let timer = setTimeout(() => {
    timer = setTimeout(hangs, hang_ms);
  }, limit_ms);
  try {
    await run;
  } finally {
    clearTimeout(timer);
  }
}

const BUSINESSES_IN_TURN = 32;
