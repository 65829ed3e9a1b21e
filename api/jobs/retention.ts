import { rm } from 'node:fs/promises';
import type { Logger } from 'pino';
import { shareOfSweep } from '../../schemas/deletion-clock.ts';
import type { Services } from '../services.ts';
import { listFiles, listStages, partsOfName, removeFile, removeNamed } from './files.ts';
import { KINDS } from './kinds.ts';
import { addJobTask, JOB_TASK, JobTask } from './queue.ts';
import { countJobs, deleteJob, expiredJobs, filedAmong, type Job, pendingSince } from './rows.ts';

/** Far longer than any attempt: a folder unchanged for so long was left by a process that died. */
const STAGE_LEFT_MS = 7_200_000;
/** A file without a job is deleted after so long: the records may be those of another day meanwhile. */
const ORPHAN_MS = 86_400_000;
/** A job that waits for so long may have lost its task, as one of a restored backup. */
const STUCK_MS = 3_600_000;
const JOBS_AT_ONCE = 100;

export interface Retention {
  /**
   * Deletes expired files with their rows, files without a job, and folders of dead processes. Throws AggregateError for steps that
   * failed, after all steps. Expired jobs are marked first and deleted a day later; files without a job by the monotonic clock,
   * milliseconds.
   */
  readonly sweep: (monotonic_ms: number) => Promise<void>;
}

/** Retention of the files of jobs. */
export function retention(services: Services, log: Logger): Retention {
  /** Files that belong to no job, and folders of attempts, with when each was first seen, monotonic milliseconds. */
  let orphans: ReadonlyMap<string, number> = new Map();
  let stages: ReadonlyMap<string, number> = new Map();
  return {
    sweep: async (monotonic_ms) => {
      const steps = [
        () => queueAgain(services, log),
        () => deleteExpired(services, log),
        async () => {
          orphans = await deleteOrphans(services, log, orphans, monotonic_ms);
        },
        async () => {
          stages = await deleteStages(services, stages, monotonic_ms);
        },
      ];
      const failures: unknown[] = [];
      for (const step of steps) await step().catch((error: unknown) => failures.push(error));
      if (failures.length > 0) throw new AggregateError(failures, `${failures.length} of ${steps.length} steps failed`);
    },
  };
}

const KIND_NAMES = Object.keys(KINDS) as Job['kind'][];

/** Deletes the row first, with a line of the audit log: a file that a crash leaves behind is an orphan without an address. */
async function deleteExpired({ records, catalog, files_root, now }: Services, log: Logger): Promise<void> {
  const until_ms = await records.deletions.due('jobs', newestObserved(catalog));
  if (until_ms === null) return;
  const most = shareOfSweep(await countJobs(records.reader));
  const jobs = await expiredJobs(records.reader, until_ms, most);
  for (const job of jobs) {
    await records.transaction((rows) => deleteJob(rows, job, now()));
    // A file that stays has no job; the next sweeps try again.
    await removeFile(files_root, job).catch((error: unknown) => log.warn({ job: job.id, err: error }, LEFT));
    log.info({ job: job.id, created_at: job.created_at }, 'Jobs:Expire:Done');
  }
  if (jobs.length === most) return;
  await records.deletions.done('jobs');
}

/** Time of the newest scan, where radars observed it: simulated ones follow the clock of the machine. */
function newestObserved({ failure, edition }: Services['catalog']): number | null {
  if (failure() !== null) return null;
  const { newest_provenance, newest_scan_ms } = edition();
  return newest_provenance === 'observed' ? newest_scan_ms : null;
}

async function deleteOrphans(
  { records, files_root }: Services,
  log: Logger,
  before: ReadonlyMap<string, number>,
  monotonic_ms: number,
): Promise<ReadonlyMap<string, number>> {
  const seen = new Map<string, number>();
  for (const kind of KIND_NAMES) {
    const names = (await listFiles(files_root, kind)).map(({ name }) => name);
    for (let from = 0; from < names.length; from += JOBS_AT_ONCE) {
      const some = names.slice(from, from + JOBS_AT_ONCE).map((name) => ({ name, ...partsOfName(name) }));
      const filed = await filedAmong(
        records.reader,
        some.map(({ id }) => id),
      );
      // A pending job may get any file; files of other attempts at a job that is done are unwanted.
      const unwanted = some.filter(({ id, sha256 }) => {
        const wanted = filed.get(id);
        return wanted !== null && wanted !== sha256;
      });
      for (const { name } of unwanted) {
        const since_ms = before.get(name) ?? monotonic_ms;
        const isTooYoung = monotonic_ms - since_ms < ORPHAN_MS;
        if (isTooYoung) seen.set(name, since_ms);
        else if (await isRemoved(removeNamed(files_root, kind, name), log))
          log.warn({ file: name }, 'Jobs:Orphan:Deleted');
        else seen.set(name, since_ms);
      }
    }
  }
  return seen;
}

/** Awaits the removal of a file; false where the disk does not let it go. */
async function isRemoved(removal: Promise<void>, log: Logger): Promise<boolean> {
  try {
    await removal;
    return true;
  } catch (error) {
    log.warn({ err: error }, LEFT);
    return false;
  }
}

const LEFT = 'Jobs:File:Left';

async function deleteStages(
  { files_root }: Services,
  before: ReadonlyMap<string, number>,
  monotonic_ms: number,
): Promise<ReadonlyMap<string, number>> {
  const seen = new Map<string, number>();
  for (const kind of KIND_NAMES)
    for (const { path, changed_ms } of await listStages(files_root, kind)) {
      // A folder that changed since is in use.
      const name = `${path} ${changed_ms}`;
      const since_ms = before.get(name) ?? monotonic_ms;
      if (monotonic_ms - since_ms > STAGE_LEFT_MS) await rm(path, { recursive: true, force: true });
      else seen.set(name, since_ms);
    }
  return seen;
}

/** Adds tasks for jobs that have waited long without one. A second task would end the wait after a failure. */
async function queueAgain({ records, queue, now }: Services, log: Logger): Promise<void> {
  const waiting = await pendingSince(records.reader, now() - STUCK_MS);
  if (waiting.length === 0) return;
  const queued = new Set((await queue.payloads(JOB_TASK)).map((payload) => JobTask.parse(payload).job_id));
  const stuck = waiting.filter(({ id }) => !queued.has(id));
  if (stuck.length === 0) return;
  await records.transaction(async (rows) => {
    for (const job of stuck) await addJobTask(rows, queue, job);
  });
  log.warn({ jobs: stuck.length }, 'Jobs:Queue:Again');
}
