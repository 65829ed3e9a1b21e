import type { Transaction } from 'kysely';
import { instant } from '../../schemas/time.ts';
import type { Database } from '../records/schema.ts';
import { addMessageTask, type Outbox } from './events.ts';
import type { Message } from './messages.ts';

/**
 * Makes a dropped message pending again, with a new count of retries: due at once, or after another message (null: none)
 * is delivered or dropped.
 */
export async function requeue(
  rows: Transaction<Database>,
  { queue }: Pick<Outbox, 'queue'>,
  message: Pick<Message, 'id' | 'business_id' | 'receiver_id' | 'attempts'>,
  after_id: string | null,
  at_ms: number,
): Promise<void> {
  const { id, attempts } = message;
  await rows
    .updateTable('messages')
    .set({
      state: after_id === null ? 'pending' : 'waiting',
      after_id,
      attempts_before: attempts,
      first_attempt_at: null,
      next_at: after_id === null ? instant(at_ms) : null,
    })
    .where('id', '=', id)
    .execute();
  if (after_id === null) await addMessageTask(rows, queue, message, { push_id: id, attempt: attempts + 1 }, at_ms);
}

/** Makes the messages pending that waited for a message which is now delivered or dropped. */
export async function releaseWaiting(
  rows: Transaction<Database>,
  { queue }: Pick<Outbox, 'queue'>,
  after_id: string,
  at_ms: number,
): Promise<void> {
  const released = await rows
    .updateTable('messages')
    .set({ state: 'pending', next_at: instant(at_ms) })
    .where('after_id', '=', after_id)
    .where('state', '=', 'waiting')
    .returning(['id', 'business_id', 'receiver_id', 'attempts'])
    .execute();
  for (const message of released)
    await addMessageTask(rows, queue, message, { push_id: message.id, attempt: message.attempts + 1 }, at_ms);
}
