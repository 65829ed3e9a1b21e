import type { Selectable, Transaction } from 'kysely';
import { instant } from '../../schemas/time.ts';
import type { AnyEventType } from '../../schemas/webhook-events.ts';
import { machineClock } from '../records/clock.ts';
import type { Database } from '../records/schema.ts';
import { isAnyHail } from '../rules/any-hail.ts';
import { type AlertEvent, addMessageTask, alertCreated, alertResolved, enqueueEvent, type Outbox } from './events.ts';
import { type EventFormats, formatOf } from './formats.ts';
import { type Message, overdueMessages } from './messages.ts';
import type { Receiver } from './receivers.ts';
import { requeue } from './requeue.ts';

/** A message that is overdue by this much has lost its task: the service was restored from a backup, which has no queue. */
export const OVERDUE_MS = 300_000;

/** How many events a recovery sends. */
export interface Recovered {
  /** Dropped ones, under their old ids. */
  readonly dropped: number;
  /** Those of alerts that were raised or resolved while the webhook was not active. */
  readonly missed: number;
  /** Those whose task was lost. */
  readonly overdue: number;
}

/**
 * Sends an active receiver, whose row the transaction holds, the events that it has missed since an instant: dropped ones, and
 * for a webhook those of alerts of its business that were raised or resolved while it was not active.
 */
export async function recover(
  rows: Transaction<Database>,
  { formats, ...outbox }: Outbox & { readonly formats: EventFormats },
  receiver: Receiver,
  { since_ms, now_ms }: { readonly since_ms: number; readonly now_ms: number },
): Promise<Recovered> {
  const at_ms = machineClock();
  const overdue = (await overdueMessages(rows, at_ms - OVERDUE_MS)).filter(
    ({ receiver_id }) => receiver_id === receiver.id,
  );
  for (const message of overdue)
    await addMessageTask(rows, outbox.queue, message, { push_id: message.id, attempt: message.attempts + 1 }, at_ms);
  const { recoverAlerts } = formatOf(formats, receiver);
  const withAlerts = recoverAlerts === null;
  const dropped = await requeueDropped(rows, outbox, receiver, { since_ms, at_ms, withAlerts });
  if (recoverAlerts !== null) {
    const alerts = await recoverAlerts(rows, outbox, receiver, { since_ms, now_ms, at_ms });
    return { dropped: dropped + alerts.dropped, missed: alerts.missed, overdue: overdue.length };
  }
  const missed = receiver.kind === 'webhook' ? await sendMissed(rows, outbox, receiver, since_ms, now_ms) : 0;
  return { dropped, missed, overdue: overdue.length };
}

/** Sends the events again that were dropped since an instant; those of alerts only `withAlerts`. */
async function requeueDropped(
  rows: Transaction<Database>,
  outbox: Outbox,
  receiver: Receiver,
  times: { readonly since_ms: number; readonly at_ms: number; readonly withAlerts: boolean },
): Promise<number> {
  const { since_ms, at_ms, withAlerts } = times;
  const all = rows
    .selectFrom('messages')
    .selectAll()
    .where('receiver_id', '=', receiver.id)
    .where('state', '=', 'dropped')
    .where('redelivered_from', 'is', null)
    .where('created_at', '>=', instant(since_ms))
    .orderBy('id');
  const dropped = await (withAlerts ? all : all.where('alert_id', 'is', null)).execute();
  for (const message of dropped) await requeue(rows, outbox, message, createdBefore(message, dropped), at_ms);
  return dropped.length;
}

/** Id of the dropped `alert.created` that must be sent before this `alert.resolved`; null: none. */
function createdBefore({ event, alert_id }: Message, all: readonly Message[]): string | null {
  if (event !== 'alert.resolved' || alert_id === null) return null;
  return all.find((each) => each.alert_id === alert_id && each.event === 'alert.created')?.id ?? null;
}

/** Writes the events of alerts since an instant for which a webhook has no message. */
async function sendMissed(
  rows: Transaction<Database>,
  outbox: Outbox,
  { id, business_id }: Receiver,
  since_ms: number,
  now_ms: number,
): Promise<number> {
  const { events } = await rows.selectFrom('webhooks').select('events').where('id', '=', id).executeTakeFirstOrThrow();
  const wanted = JSON.parse(events) as AnyEventType[];
  const since = instant(since_ms);
  const alerts = await rows
    .selectFrom('alerts')
    .selectAll()
    .where('business_id', '=', business_id)
    .where(({ or, eb }) => or([eb('triggered_at', '>=', since), eb('resolved_at', '>=', since)]))
    .orderBy('id')
    .execute();
  const known = await rows
    .selectFrom('messages')
    .select(['alert_id', 'event'])
    .where('receiver_id', '=', id)
    .where('alert_id', 'is not', null)
    .execute();
  const isMissed = (alert_id: string, event: AnyEventType) =>
    wanted.includes(event) && !known.some((each) => each.alert_id === alert_id && each.event === event);
  let missed = 0;
  for (const alert of alerts) {
    const about = { business_id, receivers: [id], alert_id: alert.id, at_ms: now_ms };
    for (const happened of eventsOf(alert, since)) {
      if (!isMissed(alert.id, happened.event)) continue;
      await enqueueEvent(rows, outbox, { ...about, ...happened });
      missed += 1;
    }
  }
  return missed;
}

/** The events of an alert since an instant. */
function eventsOf(alert: Selectable<Database['alerts']>, since: string): readonly AlertEvent[] {
  if (isAnyHail(alert.location_id)) return [];
  const isResolved = alert.resolved_at !== null && alert.resolved_at >= since;
  return [...(alert.triggered_at >= since ? [alertCreated(alert)] : []), ...(isResolved ? [alertResolved(alert)] : [])];
}
