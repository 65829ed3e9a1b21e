import type { Kysely, Selectable, Transaction } from 'kysely';
import { instant } from '../../schemas/time.ts';
import type { Database } from '../records/schema.ts';

/** An event for one receiver. */
export type Message = Selectable<Database['messages']>;

/** States of a message that is still to be delivered. */
const UNFINISHED = ['waiting', 'pending'] as const;

/** A message by its event id; null when there is none. */
export async function findMessage(rows: Kysely<Database>, id: string): Promise<Message | null> {
  return (await rows.selectFrom('messages').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

/** Inserts a copy of a message under a new id, for one more delivery without a task or retries. */
export async function insertRedelivery(
  rows: Transaction<Database>,
  { business_id, receiver_id, event }: Message,
  copy: Pick<Message, 'id' | 'body' | 'redelivered_from' | 'created_at'>,
): Promise<void> {
  await rows
    .insertInto('messages')
    .values({
      ...{ business_id, receiver_id, event, alert_id: null, after_id: null, first_attempt_at: null },
      ...{ state: 'pending', attempts: 0, attempts_before: 0, next_at: copy.created_at },
      ...copy,
    })
    .execute();
}

/** Drops the unfinished messages of a receiver; returns their number. */
export async function dropMessages(rows: Transaction<Database>, receiver_id: string): Promise<number> {
  const { numUpdatedRows } = await rows
    .updateTable('messages')
    .set({ state: 'dropped', next_at: null })
    .where('receiver_id', '=', receiver_id)
    .where('state', 'in', UNFINISHED)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/** Drops one pending message. */
export async function dropMessage(rows: Transaction<Database>, id: string): Promise<void> {
  await rows
    .updateTable('messages')
    .set({ state: 'dropped', next_at: null })
    .where('id', '=', id)
    .where('state', '=', 'pending')
    .execute();
}

/** Writes the result of an attempt to its message, unless another process has recorded that attempt. */
export async function updateMessage(
  rows: Transaction<Database>,
  { id, attempts }: Message,
  changes: Pick<Message, 'state' | 'first_attempt_at' | 'next_at'>,
): Promise<void> {
  await rows
    .updateTable('messages')
    .set({ ...changes, attempts: attempts + 1 })
    .where('id', '=', id)
    .where('attempts', '=', attempts)
    .execute();
}

/** Deletes the messages and attempts of a receiver that is being deleted. */
export async function deleteMessages(rows: Transaction<Database>, receiver_id: string): Promise<void> {
  await rows.deleteFrom('messages').where('receiver_id', '=', receiver_id).execute();
  await rows.deleteFrom('attempts').where('receiver_id', '=', receiver_id).execute();
}

/** Deletes finished messages from before an instant without stored attempts; returns their number. */
export async function sweepMessages(rows: Transaction<Database>, before_ms: number): Promise<number> {
  const { numDeletedRows } = await rows
    .deleteFrom('messages')
    .where('state', 'in', ['delivered', 'dropped'])
    .where('created_at', '<', instant(before_ms))
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('attempts').select('id').whereRef('attempts.event_id', '=', 'messages.id'))),
    )
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** Number of unfinished messages, and when the longest overdue of them was due, epoch milliseconds (null: none is due). */
export async function messageBacklog(
  rows: Kysely<Database>,
  now_ms: number,
): Promise<{ readonly events: number; readonly due_since_ms: number | null }> {
  const { events, next_at } = await rows
    .selectFrom('messages')
    .select(({ fn }) => [fn.countAll<number>().as('events'), fn.min('next_at').as('next_at')])
    .where('state', 'in', UNFINISHED)
    .executeTakeFirstOrThrow();
  const due_ms = next_at === null ? null : Date.parse(next_at);
  return { events, due_since_ms: due_ms !== null && due_ms <= now_ms ? due_ms : null };
}

/** Messages whose next attempt was due before an instant, the longest overdue first. */
export async function overdueMessages(rows: Kysely<Database>, before_ms: number): Promise<readonly Message[]> {
  return await rows
    .selectFrom('messages')
    .selectAll()
    .where('state', '=', 'pending')
    .where('next_at', '<', instant(before_ms))
    .orderBy('next_at')
    .execute();
}
