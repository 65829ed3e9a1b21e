import type { Transaction } from 'kysely';
import { instant } from '../../schemas/time.ts';
import type { AnyEventType } from '../../schemas/webhook-events.ts';
import type { Database } from '../records/schema.ts';
import { enqueueEvent, type Outbox } from './events.ts';
import { type Alert, FORMATS } from './formats.ts';
import { addMessageTask, type Message, overdueMessages, requeue } from './messages.ts';
import type { Receiver } from './receivers.ts';

/** A message that is overdue by this much has lost its task: the service was restored from a backup, which has no queue. */
export const OVERDUE_MS = 300_000;

/** How many events a recovery sends. */
interface Recovered {
  /** Dropped ones, under their old ids. */
  readonly dropped: number;
  /** Those of alerts that were raised or resolved while the webhook was not active. */
  readonly missed: number;
  /** Those whose task was lost. */
  readonly overdue: number;
}

/**
 * Sends an active receiver, whose row the transaction holds, the events that it has missed since an instant: dropped ones, and
 * for a webhook those of alerts of its business that began or ended while it was not active. Events that have an order are sent
 * one after the other, none older than the last one that it got; an alert whose begin it got ends for it too, whenever it began.
 */
export async function recover(
  rows: Transaction<Database>,
  outbox: Outbox,
  receiver: Receiver,
  { since_ms, now_ms }: { readonly since_ms: number; readonly now_ms: number },
): Promise<Recovered> {
  const at_ms = Date.now();
  const since = instant(since_ms);
  const { id, kind, business_id } = receiver;
  const format = FORMATS[receiver.format];
  const overdue = (await overdueMessages(rows, at_ms - OVERDUE_MS)).filter(({ receiver_id }) => receiver_id === id);
  for (const message of overdue) await addMessageTask(rows, outbox.queue, message, at_ms);
  const takes = await takenBy(rows, receiver);
  const alerts = await lockAlertsSince(rows, outbox, receiver, since);
  const known = await messagesOf(rows, id);
  const count = { dropped: 0, missed: 0, overdue: overdue.length };
  const ordered = new Set(alerts.map((alert) => alert.id));
  for (const message of known)
    if (message.state === 'dropped' && message.created_at >= since && !ordered.has(message.alert_id ?? '')) {
      await requeue(rows, outbox.queue, message, at_ms);
      count.dropped += 1;
    }

  const sent = new Map(known.map((message) => [`${message.alert_id} ${message.event}`, message]));
  for (const own of Map.groupBy(alerts, (alert) => alert[format.ordered_by]).values()) {
    const steps = own.toSorted(byBeginning).flatMap((alert) =>
      (['begins', 'ends'] as const).flatMap((step) => {
        const event = format.alertEvent(alert, step);
        if (event === null) return [];
        const at = step === 'begins' ? alert.triggered_at : alert.resolved_at;
        return { ...event, alert_id: alert.id, at, message: sent.get(`${alert.id} ${event.event}`) ?? null };
      }),
    );
    const last = steps.findLastIndex(({ message }) => message !== null && message.state !== 'dropped');
    let former = steps[last] ?? null;
    for (const step of steps.slice(last + 1)) {
      const { event, alert_id, data, happened_ms, at, message } = step;
      const isItsEnd = former?.alert_id === alert_id;
      const isMissed = takes(event) && (isItsEnd || (kind === 'webhook' && at !== null && at >= since));
      const isDropped = message !== null && (isItsEnd || message.created_at >= since);
      if (message === null ? !isMissed : !isDropped) continue;
      const after = former === null ? null : { alert_id: former.alert_id, event: former.event };
      const about = { business_id, receivers: [id], alert_id, at_ms: now_ms, happened_ms };
      await enqueueEvent(rows, outbox, { ...about, event, data, after }, format);
      count[message === null ? 'missed' : 'dropped'] += 1;
      former = step;
    }
  }
  return count;
}

function byBeginning(a: Alert, b: Alert): number {
  return a.triggered_at === b.triggered_at ? (a.id < b.id ? -1 : 1) : a.triggered_at < b.triggered_at ? -1 : 1;
}

/** Event types that a receiver takes: a subscription takes all. */
async function takenBy(rows: Transaction<Database>, { id, kind }: Receiver): Promise<(event: AnyEventType) => boolean> {
  if (kind === 'subscription') return () => true;
  const { events } = await rows.selectFrom('webhooks').select('events').where('id', '=', id).executeTakeFirstOrThrow();
  const wanted = JSON.parse(events) as AnyEventType[];
  return (event) => wanted.includes(event);
}

/** Locks the alerts of a business that began or ended since an instant, and those of which the receiver has messages. */
async function lockAlertsSince(
  rows: Transaction<Database>,
  { store }: Outbox,
  { id, business_id }: Receiver,
  since: string,
): Promise<readonly Alert[]> {
  const sent = rows.selectFrom('messages').select('alert_id').where('receiver_id', '=', id);
  return await rows
    .selectFrom('alerts')
    .selectAll()
    .where('business_id', '=', business_id)
    .where(({ or, eb }) => or([eb('triggered_at', '>=', since), eb('resolved_at', '>=', since), eb('id', 'in', sent)]))
    .orderBy('id')
    .modifyEnd(store.forUpdate)
    .execute();
}

/** The messages of a receiver but for redeliveries, oldest first. */
async function messagesOf(rows: Transaction<Database>, receiver_id: string): Promise<readonly Omit<Message, 'body'>[]> {
  return await rows
    .selectFrom('messages')
    .selectAll()
    .where('receiver_id', '=', receiver_id)
    .where('redelivered_from', 'is', null)
    .orderBy('id')
    .execute();
}
