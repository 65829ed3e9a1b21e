import type { z } from 'zod';
import { SIGNED_URL_SECONDS } from '../../schemas/resources/report-job.ts';
import { wholeSeconds } from '../../schemas/time.ts';
import { ApiError } from '../http/errors.ts';
import { signedUrl } from '../records/signed-url.ts';
import type { Services } from '../services.ts';
import { fileFault } from './files.ts';
import { failJob, findOwnJob, type Job } from './rows.ts';

/** Path of the file of a job, below the public address. */
export function filePath(id: string): string {
  return `/files/${id}`;
}

export function pollUrl(base_url: string, { poll_path }: { readonly poll_path: string }, id: string): string {
  return `${base_url}${poll_path}/${id}`;
}

type PollServices = Pick<Services, 'records' | 'files_root' | 'catalog' | 'secrets' | 'base_url'>;
type Wanted = Pick<Job, 'business_id' | 'kind' | 'id'>;

/**
 * The current state of a business's job: fields not known yet are null, and `file_url` is signed for this answer. Throws ApiError
 * not_found, and DataUnavailable while the data root itself, in which the files lie, is missing.
 */
export async function findPolled<Summary>(
  services: PollServices,
  kind: { readonly summary: z.ZodType<Summary>; readonly poll_path: string },
  wanted: Wanted,
  now_ms: number,
) {
  const { secrets, base_url } = services;
  const job = await presentJob(services, wanted, now_ms);
  const { id, business_id, status, message } = job;
  const polled = { job, status, poll_url: pollUrl(base_url, kind, id), message };
  if (status !== 'done') return { ...polled, summary: null, generated_at: null, data_as_of: null, file_url: null };
  return {
    ...polled,
    summary: kind.summary.parse(JSON.parse(job.summary ?? 'null')),
    generated_at: wholeSeconds(job.finished_at),
    data_as_of: wholeSeconds(job.data_as_of),
    file_url: signedUrl(base_url, secrets, { path: filePath(id), business_id }, now_ms, SIGNED_URL_SECONDS),
  };
}

/** The job. One that is done and whose file is lost, as after a restored backup of the records alone, fails and is refunded. */
async function presentJob(services: PollServices, wanted: Wanted, now_ms: number): Promise<Job> {
  const { records, files_root, catalog } = services;
  const job = await findOwnJob(records.reader, wanted, now_ms);
  if (job === null) throw new ApiError('not_found', `no such ${wanted.kind}`);
  if (job.status !== 'done' || (await fileFault(files_root, job)) === null) return job;
  await catalog.refresh();
  catalog.edition();
  const lost = `its file was lost or damaged, and what it cost was given back: ask for the ${job.kind} again`;
  await records.transaction((rows) => failJob(rows, job, lost, now_ms));
  return await presentJob(services, wanted, now_ms);
}
