import { timingSafeEqual } from 'node:crypto';
import type { z } from 'zod';
import { SIGNED_URL_SECONDS } from '../../schemas/resources/report-job.ts';
import { instant, wholeSeconds } from '../../schemas/time.ts';
import { ApiError } from '../http/errors.ts';
import type { Cipher } from '../records/cipher.ts';
import { ownRow } from '../records/own-rows.ts';
import type { Services } from '../services.ts';
import { fileFault } from './files.ts';
import { failJob, type Job } from './rows.ts';

type Signed = Pick<Job, 'id' | 'business_id'>;

/** Path of the file of a job, below the public address. */
function filePath(id: string): string {
  return `/files/${id}`;
}

export function pollUrl(base_url: string, { poll_path }: { readonly poll_path: string }, id: string): string {
  return `${base_url}${poll_path}/${id}`;
}

type PollServices = Pick<Services, 'records' | 'files_root' | 'catalog' | 'cipher' | 'base_url'>;
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
  const { cipher, base_url } = services;
  const job = await presentJob(services, wanted, now_ms);
  const { id, status, message } = job;
  const polled = { job, status, poll_url: pollUrl(base_url, kind, id), message };
  if (status !== 'done') return { ...polled, summary: null, generated_at: null, data_as_of: null, file_url: null };
  const exp = String(Math.floor(now_ms / 1000) + SIGNED_URL_SECONDS);
  const [signature] = signatures(cipher, job, exp);
  return {
    ...polled,
    summary: kind.summary.parse(JSON.parse(job.summary ?? 'null')),
    generated_at: wholeSeconds(job.finished_at),
    data_as_of: wholeSeconds(job.data_as_of),
    file_url: `${base_url}${filePath(id)}?exp=${exp}&sig=${signature}`,
  };
}

/** The job. One that is done and whose file is lost, as after a restored backup of the records alone, fails and is refunded. */
async function presentJob(services: PollServices, wanted: Wanted, now_ms: number): Promise<Job> {
  const { records, files_root, catalog } = services;
  const job = await ownRow(records.reader, 'jobs', wanted);
  if (job === null || job.expires_at <= instant(now_ms)) throw new ApiError('not_found', `no such ${wanted.kind}`);
  if (job.status !== 'done' || (await fileFault(files_root, job)) === null) return job;
  await catalog.refresh();
  catalog.edition();
  const lost = `its file was lost or damaged, and what it cost was given back: ask for the ${job.kind} again`;
  await records.transaction((rows) => failJob(rows, job, lost, now_ms));
  return await presentJob(services, wanted, now_ms);
}

/** The query of a signed address, in the one spelling that polls give out. */
const QUERY = /^exp=(\d{1,12})&sig=([A-Za-z0-9_-]{43})$/;

/** False for a query that no address has that is good now, whatever it leads to: nothing need be looked up then. */
export function mayBeSigned(search: string, now_ms: number): boolean {
  const [, exp] = QUERY.exec(search) ?? [];
  return exp !== undefined && now_ms < Number(exp) * 1000;
}

/** True for the query of an address of a job's file that was given out and has not expired. `search`: without '?'. */
export function isSigned(search: string, cipher: Cipher, job: Signed, now_ms: number): boolean {
  const [, exp = '', sig = ''] = QUERY.exec(search) ?? [];
  const given = Buffer.from(sig);
  return mayBeSigned(search, now_ms) && signatures(cipher, job, exp).some((own) => timingSafeEqual(own, given));
}

/** Of a GET of the file of a job under each master key. The business is not in the address. HEAD is checked as the GET that it is the head of. */
function signatures(cipher: Cipher, { id, business_id }: Signed, exp: string): readonly Buffer[] {
  return cipher.signatures(['GET', filePath(id), exp, business_id].join('\n')).map((text) => Buffer.from(text));
}
