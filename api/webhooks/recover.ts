import type { Transaction } from 'kysely';
import { instant } from '../../schemas/time.ts';
import type { Database } from '../records/schema.ts';
import type { Outbox } from './events.ts';
import { FORMATS } from './formats.ts';
import { addMessageTask, OVERDUE_MS, requeue } from './messages.ts';
import type { Receiver } from './receivers.ts';

/** How many events a recovery sends. */
interface Recovered {
  /** Dropped ones, under their old ids. */
  readonly dropped: number;
  /** Those whose task was lost. */
  readonly overdue: number;
}

/**
 * Sends an active receiver, whose row the transaction holds, the events that were written since an instant and dropped: after
 * failures, or because it was not active. Events that have an order are sent one after the other, none older than the last one that
 * it got. `since_ms`: epoch milliseconds of the machine's clock.
 */
export async function recover(
  rows: Transaction<Database>,
  { queue, store }: Outbox,
  { id: receiver_id, format }: Pick<Receiver, 'id' | 'format'>,
  since_ms: number,
): Promise<Recovered> {
  const at_ms = Date.now();
  const own = rows.selectFrom('messages').where('receiver_id', '=', receiver_id).where('redelivered_from', 'is', null);
  // A scan that is being matched takes these alerts further before or after this, and not meanwhile.
  const alerts = await rows
    .selectFrom('alerts')
    .select(['id', 'location_id'])
    .where('id', 'in', own.select('alert_id'))
    .orderBy('id')
    .modifyEnd(store.forUpdate)
    .execute();
  const orders = new Map(alerts.map((alert) => [alert.id, alert[FORMATS[format].ordered_by]]));
  const messages = await own.selectAll().orderBy('id').execute();
  const count = { dropped: 0, overdue: 0 };
  for (const message of messages)
    if (message.state === 'pending' && (message.next_at ?? '') < instant(at_ms - OVERDUE_MS)) {
      await addMessageTask(rows, queue, message, at_ms);
      count.overdue += 1;
    }
  for (const ordered of Map.groupBy(messages, ({ id, alert_id }) => orders.get(alert_id ?? '') ?? id).values()) {
    const last = ordered.findLastIndex(({ state }) => state !== 'dropped');
    const before = ordered[last];
    let after_id = before === undefined || before.state === 'delivered' ? null : before.id;
    let former = before;
    for (const message of ordered.slice(last + 1)) {
      // The end of an alert goes to a receiver that gets its begin, whenever it was written.
      const is_end = former !== undefined && former.alert_id === message.alert_id;
      if (message.created_at < instant(since_ms) && !is_end) continue;
      await requeue(rows, queue, message, after_id, at_ms);
      former = message;
      after_id = message.id;
      count.dropped += 1;
    }
  }
  return count;
}
