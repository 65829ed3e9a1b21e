import type { Kysely, Transaction } from 'kysely';
import { derivedId, newId } from '../../schemas/ids.ts';
import { instant } from '../../schemas/time.ts';
import type { AnyEventType } from '../../schemas/webhook-events.ts';
import type { Store } from '../records/database.ts';
import type { Database, ReceiverFormat } from '../records/schema.ts';
import type { Queue } from '../records/tasks.ts';
import { type Alert, type AlertStep, type EventFormat, FORMATS, type PlainEvent } from './formats.ts';
import { addMessageTask, enqueued } from './messages.ts';

/** Parts of the service that enqueueing needs. */
export type Outbox = Readonly<{ queue: Pick<Queue, 'add'>; store: Pick<Store, 'forUpdate'> }>;

/** An event and the receivers that it is sent to. */
interface NewEvent extends Omit<PlainEvent, 'id'> {
  readonly business_id: string;
  /** Ids of webhooks and subscriptions; each gets an event id of its own. */
  readonly receivers: readonly string[];
  readonly alert_id: string | null;
  /** The event of an alert that must be delivered to each receiver, or dropped, before this one; null: none. */
  readonly after: { readonly alert_id: string; readonly event: AnyEventType } | null;
  /**
   * Subject and time of an event that its subject has once, epoch milliseconds of the data: its ids follow from them, its type and its
   * receiver, so that a database which fails over without the event gets it again under the ids that were sent. Absent: new ids.
   */
  readonly once?: { readonly subject: string; readonly at_ms: number };
}

/**
 * Writes an event for each receiver, encoded once, and the task that sends it, in the transaction that causes it. An event that
 * follows another one waits for it and has no task yet; for a webhook that is not active it is dropped, until it is recovered.
 * Returns the event ids in the order of the receivers. After the commit, `queue.wake(MESSAGE_TASK)` sends them before the next poll.
 * All receivers have the given format. An event that is there already under its id is sent again if it was dropped.
 */
export async function enqueueEvent(
  rows: Transaction<Database>,
  { queue, store }: Outbox,
  happened: NewEvent,
  { encode }: Pick<EventFormat, 'encode'> = FORMATS.current,
): Promise<readonly string[]> {
  const { business_id, receivers, event, alert_id, after, once } = happened;
  if (receivers.length === 0) return [];
  const before = after === null ? null : await unfinished(rows, store, after.alert_id, after.event);
  const webhooks = rows
    .selectFrom('webhooks')
    .select('id')
    .where('id', 'in', receivers)
    .where('status', '!=', 'active');
  const inactive = new Set((await webhooks.execute()).map(({ id }) => id));
  const now_ms = Date.now();
  const messages = receivers.map((receiver_id) => {
    const id =
      once === undefined ? newId('event', now_ms) : derivedId('event', once.at_ms, once.subject, event, receiver_id);
    return {
      ...{ id, business_id, receiver_id, event, body: encode({ ...happened, id }), alert_id },
      ...{ attempts: 0, attempts_before: 0, redelivered_from: null, created_at: instant(now_ms) },
      ...enqueued(before?.get(receiver_id) ?? null, now_ms),
      ...(inactive.has(receiver_id) ? { state: 'dropped' as const, next_at: null } : {}),
    };
  });
  const written = await rows
    .insertInto('messages')
    .values(messages)
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet(({ ref }) => ({
          state: ref('excluded.state'),
          after_id: ref('excluded.after_id'),
          next_at: ref('excluded.next_at'),
          attempts_before: ref('messages.attempts'),
          first_attempt_at: null,
        }))
        .where('messages.state', '=', 'dropped'),
    )
    .returning(['id', 'business_id', 'receiver_id', 'state', 'attempts', 'attempts_before'])
    .execute();
  for (const message of written) if (message.state === 'pending') await addMessageTask(rows, queue, message, now_ms);
  return messages.map(({ id }) => id);
}

/** A webhook, as far as it decides which events it is sent. */
export type EventTaker = Readonly<{ id: string; format: ReceiverFormat; events: readonly AnyEventType[] }>;

/** The webhooks of a business, oldest first. */
export async function webhooksOf(rows: Kysely<Database>, business_id: string): Promise<readonly EventTaker[]> {
  const own = rows.selectFrom('webhooks').select(['id', 'format', 'events']).where('business_id', '=', business_id);
  const found = await own.orderBy('id').execute();
  return found.map((row) => ({ ...row, events: JSON.parse(row.events) as AnyEventType[] }));
}

/** Ids of the webhooks of a format that take an event, in their order. */
export function takersAmong(webhooks: readonly EventTaker[], format: ReceiverFormat, event: AnyEventType) {
  return webhooks.filter((each) => each.format === format && each.events.includes(event)).map(({ id }) => id);
}

/**
 * Ids of an alert's events of a type that are still to be sent, by receiver. Their rows are locked until the transaction ends, so
 * that a concurrent delivery sees the events that wait for them.
 */
async function unfinished(
  rows: Transaction<Database>,
  { forUpdate }: Outbox['store'],
  alert_id: string,
  event: AnyEventType,
): Promise<ReadonlyMap<string, string>> {
  const found = await rows
    .selectFrom('messages')
    .select(['id', 'receiver_id'])
    .where('alert_id', '=', alert_id)
    .where('event', '=', event)
    .where('state', 'in', ['waiting', 'pending'])
    .orderBy('id')
    .modifyEnd(forUpdate)
    .execute();
  return new Map(found.map(({ id, receiver_id }) => [receiver_id, id]));
}

/**
 * Writes the event of an alert's begin or end in a format, for its subscription (`own`), where it has the format, and the webhooks of
 * the business. `now_ms`: data clock.
 */
export async function enqueueAlertEvent(
  rows: Transaction<Database>,
  outbox: Outbox,
  format: EventFormat,
  alert: Alert,
  step: AlertStep,
  { own, webhooks }: { readonly own: readonly string[]; readonly webhooks: readonly EventTaker[] },
  now_ms: number,
): Promise<void> {
  const type = format.alertEvent(alert, step)?.event;
  if (type === undefined) return;
  const takersOf = (event: AnyEventType) => [...own, ...takersAmong(webhooks, format.name, event)];
  const send = async (of: Alert, what: AlertStep, after: NewEvent['after'], receivers: readonly string[]) => {
    const found = format.alertEvent(of, what);
    if (found === null) return;
    const { happened_ms, ...event } = found;
    const about = { business_id: of.business_id, alert_id: of.id, at_ms: now_ms, receivers, after };
    await enqueueEvent(rows, outbox, { ...about, ...event, once: { subject: of.id, at_ms: happened_ms } }, format);
  };
  const end = (of: Alert, receivers: readonly string[]) => send(of, 'ends', eventOf(format, of, 'begins'), receivers);
  const receivers = takersOf(type);
  if (step === 'ends') return await end(alert, receivers);
  if (format.ordered_by === 'id') return await send(alert, 'begins', null, receivers);
  // The events name no alert: the last one that a receiver was sent at this location ends first.
  const former = await lastSent(rows, format, alert.location_id, receivers);
  for (const receiver of receivers) {
    const last = former.get(receiver);
    const after = last === undefined ? null : eventOf(format, last.alert, 'ends');
    if (last?.step === 'begins' && after !== null && takersOf(after.event).includes(receiver))
      await end(last.alert, [receiver]);
    await send(alert, 'begins', after, [receiver]);
  }
}

/** An event of an alert that another event may wait for. */
function eventOf(format: EventFormat, alert: Alert, step: AlertStep): NewEvent['after'] {
  const happened = format.alertEvent(alert, step);
  return happened === null ? null : { alert_id: alert.id, event: happened.event };
}

/** The newest step at a location that each of some receivers was sent, dropped events left out; by receiver. */
async function lastSent(
  rows: Kysely<Database>,
  format: EventFormat,
  location_id: string,
  receivers: readonly string[],
): Promise<ReadonlyMap<string, { readonly alert: Alert; readonly step: AlertStep }>> {
  if (receivers.length === 0) return new Map();
  const found = await rows
    .selectFrom('alerts')
    .innerJoin('messages', 'messages.alert_id', 'alerts.id')
    .selectAll('alerts')
    .select(['messages.receiver_id', 'messages.event'])
    .where('alerts.location_id', '=', location_id)
    .where('messages.receiver_id', 'in', receivers)
    .where('messages.state', '!=', 'dropped')
    .where('messages.redelivered_from', 'is', null)
    .orderBy('alerts.triggered_at')
    .orderBy('alerts.id')
    .execute();
  const last = new Map<string, { readonly alert: Alert; readonly step: AlertStep }>();
  for (const { receiver_id, event, ...alert } of found) {
    const step = event === format.alertEvent(alert, 'ends')?.event ? 'ends' : 'begins';
    if (step === 'ends' || last.get(receiver_id)?.alert.id !== alert.id) last.set(receiver_id, { alert, step });
  }
  return last;
}
