import type { Selectable, Transaction } from 'kysely';
import type { AnyEventType } from '../../schemas/webhook-events.ts';
import { isAnyHail } from '../records/any-hail.ts';
import { earlierAmong } from '../records/earlier-receivers.ts';
import { instant } from '../records/instant.ts';
import { overduePushes, type Push } from '../records/pushes.ts';
import type { Receiver } from '../records/receivers.ts';
import type { Database } from '../records/tables.ts';
import { earlierEventsOf, earlierHailData } from './earlier-events.ts';
import {
  addPushTask,
  alertCreatedData,
  alertResolvedData,
  enqueueEarlierEvent,
  enqueueEvent,
  type Outbox,
} from './events.ts';

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
 * for a webhook those of alerts of its business that were raised or resolved while it was not active.
 */
export async function recover(
  rows: Transaction<Database>,
  outbox: Outbox,
  receiver: Receiver,
  { since_ms, now_ms }: { readonly since_ms: number; readonly now_ms: number },
): Promise<Recovered> {
  const at_ms = Date.now();
  const overdue = (await overduePushes(rows, at_ms - OVERDUE_MS)).filter(
    ({ receiver_id }) => receiver_id === receiver.id,
  );
  for (const { id, attempts } of overdue)
    await addPushTask(rows, outbox.queue, receiver.id, { push_id: id, attempt: attempts + 1 }, at_ms);
  const dropped = await revive(rows, outbox, receiver, since_ms, at_ms);
  const missed = receiver.kind === 'webhook' ? await sendMissed(rows, outbox, receiver, since_ms, now_ms) : 0;
  return { dropped, missed, overdue: overdue.length };
}

async function revive(
  rows: Transaction<Database>,
  { queue }: Outbox,
  receiver: Receiver,
  since_ms: number,
  at_ms: number,
): Promise<number> {
  const dropped = await rows
    .selectFrom('pushes')
    .selectAll()
    .where('receiver_id', '=', receiver.id)
    .where('state', '=', 'dropped')
    .where('redelivered_from', 'is', null)
    .where('created_at', '>=', instant(since_ms))
    .orderBy('id')
    .execute();
  for (const push of dropped) {
    const after_id = earlierOf(push, dropped);
    await rows
      .updateTable('pushes')
      .set({
        state: after_id === null ? 'pending' : 'waiting',
        after_id,
        attempts_before: push.attempts,
        first_attempt_at: null,
        next_at: after_id === null ? instant(at_ms) : null,
      })
      .where('id', '=', push.id)
      .execute();
    if (after_id === null)
      await addPushTask(rows, queue, receiver.id, { push_id: push.id, attempt: push.attempts + 1 }, at_ms);
  }
  return dropped.length;
}

const SENT_BEFORE: ReadonlyMap<string, AnyEventType> = new Map([
  ['alert.resolved', 'alert.created'],
  ['hail.cleared', 'hail.detected'],
]);

/** The event that is sent before another: an alert is told before its end. */
function earlierOf({ event, alert_id }: Push, all: readonly Push[]): string | null {
  const first = SENT_BEFORE.get(event);
  if (first === undefined || alert_id === null) return null;
  return all.find((each) => each.alert_id === alert_id && each.event === first)?.id ?? null;
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
  const isEarlier = (await earlierAmong(rows, [id])).has(id);
  const since = instant(since_ms);
  const alerts = await rows
    .selectFrom('alerts')
    .selectAll()
    .where('business_id', '=', business_id)
    .where(({ or, eb }) => or([eb('triggered_at', '>=', since), eb('resolved_at', '>=', since)]))
    .orderBy('id')
    .execute();
  const known = await rows
    .selectFrom('pushes')
    .select(['alert_id', 'event'])
    .where('receiver_id', '=', id)
    .where('alert_id', 'is not', null)
    .execute();
  const isMissed = (alert_id: string, event: AnyEventType) =>
    wanted.includes(event) && !known.some((each) => each.alert_id === alert_id && each.event === event);
  let missed = 0;
  for (const alert of alerts) {
    const about = { business_id, receivers: [id], alert_id: alert.id, at_ms: now_ms };
    for (const happened of isEarlier ? earlierEventsSince(alert, since) : []) {
      if (!isMissed(alert.id, happened.event)) continue;
      await enqueueEarlierEvent(rows, outbox, { ...about, ...happened });
      missed += 1;
    }
    for (const happened of isEarlier ? [] : eventsOf(alert, since)) {
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
  return [...all, { event: 'alert.resolved', data: alertResolvedData(alert), after: 'alert.created' } as const];
}

/** The same in the earlier variant, which knows no areas. */
function earlierEventsSince(alert: Selectable<Database['alerts']>, since: string) {
  if (alert.location_kind === 'area') return [];
  const { begins, ends } = earlierEventsOf(alert);
  const created = { event: begins, data: earlierHailData({ ...alert, resolved_at: null }), after: null } as const;
  const all = alert.triggered_at >= since ? [created] : [];
  if (alert.resolved_at === null || alert.resolved_at < since) return all;
  return [...all, { event: ends, data: earlierHailData(alert), after: begins } as const];
}
