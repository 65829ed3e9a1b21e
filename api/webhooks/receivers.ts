import { type Kysely, type RawBuilder, type Selectable, sql, type Transaction } from 'kysely';
import type { z } from 'zod';
import { newId } from '../../schemas/ids.ts';
import type { WebhookUpdate } from '../../schemas/resources/webhook.ts';
import { instant } from '../../schemas/time.ts';
import type { AnyEventType } from '../../schemas/webhook-events.ts';
import type { Cipher } from '../records/cipher.ts';
import type { Writer } from '../records/database.ts';
import { countOwn, deleteOwn } from '../records/own-rows.ts';
import type { Database, ReceiverFormat } from '../records/schema.ts';
import { anyHailOf } from '../rules/episodes.ts';
import { deleteMessages, dropMessages } from './messages.ts';
import { newSecret } from './signing-secrets.ts';

/** A webhook: an address of a business for its events. `secret` is encrypted, `events` a JSON array. */
export type Webhook = Selectable<Database['webhooks']>;
type Subscription = Selectable<Database['subscriptions']>;

/** A destination of events: a webhook of a business, or a subscription with an address of its own. */
export interface Receiver
  extends Pick<Webhook, (keyof Webhook & keyof Subscription) | 'url' | 'old_secret' | 'inactive_since'> {
  readonly kind: 'webhook' | 'subscription';
}

/** Receivers of a business: webhooks, then subscriptions, oldest first. */
export async function listReceivers(rows: Kysely<Database>, business_id: string): Promise<readonly Receiver[]> {
  const webhooks = await selectWebhooks(rows, business_id);
  const subscriptions = rows.selectFrom('subscriptions').selectAll().where('business_id', '=', business_id);
  return [
    ...webhooks.map((each) => ({ kind: 'webhook' as const, ...each })),
    ...(await subscriptions.orderBy('id').execute()).map(receiverOf),
  ];
}

/** A receiver by its id; null when there is none. `lock`: its row stays locked until the transaction ends. */
export async function findReceiver(
  rows: Kysely<Database>,
  id: string,
  lock: RawBuilder<unknown> = sql``,
): Promise<Receiver | null> {
  const webhook = rows.selectFrom('webhooks').selectAll().where('id', '=', id).modifyEnd(lock);
  const found = await webhook.executeTakeFirst();
  if (found !== undefined) return { kind: 'webhook', ...found };
  const subscription = rows.selectFrom('subscriptions').selectAll().where('id', '=', id).modifyEnd(lock);
  const other = await subscription.executeTakeFirst();
  return other === undefined ? null : receiverOf(other);
}

function receiverOf(row: Subscription): Receiver {
  return { kind: 'subscription', ...row, url: row.webhook_url, old_secret: null, inactive_since: null };
}

/** Webhooks of a business, oldest first. */
export async function selectWebhooks(rows: Kysely<Database>, business_id: string): Promise<readonly Webhook[]> {
  return await rows.selectFrom('webhooks').selectAll().where('business_id', '=', business_id).orderBy('id').execute();
}

/** Inserts a webhook with a new secret; null when the business has reached its limit of webhooks. */
export async function insertWebhook(
  { rows, business_id, now_ms }: Writer,
  cipher: Cipher,
  { url, events }: { readonly url: string; readonly events: readonly AnyEventType[] },
  limit: number,
): Promise<{ readonly webhook: Webhook; readonly secret: string } | null> {
  if ((await countOwn(rows, 'webhooks', { business_id })) >= limit) return null;
  const at = instant(now_ms);
  const secret = newSecret();
  const webhook: Webhook = {
    ...{ id: newId('webhook', now_ms), business_id, url, events: JSON.stringify(events) },
    ...{ secret: cipher.encrypt(secret), old_secret: null, old_secret_until: null },
    ...{ status: 'active', format: 'current', inactive_since: null },
    ...{ success_count: 0, failure_count: 0, consecutive_failures: 0 },
    ...{ warned_at: null, give_up_mailed_at: null, created_at: at, updated_at: at },
  };
  await rows.insertInto('webhooks').values(webhook).execute();
  return { webhook, secret };
}

/** Updates the given fields of a webhook; false when the business has no webhook of that id. */
export async function changeWebhook(
  { rows, business_id, now_ms }: Writer,
  id: string,
  { url, events, status }: z.infer<typeof WebhookUpdate>,
): Promise<boolean> {
  const { numUpdatedRows } = await rows
    .updateTable('webhooks')
    .set({
      ...(url === undefined ? {} : { url }),
      ...(events === undefined ? {} : { events: JSON.stringify(events) }),
      updated_at: instant(now_ms),
    })
    .where('id', '=', id)
    .where('business_id', '=', business_id)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  if (status !== undefined) await setReceiverStatus(rows, { kind: 'webhook', id }, status, now_ms);
  return true;
}

/** Deletes a webhook, its messages and its attempts; false when the business has no webhook of that id. */
export async function removeWebhook(writer: Writer, id: string): Promise<boolean> {
  if ((await deleteOwn(writer, 'webhooks', id)) === null) return false;
  await deleteMessages(writer.rows, id);
  return true;
}

/**
 * Sets the status of a receiver whose row the transaction holds. Active: its failures in a row are counted from 0. Any other
 * status: its unfinished messages are dropped, and the open alerts of a subscription are closed. `now_ms`: data clock.
 */
export async function setReceiverStatus(
  rows: Transaction<Database>,
  { kind, id }: Pick<Receiver, 'kind' | 'id'>,
  status: Receiver['status'],
  now_ms: number,
): Promise<void> {
  const isActive = status === 'active';
  const changes = { ...(isActive ? { consecutive_failures: 0 } : {}), updated_at: instant(now_ms) };
  if (kind === 'subscription') {
    const own = { ...changes, status: isActive ? ('active' as const) : ('paused' as const) };
    await rows.updateTable('subscriptions').set(own).where('id', '=', id).execute();
    if (!isActive) await closeAlerts(rows, id);
  } else {
    const inactive = sql<string>`coalesce(inactive_since, ${instant(Date.now())})`;
    const own = { ...changes, status, inactive_since: isActive ? null : inactive };
    await rows.updateTable('webhooks').set(own).where('id', '=', id).execute();
  }
  if (!isActive) await dropMessages(rows, id);
}

/** Closes every open alert of a subscription, without an event. */
export async function closeAlerts(rows: Transaction<Database>, subscription_id: string): Promise<void> {
  await rows
    .updateTable('alerts')
    .set({ status: 'closed', open_location: null })
    .where('open_location', 'in', [subscription_id, anyHailOf(subscription_id)])
    .execute();
}

/** Makes a webhook or subscription one of the earlier variant, or of the current one. */
export async function setReceiverFormat(rows: Transaction<Database>, receiver_id: string, format: ReceiverFormat) {
  for (const table of ['webhooks', 'subscriptions'] as const)
    await rows.updateTable(table).set({ format }).where('id', '=', receiver_id).execute();
}
