import type { Kysely, Selectable, Transaction } from 'kysely';
import { z } from 'zod';
import { derivedId, newId } from '../../schemas/ids.ts';
import { sizeCategory } from '../../schemas/size.ts';
import { instant, wholeSeconds } from '../../schemas/time.ts';
import {
  type AlertCreatedData,
  type AlertResolvedData,
  type AnyEventType,
  EVENT_SCHEMA_VERSION,
  type EventBody,
  type EventType,
  threatLevel,
} from '../../schemas/webhook-events.ts';
import type { Store } from '../records/database.ts';
import type { Database, ReceiverFormat } from '../records/schema.ts';
import type { Queue } from '../records/tasks.ts';
import type { Message } from './messages.ts';

/** Name of the tasks that send messages. */
export const MESSAGE_TASK = 'push';

/** Payload of a task: the next attempt of a message. */
export const MessageTask = z.object({
  push_id: z.string(),
  /** 1 for the first. */
  attempt: z.int().positive(),
  /** Retries: when the first attempt began, monotonic milliseconds of the process that made it. */
  first_attempt: z.object({ owner: z.string(), at_ms: z.number() }).optional(),
});
export type MessageTask = z.infer<typeof MessageTask>;

/** Parts of the service that enqueueing needs. */
export interface Outbox {
  readonly queue: Pick<Queue, 'add'>;
  readonly store: Pick<Store, 'forUpdate'>;
}

/** An event and the receivers that it is sent to. */
export interface NewEvent<Type extends AnyEventType = EventType> {
  readonly business_id: string;
  /** Ids of webhooks and subscriptions; each gets an event id of its own. */
  readonly receivers: readonly string[];
  readonly event: Type;
  readonly data: Readonly<Record<string, unknown>>;
  readonly alert_id: string | null;
  /** The event of an alert that must be delivered to each receiver, or dropped, before this one; null: none. */
  readonly after: { readonly alert_id: string; readonly event: Type } | null;
  /** Time in the body: epoch milliseconds of the data clock. */
  readonly at_ms: number;
  /**
   * Time of an event that an alert has once, epoch milliseconds of the data: its ids follow from alert, type and receiver, so that a
   * database which fails over without the event gets it again under the ids that were sent. Absent: new ids.
   */
  readonly happened_ms?: number;
  /** The same for an event without an alert: what it happened to. */
  readonly happened_to?: string;
}

/**
 * Writes an event for each receiver, encoded once, and the task that sends it, in the transaction that causes it. An event that
 * follows another one waits for it and has no task yet. Returns the event ids in the order of the receivers. After the commit,
 * `queue.wake(MESSAGE_TASK)` sends them before the next poll. All receivers have the format that `encode` writes. An event that is
 * there already under its id is sent again if it was dropped.
 */
export async function enqueueEvent<Type extends AnyEventType = EventType>(
  rows: Transaction<Database>,
  { queue, store }: Outbox,
  happened: NewEvent<Type>,
  encode: (event: NewEvent<Type> & { readonly id: string }) => string = bodyOf as never,
): Promise<readonly string[]> {
  const { business_id, receivers, event, alert_id, after, happened_ms, happened_to } = happened;
  const subject = alert_id ?? happened_to;
  if (receivers.length === 0) return [];
  const before = after === null ? NONE : await unfinished(rows, store, after.alert_id, after.event);
  const now_ms = Date.now();
  const messages = receivers.map((receiver_id) => {
    const id =
      subject === undefined || happened_ms === undefined
        ? newId('event', now_ms)
        : derivedId('event', happened_ms, subject, event, receiver_id);
    const after_id = before.get(receiver_id) ?? null;
    return {
      id,
      business_id,
      receiver_id,
      event,
      body: encode({ ...happened, id }),
      alert_id,
      after_id,
      state: after_id === null ? ('pending' as const) : ('waiting' as const),
      attempts: 0,
      attempts_before: 0,
      first_attempt_at: null,
      next_at: after_id === null ? instant(now_ms) : null,
      redelivered_from: null,
      created_at: instant(now_ms),
    };
  });
  const written = await rows
    .insertInto('messages')
    .values(messages)
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet((eb) => ({
          state: eb.ref('excluded.state'),
          after_id: eb.ref('excluded.after_id'),
          next_at: eb.ref('excluded.next_at'),
          attempts_before: eb.ref('messages.attempts'),
          first_attempt_at: null,
        }))
        .where('messages.state', '=', 'dropped'),
    )
    .returning(['id', 'business_id', 'receiver_id', 'state', 'attempts'])
    .execute();
  for (const message of written)
    if (message.state === 'pending')
      await addMessageTask(rows, queue, message, { push_id: message.id, attempt: message.attempts + 1 }, now_ms);
  return messages.map(({ id }) => id);
}

/** Adds the task of an attempt: those of one receiver are a group, and those of one business share the slots of a tenant. */
export async function addMessageTask(
  rows: Transaction<Database>,
  queue: Pick<Queue, 'add'>,
  { business_id, receiver_id }: Pick<Message, 'business_id' | 'receiver_id'>,
  payload: MessageTask,
  due_ms: number,
): Promise<void> {
  const isRetry = payload.first_attempt !== undefined;
  const task = { name: MESSAGE_TASK, tenant: business_id, group: receiver_id, payload, due_ms };
  await queue.add(rows, isRetry ? { ...task, retry: true } : task);
}

/** The bytes of an event in the current format. */
export function bodyOf(event: {
  readonly id: string;
  readonly event: EventType;
  readonly at_ms: number;
  readonly data: Readonly<Record<string, unknown>>;
}): string {
  const body: EventBody = {
    id: event.id,
    schema_version: EVENT_SCHEMA_VERSION,
    event: event.event,
    created_at: instant(event.at_ms),
    data: event.data,
  };
  return JSON.stringify(body);
}

/** An active webhook, as far as it decides which events it is sent. */
export interface ActiveWebhook {
  readonly id: string;
  readonly format: ReceiverFormat;
  readonly events: readonly AnyEventType[];
}

/** The active webhooks of a business, oldest first. */
export async function activeWebhooks(rows: Kysely<Database>, business_id: string): Promise<readonly ActiveWebhook[]> {
  const found = await rows
    .selectFrom('webhooks')
    .select(['id', 'format', 'events'])
    .where('business_id', '=', business_id)
    .where('status', '=', 'active')
    .orderBy('id')
    .execute();
  return found.map((row) => ({ ...row, events: JSON.parse(row.events) as AnyEventType[] }));
}

/** Ids of the webhooks of a format that take an event, in their order. */
export function takersAmong(
  webhooks: readonly ActiveWebhook[],
  format: ReceiverFormat,
  event: AnyEventType,
): readonly string[] {
  return webhooks.filter((each) => each.format === format && each.events.includes(event)).map(({ id }) => id);
}

type Alert = Selectable<Database['alerts']>;

/** The event of an alert's begin or end, in the current format. */
export type AlertEvent = Pick<NewEvent, 'event' | 'data' | 'after'> & { readonly happened_ms: number };

export function alertCreated(alert: Alert): AlertEvent {
  const data = alertCreatedData(alert);
  return { event: 'alert.created', data, after: null, happened_ms: Date.parse(alert.triggered_at) };
}

/** Follows the `alert.created` of the same alert. Throws for an alert that is not resolved. */
export function alertResolved(alert: Alert): AlertEvent {
  const after = { alert_id: alert.id, event: 'alert.created' } as const;
  const data = alertResolvedData(alert);
  return { event: 'alert.resolved', data, after, happened_ms: Date.parse(data.threat_cleared_at) };
}

function alertCreatedData(alert: Alert): AlertCreatedData {
  const ofSubscription = alert.location_kind === 'subscription';
  return {
    alert_id: alert.id,
    subscription_id: ofSubscription ? alert.location_id : null,
    area_id: ofSubscription ? null : alert.location_id,
    location_id: alert.location_id,
    location_name: alert.location_name,
    threat_level: threatLevel(alert.estimated_size_mm),
    estimated_size_mm: alert.estimated_size_mm,
    size_category: sizeCategory(alert.estimated_size_mm),
    confidence: alert.confidence,
    location: { lat: alert.lat, lon: alert.lon },
    distance_km: alert.distance_km,
    detected_at: wholeSeconds(alert.triggered_at),
    track_id: alert.track_id,
  };
}

function alertResolvedData(alert: Alert): AlertResolvedData {
  if (alert.resolved_at === null) throw new TypeError(`alert ${alert.id} is ${alert.status}, expected resolved`);
  return {
    alert_id: alert.id,
    subscription_id: alert.location_kind === 'subscription' ? alert.location_id : null,
    location_id: alert.location_id,
    location_name: alert.location_name,
    threat_level: 'CLEAR',
    threat_cleared_at: wholeSeconds(alert.resolved_at),
    max_size_during_event: alert.max_size_mm,
    duration_seconds: Math.round((Date.parse(alert.resolved_at) - Date.parse(alert.triggered_at)) / 1000),
  };
}

const NONE: ReadonlyMap<string, string> = new Map();

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
