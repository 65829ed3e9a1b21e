import type { Caller } from '../accounts/keyring.ts';
import type { Price } from '../endpoint.ts';
import { ApiError } from '../errors.ts';
import type { Writer } from '../store/database.ts';
import type { Queue } from '../store/tasks/queue.ts';
import { KINDS, type Kind } from './kinds.ts';
import { insertJob } from './rows.ts';
import { addJobTask } from './task.ts';

/** Jobs of a business that may wait or run: enough for a batch, and few enough that others get their turn. */
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
