import type { Kysely, Selectable, Transaction } from 'kysely';
import { z } from 'zod';
import { newId } from '../../schemas/ids.ts';
import { sizeCategory } from '../../schemas/size.ts';
import { wholeSeconds } from '../../schemas/time.ts';
import {
  type AlertCreatedData,
  type AlertResolvedData,
  type AnyEventType,
  type EarlierEventType,
  EVENT_SCHEMA_VERSION,
  type EventBody,
  type EventType,
  threatLevel,
} from '../../schemas/webhook-events.ts';
import { earlierBodyOf } from '../legacy/events.ts';
import type { Store } from '../store/database.ts';
import { instant } from '../store/instant.ts';
import type { Database } from '../store/schema.ts';
import type { Queue } from '../store/tasks/queue.ts';
import type { Message } from './messages.ts';

/** Name of the tasks that send. */
export const MESSAGE_TASK = 'push';

/** The next attempt of a push. */
export const MessageTask = z.object({
  push_id: z.string(),
  /** 1 for the first. */
  attempt: z.int().positive(),
  /** Retries: when the first attempt began, monotonic milliseconds of the process that made it. */
  first_attempt: z.object({ owner: z.string(), at_ms: z.number() }).optional(),
});
export type MessageTask = z.infer<typeof MessageTask>;

/** What events are enqueued with. */
export interface Outbox {
  readonly queue: Pick<Queue, 'add'>;
  readonly store: Pick<Store, 'forUpdate'>;
}

/** Something that happened, and who is to hear of it. */
export interface NewEvent<Type extends AnyEventType = EventType> {
  readonly business_id: string;
  /** Ids of webhooks and subscriptions; each gets an event id of its own. */
  readonly receivers: readonly string[];
  readonly event: Type;
  readonly data: Readonly<Record<string, unknown>>;
  readonly alert_id: string | null;
  /** The event of an alert that each receiver must have got, or been spared, before this one; null: none. */
  readonly after: { readonly alert_id: string; readonly event: Type } | null;
  /** When it happened, for `created_at` of the body: epoch milliseconds of the data clock. */
  readonly at_ms: number;
}

/**
 * Writes an event for each receiver, its bytes made once, and the task that sends it, in the transaction that causes it. One
 * that goes after another waits for it, without a task. Returns the event ids in the order of the receivers. Once the
 * transaction is committed, `queue.wake(PUSH_TASK)` spares them the next look.
 */
export async function enqueueEvent(
  rows: Transaction<Database>,
  outbox: Outbox,
  happened: NewEvent,
): Promise<readonly string[]> {
  return await enqueue(rows, outbox, happened, (id) => bodyOf({ ...happened, id }));
}

/** The same for receivers that were made in the earlier variant. */
export async function enqueueEarlierEvent(
  rows: Transaction<Database>,
  outbox: Outbox,
  happened: NewEvent<EarlierEventType>,
): Promise<readonly string[]> {
  return await enqueue(rows, outbox, happened, () => earlierBodyOf(happened));
}

async function enqueue(
  rows: Transaction<Database>,
  { queue, store }: Outbox,
  { business_id, receivers, event, alert_id, after }: NewEvent<AnyEventType>,
  bodyFor: (id: string) => string,
): Promise<readonly string[]> {
  if (receivers.length === 0) return [];
  const earlier = after === null ? NONE : await unfinished(rows, store, after.alert_id, after.event);
  const now_ms = Date.now();
  const messages = receivers.map((receiver_id) => {
    const id = newId('event', now_ms);
    const after_id = earlier.get(receiver_id) ?? null;
    return {
      id,
      business_id,
      receiver_id,
      event,
      body: bodyFor(id),
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
  if (messages.length > 0) await rows.insertInto('messages').values(messages).execute();
  for (const push of messages)
    if (push.state === 'pending') await addMessageTask(rows, queue, push, { push_id: push.id, attempt: 1 }, now_ms);
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

/** The bytes of an event. */
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

/** Ids of the active webhooks of a business that subscribe to a type, oldest first. */
export async function activeReceivers(
  rows: Kysely<Database>,
  business_id: string,
  event: AnyEventType,
): Promise<readonly string[]> {
  const found = await rows
    .selectFrom('webhooks')
    .select(['id', 'events'])
    .where('business_id', '=', business_id)
    .where('status', '=', 'active')
    .orderBy('id')
    .execute();
  return found.filter(({ events }) => (JSON.parse(events) as string[]).includes(event)).map(({ id }) => id);
}

type Alert = Selectable<Database['alerts']>;

/** What `alert.created` tells of an alert. */
export function alertCreatedData(alert: Alert): AlertCreatedData {
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

/** What `alert.resolved` tells of an alert; throws for one that is not resolved. */
export function alertResolvedData(alert: Alert): AlertResolvedData {
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
 * Events of an alert that are still to be sent, by receiver. They are held until the transaction ends: whoever ends one of
 * them sees what waits for it.
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
