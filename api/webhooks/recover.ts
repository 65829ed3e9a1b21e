import type { Selectable, Transaction } from 'kysely';
import type { AnyEventType } from '../../schemas/webhook-events.ts';
import { isAnyHail } from '../legacy/any-hail.ts';
import { earlierAmong } from '../legacy/receivers.ts';
import { recoverEarlierAlerts } from '../legacy/recover.ts';
import { instant } from '../store/instant.ts';
import type { Database } from '../store/schema.ts';
import { addMessageTask, alertCreatedData, alertResolvedData, enqueueEvent, type Outbox } from './events.ts';
import { type Message, overdueMessages } from './messages.ts';
import type { Receiver } from './receivers.ts';
import { requeue } from './requeue.ts';

/** A task that is this late is no longer there: the service was restored from a copy without its queue. */
export const OVERDUE_MS = 300_000;

/** What a recovery sends. */
export interface Recovered {
  /** Events that were given up, under their old ids. */
  readonly dropped: number;
  /** Events of alerts that happened while the webhook took nothing. */
  readonly missed: number;
  /** Events whose next attempt is long overdue. */
  readonly overdue: number;
}

/**
 * Sends an active receiver, whose row the transaction holds, what it did not get since an instant: events that were given up, and
 * for a webhook those of alerts of its business that were raised or resolved while it was not active. In the earlier variant
 * they go out in the order of each place.
 */
export async function recover(
  rows: Transaction<Database>,
  outbox: Outbox,
  receiver: Receiver,
  { since_ms, now_ms }: { readonly since_ms: number; readonly now_ms: number },
): Promise<Recovered> {
  const at_ms = Date.now();
  const overdue = (await overdueMessages(rows, at_ms - OVERDUE_MS)).filter(
    ({ receiver_id }) => receiver_id === receiver.id,
  );
  for (const push of overdue)
    await addMessageTask(rows, outbox.queue, push, { push_id: push.id, attempt: push.attempts + 1 }, at_ms);
  const isEarlier = (await earlierAmong(rows, [receiver.id])).has(receiver.id);
  const dropped = await reviveDropped(rows, outbox, receiver, { since_ms, at_ms, withAlerts: !isEarlier });
  if (isEarlier) {
    const alerts = await recoverEarlierAlerts(rows, outbox, receiver, { since_ms, now_ms, at_ms });
    return { dropped: dropped + alerts.dropped, missed: alerts.missed, overdue: overdue.length };
  }
  const missed = receiver.kind === 'webhook' ? await sendMissed(rows, outbox, receiver, since_ms, now_ms) : 0;
  return { dropped, missed, overdue: overdue.length };
}

/** Events that were given up since an instant; those of alerts where they are asked for. */
async function reviveDropped(
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
  for (const push of dropped) await requeue(rows, outbox, push, createdBefore(push, dropped), at_ms);
  return dropped.length;
}

/** The `alert.created` that is sent before an `alert.resolved`: an alert is told before its end. */
function createdBefore({ event, alert_id }: Message, all: readonly Message[]): string | null {
  if (event !== 'alert.resolved' || alert_id === null) return null;
  return all.find((each) => each.alert_id === alert_id && each.event === 'alert.created')?.id ?? null;
}

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
function eventsOf(alert: Selectable<Database['alerts']>, since: string) {
  if (isAnyHail(alert.location_id)) return [];
  const created = { event: 'alert.created', data: alertCreatedData(alert), after: null } as const;
  const all = alert.triggered_at >= since ? [created] : [];
  if (alert.resolved_at === null || alert.resolved_at < since) return all;
  const after = { alert_id: alert.id, event: 'alert.created' } as const;
  return [...all, { event: 'alert.resolved', data: alertResolvedData(alert), after } as const];
}
