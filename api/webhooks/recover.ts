import type { Transaction } from 'kysely';
import { instant } from '../../schemas/time.ts';
import type { Database } from '../records/schema.ts';
import { enqueueAlertEvent, type Outbox, takersAmong, webhooksOf } from './events.ts';
import { FORMATS } from './formats.ts';
import { addMessageTask, type Message, OVERDUE_MS, requeue } from './messages.ts';
import type { Receiver } from './receivers.ts';

/**
 * Sends an active receiver, whose row the transaction holds, the events that were written since an instant and dropped: after
 * failures, or because it was not active. Events that have an order are sent one after the other, none older than the last one that
 * it got, and a closed alert whose begin it got ends for it too. Returns how many: dropped ones, under their old ids; missed ends of
 * closed alerts, which had no event yet; and overdue ones, whose task was lost. `since_ms`: epoch milliseconds of the machine's clock; `now_ms`: data
 * clock.
 */
export async function recover(
  rows: Transaction<Database>,
  { queue, store }: Outbox,
  { id: receiver_id, kind, business_id, ...receiver }: Receiver,
  { since_ms, now_ms }: Readonly<Record<'since_ms' | 'now_ms', number>>,
) {
  const at_ms = Date.now();
  const format = FORMATS[receiver.format];
  const webhooks = (await webhooksOf(rows, business_id)).filter(({ id }) => id === receiver_id);
  const takers = { own: kind === 'subscription' ? [receiver_id] : [], webhooks };
  const own = rows.selectFrom('messages').where('receiver_id', '=', receiver_id).where('redelivered_from', 'is', null);
  // A scan that is being matched takes these alerts further before or after this, and not meanwhile.
  const alerts = await rows
    .selectFrom('alerts')
    .selectAll()
    .where('id', 'in', own.select('alert_id'))
    .orderBy('id')
    .modifyEnd(store.forUpdate)
    .execute();
  const alertOf = new Map(alerts.map((alert) => [alert.id, alert]));
  const orderOf = ({ id, alert_id }: Message) => alertOf.get(alert_id ?? '')?.[format.ordered_by] ?? id;
  const messages = await own.selectAll().orderBy('id').execute();
  const count = { dropped: 0, missed: 0, overdue: 0 };
  for (const message of messages)
    if (message.state === 'pending' && (message.next_at ?? '') < instant(at_ms - OVERDUE_MS)) {
      await addMessageTask(rows, queue, message, at_ms);
      count.overdue += 1;
    }
  for (const ordered of Map.groupBy(messages, orderOf).values()) {
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
    const alert = alertOf.get(former?.alert_id ?? '');
    const end = alert?.status === 'closed' ? format.alertEvent(alert, 'ends') : null;
    if (alert === undefined || end === null || end.event === former?.event) continue;
    await enqueueAlertEvent(rows, { queue, store }, format, alert, 'ends', takers, now_ms);
    count.missed += takers.own.length + takersAmong(webhooks, format.name, end.event).length;
  }
  return count;
}
