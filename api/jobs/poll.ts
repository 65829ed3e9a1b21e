import { SIGNED_URL_SECONDS } from '../../schemas/resources/report-job.ts';
import { wholeSeconds } from '../../schemas/time.ts';
import { ApiError } from '../http/errors.ts';
import { signedUrl } from '../records/signed-url.ts';
import type { Services } from '../services.ts';
import { fileFault } from './files.ts';
import type { Kind } from './kinds.ts';
import { failJob, findOwnJob, type Job } from './rows.ts';

/** A job as its poll shows it: what is not known yet is null. */
interface Polled<Summary> {
  readonly job: Job;
  readonly status: Job['status'];
  readonly poll_url: string;
  readonly message: string | null;
  readonly summary: Summary | null;
  readonly generated_at: string | null;
  readonly data_as_of: string | null;
  /** Signed for this answer. */
  readonly file_url: string | null;
}

/** Path of the file of a job, below the public address. */
export function filePath(id: string): string {
  return `/files/${id}`;
}

/** Address of a job's poll. */
export function pollUrl(
  base_url: string,
  { poll_path }: Pick<Kind<unknown, unknown>, 'poll_path'>,
  id: string,
): string {
  return `${base_url}${poll_path}/${id}`;
}

type Wanted = Pick<Job, 'business_id' | 'kind' | 'id'>;

/**
 * The current state of a business's job. A job that is done and whose file is missing, as after a restored backup of the records
 * alone, or has other bytes, fails and its charge is refunded. Throws ApiError not_found, and DataUnavailable while the data root
 * itself is lost.
 */
export async function findPolled<Summary>(
  services: Services,
  kind: Kind<unknown, Summary>,
  wanted: Wanted,
  now_ms: number,
): Promise<Polled<Summary>> {
  const { secrets, base_url } = services;
  const job = await presentJob(services, wanted, now_ms);
  const { id, business_id, status, message, finished_at, data_as_of } = job;
  const poll_url = pollUrl(base_url, kind, id);
  const nothing = { summary: null, generated_at: null, data_as_of: null, file_url: null };
  if (status !== 'done') return { job, status, poll_url, message, ...nothing };
  return {
    job,
    status,
    poll_url,
    message,
    summary: kind.summary.parse(JSON.parse(job.summary ?? 'null')),
    generated_at: wholeSeconds(finished_at),
    data_as_of: wholeSeconds(data_as_of),
    file_url: signedUrl(base_url, secrets, { path: filePath(id), business_id }, now_ms, SIGNED_URL_SECONDS),
  };
}

/** The job, which has failed where its file is lost. */
async function presentJob({ records, files_root, catalog }: Services, wanted: Wanted, now_ms: number): Promise<Job> {
  const find = async () => {
    const job = await findOwnJob(records.reader, wanted, now_ms);
    if (job === null) throw new ApiError('not_found', `no such ${wanted.kind}`);
    return job;
  };
  const job = await find();
  if (job.status !== 'done' || (await fileFault(files_root, job)) === null) return job;
  // The files lie in the data root: while it is missing, they are not known to be lost.
  await catalog.refresh();
  catalog.edition();
  const lost = `its file was lost or damaged, and what it cost was given back: ask for the ${job.kind} again`;
  // Another request may have failed or deleted it meanwhile.
  const failed = failing.then(() => records.transaction((rows) => failJob(rows, job, lost, now_ms)));
  failing = Promise.allSettled([failed]);
  await failed;
  return await find();
}

/** The running refund. They run in sequence: where all files are lost, concurrent polls would block other writers. */
let failing: Promise<unknown> = Promise.resolve();
