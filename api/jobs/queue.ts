import type { Transaction } from 'kysely';
import { z } from 'zod';
import type { Caller } from '../accounts/keyring.ts';
import type { Price } from '../billing/ledger.ts';
import { ApiError } from '../http/errors.ts';
import { machineClock } from '../records/clock.ts';
import type { Writer } from '../records/database.ts';
import type { Database } from '../records/schema.ts';
import type { Queue } from '../records/tasks/queue.ts';
import { KINDS, type Kind } from './kinds.ts';
import { insertJob } from './rows.ts';

/** Name of the tasks that run a job. */
export const JOB_TASK = 'job';

/** Payload of a task. A second task of a job is harmless: the job's row shows whether it is still to run. */
export const JobTask = z.object({
  job_id: z.string(),
  /** Sum of its waits for a missing data root, milliseconds, independent of the clock; absent: none. */
  data_waited_ms: z.number().optional(),
});
export type JobTask = z.infer<typeof JobTask>;

/** Queues a job, in the caller's transaction. Jobs of one business take turns with those of others. */
export async function addJobTask(
  rows: Transaction<Database>,
  queue: Pick<Queue, 'add'>,
  { id, business_id }: { readonly id: string; readonly business_id: string },
  due_ms = machineClock(),
  waits: Omit<JobTask, 'job_id'> = {},
): Promise<void> {
  await queue.add(rows, { name: JOB_TASK, group: business_id, payload: { job_id: id, ...waits }, due_ms });
}

/** Pending jobs of a business at most: enough for a batch, and few enough that other businesses get their turn. */
const PENDING_MAX = 20;

/** Writes a job and queues it, in the transaction of its charge; returns its id. Throws ApiError resource_exhausted. */
export async function acceptJob<Name extends keyof typeof KINDS>(
  writer: Writer,
  queue: Pick<Queue, 'add'>,
  asked: {
    readonly kind: Name;
    readonly params: (typeof KINDS)[Name] extends Kind<infer Params, unknown> ? Params : never;
    readonly caller: Pick<Caller, 'key_id'>;
    readonly price: Price;
  },
): Promise<string> {
  const { kind, params, caller, price } = asked;
  const { rows, business_id, now_ms } = writer;
  const charge = { ...price, key_id: caller.key_id, at_ms: now_ms };
  const id = await insertJob(writer, { kind, params, charge, kept_days: KINDS[kind].kept_days }, PENDING_MAX);
  if (id === null)
    throw new ApiError(
      'resource_exhausted',
      `the quota of ${PENDING_MAX} pending reports and exports is used up, wait until one has ended`,
    );
  await addJobTask(rows, queue, { id, business_id });
  return id;
}
