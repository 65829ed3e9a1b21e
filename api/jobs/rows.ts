import type { Kysely, Selectable, Transaction } from 'kysely';
import { z } from 'zod';
import { newId } from '../../schemas/ids.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';
import { instant, MS_PER_DAY } from '../../schemas/time.ts';
import { type Charge, refundVisibly } from '../billing/ledger.ts';
import { recordAct } from '../records/audit.ts';
import type { Writer } from '../records/database.ts';
import type { Database } from '../records/schema.ts';

/** A report or an export, as it is stored: `params`, `charge` and `summary` are JSON. */
export type Job = Readonly<Selectable<Database['jobs']>>;

/** Input of a new job. */
interface NewJob {
  readonly kind: Job['kind'];
  /** The validated request. */
  readonly params: unknown;
  readonly charge: Omit<Charge, 'business_id'>;
  readonly kept_days: number;
}

/** Result of a job that is done. */
export interface JobResult {
  readonly summary: unknown;
  readonly data_as_of_ms: number | null;
  readonly data_source: MixedProvenance | null;
  readonly media_type: string;
  readonly file_name: string;
  readonly bytes: number;
  readonly sha256: string;
}

const StoredCharge = z.object({
  key_id: z.string(),
  operation: z.string(),
  credits: z.number(),
  count: z.number(),
  at_ms: z.number(),
});

/** Inserts a pending job and returns its id; null when the business has `pending_max` already. The caller holds the business's row. */
export async function insertJob(
  { rows, business_id, now_ms }: Writer,
  { kind, params, charge, kept_days }: NewJob,
  pending_max: number,
): Promise<string | null> {
  const { pending } = await rows
    .selectFrom('jobs')
    .select(({ fn }) => fn.countAll<number>().as('pending'))
    .where('business_id', '=', business_id)
    .where('status', '=', 'pending')
    .executeTakeFirstOrThrow();
  if (Number(pending) >= pending_max) return null;
  const id = newId(kind, now_ms);
  await rows
    .insertInto('jobs')
    .values({
      id,
      business_id,
      kind,
      status: 'pending',
      params: JSON.stringify(params),
      charge: JSON.stringify(StoredCharge.parse(charge)),
      created_at: instant(now_ms),
      started_at: null,
      takes: 0,
      finished_at: null,
      expires_at: instant(now_ms + kept_days * MS_PER_DAY),
      summary: null,
      message: null,
      data_as_of: null,
      data_source: null,
      media_type: null,
      file_name: null,
      bytes: null,
      sha256: null,
    })
    .execute();
  return id;
}

/** A stored job of one kind and business; null when there is none. */
export async function findOwnJob(
  rows: Kysely<Database>,
  wanted: { readonly business_id: string; readonly kind: Job['kind']; readonly id: string },
  now_ms: number,
): Promise<Job | null> {
  const found = await rows
    .selectFrom('jobs')
    .selectAll()
    .where('id', '=', wanted.id)
    .where('kind', '=', wanted.kind)
    .where('business_id', '=', wanted.business_id)
    .where('expires_at', '>', instant(now_ms))
    .executeTakeFirst();
  return found ?? null;
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

/**
 * Begins an attempt at a job and counts it in `takes`. Null when the job is not pending, or when an attempt began after `left_ms`
 * and was not put back; `left_ms` null: no other attempt is running.
 */
export async function beginJob(
  rows: Transaction<Database>,
  id: string,
  now_ms: number,
  left_ms: number | null = null,
): Promise<Job | null> {
  const begun = await rows
    .updateTable('jobs')
    .set((eb) => ({ takes: eb('takes', '+', 1), started_at: instant(now_ms) }))
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .where(({ eb, lit, or }) =>
      left_ms === null ? lit(true) : or([eb('started_at', 'is', null), eb('started_at', '<=', instant(left_ms))]),
    )
    .returningAll()
    .executeTakeFirst();
  return begun ?? null;
}

/** Lets a job wait again. `counted` false: the attempt does not count. */
export async function putJobBack(
  rows: Transaction<Database>,
  { id, takes }: Pick<Job, 'id' | 'takes'>,
  counted: boolean,
): Promise<void> {
  await rows
    .updateTable('jobs')
    .set({ started_at: null, takes: counted ? takes : takes - 1 })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .where('takes', '=', takes)
    .execute();
}

/** Marks a job as done; false when it has ended already or is gone, so that one of concurrent attempts succeeds. */
export async function finishJob(
  rows: Transaction<Database>,
  id: string,
  { summary, data_as_of_ms, ...result }: JobResult,
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
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/**
 * Fails a job that is pending, or done with a lost file, and refunds its charge. False when its status has changed or it is gone:
 * it is refunded once.
 */
export async function failJob(
  rows: Transaction<Database>,
  { id, business_id, charge, status }: Pick<Job, 'id' | 'business_id' | 'charge' | 'status'>,
  message: string,
  now_ms: number,
): Promise<boolean> {
  if (status === 'failed') return false;
  const { numUpdatedRows } = await rows
    .updateTable('jobs')
    .set({ status: 'failed', finished_at: instant(now_ms), message })
    .where('id', '=', id)
    .where('status', '=', status)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  const reason = status === 'done' ? `the file of ${id} was lost` : `${id} failed`;
  await refundVisibly(rows, { business_id, ...StoredCharge.parse(JSON.parse(charge)) }, reason);
  return true;
}

/** Ended jobs past their retention, the oldest first, at most `most`. */
export async function expiredJobs(rows: Kysely<Database>, now_ms: number, most: number): Promise<readonly Job[]> {
  return await rows
    .selectFrom('jobs')
    .selectAll()
    .where('expires_at', '<=', instant(now_ms))
    .where('status', '!=', 'pending')
    .orderBy('expires_at')
    .orderBy('id')
    .limit(most)
    .execute();
}

/** Number of jobs. */
export async function countJobs(rows: Kysely<Database>): Promise<number> {
  const { jobs } = await rows
    .selectFrom('jobs')
    .select(({ fn }) => fn.countAll<number>().as('jobs'))
    .executeTakeFirstOrThrow();
  return Number(jobs);
}

/** Deletes a job; a line of the audit log stays. */
export async function deleteJob(rows: Transaction<Database>, job: Job, now_ms: number): Promise<void> {
  const { id, business_id, kind, status, created_at, sha256 } = job;
  const { numDeletedRows } = await rows.deleteFrom('jobs').where('id', '=', id).executeTakeFirst();
  if (numDeletedRows === 0n) return;
  const detail = { status, created_at, sha256 };
  await recordAct(rows, now_ms, { act: expiryOf(kind), business_id, subject: id, detail });
}

/** Name of the deletion of an expired job in the audit log. */
const expiryOf = (kind: Job['kind']) => `${kind}.expire`;

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

/** The SHA-256, hex, of the files of some jobs by id; null for a job without a file yet. Failed jobs are left out. */
export async function filedAmong(
  rows: Kysely<Database>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  if (ids.length === 0) return new Map();
  const found = await rows
    .selectFrom('jobs')
    .select(['id', 'sha256'])
    .where('id', 'in', ids)
    .where('status', '!=', 'failed')
    .execute();
  return new Map(found.map(({ id, sha256 }) => [id, sha256]));
}

/** True for a job that these records have, or had until it expired. */
export async function isKnownJob(rows: Kysely<Database>, id: string): Promise<boolean> {
  const row = await rows.selectFrom('jobs').select('id').where('id', '=', id).executeTakeFirst();
  if (row !== undefined) return true;
  const act = await rows
    .selectFrom('audit')
    .select('id')
    .where('act', 'in', [expiryOf('report'), expiryOf('export')])
    .where('subject', '=', id)
    .executeTakeFirst();
  return act !== undefined;
}

/** Jobs that were accepted before an instant and have not ended, the oldest first. */
export async function pendingSince(
  rows: Kysely<Database>,
  before_ms: number,
): Promise<readonly Pick<Job, 'id' | 'business_id' | 'created_at'>[]> {
  return await rows
    .selectFrom('jobs')
    .select(['id', 'business_id', 'created_at'])
    .where('status', '=', 'pending')
    .where('created_at', '<', instant(before_ms))
    .orderBy('id')
    .execute();
}

/** Jobs that wait, and jobs at work. */
export async function jobBacklog(rows: Kysely<Database>): Promise<{ queued: number; running: number }> {
  const { pending, running } = await rows
    .selectFrom('jobs')
    .select(({ fn }) => [fn.countAll<number>().as('pending'), fn.count<number>('started_at').as('running')])
    .where('status', '=', 'pending')
    .executeTakeFirstOrThrow();
  return { queued: Number(pending) - Number(running), running: Number(running) };
}
