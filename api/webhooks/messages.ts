import type { Kysely, Selectable, Transaction } from 'kysely';
import { instant } from '../store/instant.ts';
import type { Database } from '../store/schema.ts';

/** An event for one receiver. */
export type Message = Selectable<Database['messages']>;

/** States of a push that is still to be sent. */
export const UNFINISHED = ['waiting', 'pending'] as const;

/** The push of an event id; null when there is none. */
export async function findMessage(rows: Kysely<Database>, id: string): Promise<Message | null> {
  return (await rows.selectFrom('messages').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

/** Gives up what is still to be sent to a receiver; returns how many events that was. */
export async function dropMessages(rows: Transaction<Database>, receiver_id: string): Promise<number> {
  const { numUpdatedRows } = await rows
    .updateTable('messages')
    .set({ state: 'dropped', next_at: null })
    .where('receiver_id', '=', receiver_id)
    .where('state', 'in', UNFINISHED)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/** Gives up one event that is to be sent. */
export async function dropMessage(rows: Transaction<Database>, id: string): Promise<void> {
  await rows
    .updateTable('messages')
    .set({ state: 'dropped', next_at: null })
    .where('id', '=', id)
    .where('state', '=', 'pending')
    .execute();
}

/** Lets go what waited for an event that is now acknowledged or dropped; returns it. */
export async function releaseAfter(
  rows: Transaction<Database>,
  after_id: string,
  due_ms: number,
): Promise<readonly Pick<Message, 'id' | 'business_id' | 'receiver_id' | 'attempts'>[]> {
  return await rows
    .updateTable('messages')
    .set({ state: 'pending', next_at: instant(due_ms) })
    .where('after_id', '=', after_id)
    .where('state', '=', 'waiting')
    .returning(['id', 'business_id', 'receiver_id', 'attempts'])
    .execute();
}

/** Removes the events and deliveries of a receiver that is being deleted. */
export async function deleteMessages(rows: Transaction<Database>, receiver_id: string): Promise<void> {
  await rows.deleteFrom('messages').where('receiver_id', '=', receiver_id).execute();
  await rows.deleteFrom('attempts').where('receiver_id', '=', receiver_id).execute();
}

/** Removes events that were sent or given up before an instant, and of which no delivery is kept. */
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

/** What is still to be sent: events, and since when the longest due of them is due, epoch milliseconds (null: nothing is). */
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

/** Events whose next attempt was due before an instant, and that nobody sends. */
export async function overdueMessages(rows: Kysely<Database>, before_ms: number): Promise<readonly Message[]> {
  return await rows
    .selectFrom('messages')
    .selectAll()
    .where('state', '=', 'pending')
    .where('next_at', '<', instant(before_ms))
    .orderBy('next_at')
    .execute();
}
