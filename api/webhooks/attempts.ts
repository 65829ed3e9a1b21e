import type { Kysely, Selectable, Transaction } from 'kysely';
import type { OwnList } from '../records/own-rows.ts';
import type { Database } from '../records/schema.ts';

/** One POST of a message. */
export type Attempt = Selectable<Database['attempts']>;

/** Stored attempts of a receiver. */
export const ATTEMPTS_KEPT = 100;

/** Attempts of a receiver, newest first. */
export function attemptsOf(receiver_id: string): OwnList<'attempts'> {
  return { list: `webhooks.deliveries.${receiver_id}`, table: 'attempts', sorted_by: 'created_at', order: 'desc' };
}

/** Inserts an attempt and deletes the oldest surplus attempts of its receiver. */
export async function addAttempt(rows: Transaction<Database>, attempt: Attempt): Promise<void> {
  await rows.insertInto('attempts').values(attempt).execute();
  await rows
    .deleteFrom('attempts')
    .where('id', 'in', newestFirst(rows, attempt.receiver_id).select('id').limit(ATTEMPTS_KEPT).offset(ATTEMPTS_KEPT))
    .execute();
}

/** A stored attempt of a receiver by its own id, or the last one by the id of its event; null when there is none. */
export async function findAttempt(rows: Kysely<Database>, receiver_id: string, id: string): Promise<Attempt | null> {
  const named = newestFirst(rows, receiver_id).where(({ or }) => or({ id, event_id: id }));
  return (await named.selectAll().limit(1).executeTakeFirst()) ?? null;
}

function newestFirst(rows: Kysely<Database>, receiver_id: string) {
  return rows
    .selectFrom('attempts')
    .where('receiver_id', '=', receiver_id)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc');
}
