import type { Transaction } from 'kysely';
import { instant } from '../store/instant.ts';
import type { Database } from '../store/schema.ts';
import { addMessageTask, type Outbox } from './events.ts';
import type { Message } from './messages.ts';

/** Sends an event that was given up again, its retries counted anew: at once, or after another event (null: none). */
export async function requeue(
  rows: Transaction<Database>,
  { queue }: Pick<Outbox, 'queue'>,
  push: Pick<Message, 'id' | 'business_id' | 'receiver_id' | 'attempts'>,
  after_id: string | null,
  at_ms: number,
): Promise<void> {
  const { id, attempts } = push;
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
  if (after_id === null) await addMessageTask(rows, queue, push, { push_id: id, attempt: attempts + 1 }, at_ms);
}
