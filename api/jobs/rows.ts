import type { Kysely, Selectable, Transaction } from 'kysely';
import { z } from 'zod';
import { newId } from '../../schemas/ids.ts';
import type { ExportParams } from '../../schemas/resources/export-job.ts';
import type { ReportRequest } from '../../schemas/resources/report-job.ts';
import { instant, MS_PER_DAY } from '../../schemas/time.ts';
import { type Price, refundVisibly } from '../billing/ledger.ts';
import { ApiError } from '../http/errors.ts';
import { recordAct } from '../records/audit.ts';
import type { Writer } from '../records/database.ts';
import type { Database } from '../records/schema.ts';
import type { Queue } from '../records/tasks.ts';
import { EXPORT, type MadeFile, REPORT } from './kinds.ts';

/** A report or an export, as it is stored: `params`, `charge` and `summary` are JSON. */
export type Job = Readonly<Selectable<Database['jobs']>>;

export const JOB_TASK = 'job';
export const JobTask = z.object({ job_id: z.string() });

/** Pending jobs of a business at most: enough for a batch, and few enough that other businesses get their turn. */
const PENDING_MAX = 20;

const [words, count] = [z.string(), z.number()];
const StoredCharge = z.object({ key_id: words, operation: words, credits: count, count, at_ms: count });

type Asked =
  | { readonly kind: 'report'; readonly params: ReportRequest }
  | { readonly kind: 'export'; readonly params: ExportParams };

/**
 * Writes a job and its task in the transaction of its charge, in which the caller holds the business's row; returns its id. Throws
 * ApiError resource_exhausted.
 */
export async function acceptJob(
  { rows, business_id, now_ms }: Writer,
  queue: Pick<Queue, 'add'>,
  { kind, params, caller, price }: Asked & { readonly caller: { readonly key_id: string }; readonly price: Price },
): Promise<string> {
  const { pending } = await rows
    .selectFrom('jobs')
    .select(({ fn }) => fn.countAll<number>().as('pending'))
    .where(({ and }) => and({ business_id, status: 'pending' }))
    .executeTakeFirstOrThrow();
  const used_up = `the quota of ${PENDING_MAX} pending reports and exports is used up, wait until one has ended`;
  if (Number(pending) >= PENDING_MAX) throw new ApiError('resource_exhausted', used_up);
  const id = newId(kind, now_ms);
  const { kept_days } = kind === 'report' ? REPORT : EXPORT;
  await rows
    .insertInto('jobs')
    .values({
      id,
      business_id,
      kind,
      status: 'pending',
      params: JSON.stringify(params),
      charge: JSON.stringify(StoredCharge.parse({ ...price, key_id: caller.key_id, at_ms: now_ms })),
      created_at: instant(now_ms),
      takes: 0,
      expires_at: instant(now_ms + kept_days * MS_PER_DAY),
    })
    .execute();
  await queue.add(rows, { name: JOB_TASK, group: business_id, payload: { job_id: id } });
  return id;
}

/** A stored job that is done, of any active business; null when there is none. */
export async function findServedJob(rows: Kysely<Database>, id: string, now_ms: number): Promise<Job | null> {
  const found = await rows
    .selectFrom('jobs')
    .innerJoin('businesses', 'businesses.id', 'jobs.business_id')
    .selectAll('jobs')
    .where('jobs.id', '=', id)
    .where('jobs.status', '=', 'done')
    .where('jobs.expires_at', '>', instant(now_ms))
    .where('businesses.status', '=', 'active')
    .executeTakeFirst();
  return found ?? null;
}

/** Begins an attempt at a job and counts it in `takes`; null when the job is not pending. */
export async function beginJob(rows: Transaction<Database>, id: string, now_ms: number): Promise<Job | null> {
  const begun = await rows
    .updateTable('jobs')
    .set((eb) => ({ takes: eb('takes', '+', 1), started_at: instant(now_ms) }))
    .where(({ and }) => and({ id, status: 'pending' }))
    .returningAll()
    .executeTakeFirst();
  return begun ?? null;
}

/** Lets a job wait for a new task, unless it has ended or another attempt began. `takes`: attempts that count. */
export async function putJobBack(
  rows: Transaction<Database>,
  queue: Pick<Queue, 'add'>,
  job: Job,
  { takes, due_ms }: { readonly takes: number; readonly due_ms: number },
): Promise<void> {
  const { numUpdatedRows } = await rows
    .updateTable('jobs')
    .set({ started_at: null, takes })
    .where(({ and }) => and({ id: job.id, status: 'pending', takes: job.takes }))
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return;
  await queue.add(rows, { name: JOB_TASK, group: job.business_id, payload: { job_id: job.id }, due_ms });
}

/** Marks a job as done; false when it has ended already or is gone, so that one of concurrent attempts succeeds. */
export async function finishJob(
  rows: Transaction<Database>,
  id: string,
  { summary, data_as_of_ms, ...result }: MadeFile<unknown> & Readonly<{ bytes: number; sha256: string }>,
  now_ms: number,
): Promise<boolean> {
  const { numUpdatedRows } = await rows
    .updateTable('jobs')
    .set({
      ...result,
      status: 'done',
      finished_at: instant(now_ms),
      summary: JSON.stringify(summary),
      data_as_of: data_as_of_ms === null ? null : instant(data_as_of_ms),
    })
    .where(({ and }) => and({ id, status: 'pending' }))
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Fails a job that is pending, or done with a lost file, and refunds its charge. False when its status has changed: it is refunded once. */
export async function failJob(
  rows: Transaction<Database>,
  { id, business_id, charge, status }: Job,
  message: string,
  now_ms: number,
): Promise<boolean> {
  const { numUpdatedRows } = await rows
    .updateTable('jobs')
    .set({ status: 'failed', finished_at: instant(now_ms), message })
    .where(({ and }) => and({ id, status }))
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  const why = status === 'done' ? `the file of ${id} was lost` : `${id} failed`;
  await refundVisibly(rows, { business_id, ...StoredCharge.parse(JSON.parse(charge)) }, why);
  return true;
}

/** Ended jobs past their retention. */
export async function expiredJobs(rows: Kysely<Database>, now_ms: number): Promise<readonly Job[]> {
  return await rows
    .selectFrom('jobs')
    .selectAll()
    .where('expires_at', '<=', instant(now_ms))
    .where('status', '!=', 'pending')
    .execute();
}

/** Deletes a job; a line of the audit log stays. */
export async function deleteJob(rows: Transaction<Database>, job: Job, now_ms: number): Promise<void> {
  const { id, business_id, kind, status, created_at, sha256 } = job;
  const { numDeletedRows } = await rows.deleteFrom('jobs').where('id', '=', id).executeTakeFirst();
  if (numDeletedRows === 0n) return;
  const detail = { status, created_at, sha256 };
  await recordAct(rows, now_ms, { act: `${kind}.expire`, business_id, subject: id, detail });
}

/** Jobs whose file was made, lost ones included, by id. `business_id` null: of all businesses. */
export async function filedJobs(rows: Kysely<Database>, business_id: string | null): Promise<readonly Job[]> {
  return await rows
    .selectFrom('jobs')
    .selectAll()
    .where('sha256', 'is not', null)
    .$if(business_id !== null, (query) => query.where('business_id', '=', business_id))
    .orderBy('id')
    .execute();
}

/** Jobs that were accepted before an instant and have not ended, the oldest first. */
export async function pendingSince(rows: Kysely<Database>, before_ms: number) {
  return await rows
    .selectFrom('jobs')
    .select(['id', 'created_at'])
    .where('status', '=', 'pending')
    .where('created_at', '<', instant(before_ms))
    .orderBy('id')
    .execute();
}

export async function jobBacklog(rows: Kysely<Database>): Promise<{ queued: number; running: number }> {
  const { pending, running } = await rows
    .selectFrom('jobs')
    .select(({ fn }) => [fn.countAll<number>().as('pending'), fn.count<number>('started_at').as('running')])
    .where('status', '=', 'pending')
    .executeTakeFirstOrThrow();
  return { queued: Number(pending) - Number(running), running: Number(running) };
}
