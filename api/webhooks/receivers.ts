import { type Kysely, type RawBuilder, type Selectable, sql, type Transaction } from 'kysely';
import { instant } from '../../schemas/time.ts';
import type { Database, ReceiverFormat } from '../records/schema.ts';
import { anyHailOf } from '../rules/any-hail.ts';
import { dropMessages } from './messages.ts';
import type { SecretColumns } from './signing-secrets.ts';

type Webhook = Selectable<Database['webhooks']>;

/** A destination of events: a webhook of a business, or a subscription with an address of its own. */
export interface Receiver
  extends Pick<Webhook, (typeof COLUMNS)[number] | 'url' | 'inactive_since' | keyof SecretColumns> {
  readonly kind: 'webhook' | 'subscription';
}

const COLUMNS = [
  ...(['id', 'business_id', 'status', 'consecutive_failures'] as const),
  ...(['warned_at', 'give_up_mailed_at', 'format', 'secret'] as const),
];
const WEBHOOK_COLUMNS = [...COLUMNS, 'url', 'old_secret', 'old_secret_until', 'inactive_since'] as const;
const SUBSCRIPTION_COLUMNS = [...COLUMNS, 'webhook_url as url'] as const;
const NO_WEBHOOK = { old_secret: null, old_secret_until: null, inactive_since: null };

/** Receivers of a business: webhooks, then subscriptions, oldest first. */
export async function listReceivers(rows: Kysely<Database>, business_id: string): Promise<readonly Receiver[]> {
  const webhooks = rows.selectFrom('webhooks').select(WEBHOOK_COLUMNS).where('business_id', '=', business_id);
  const subscriptions = rows
    .selectFrom('subscriptions')
    .select(SUBSCRIPTION_COLUMNS)
    .where('business_id', '=', business_id);
  return [
    ...(await webhooks.orderBy('id').execute()).map((each) => ({ kind: 'webhook' as const, ...each })),
    ...(await subscriptions.orderBy('id').execute()).map((each) => ({
      ...{ kind: 'subscription' as const, ...each },
      ...NO_WEBHOOK,
    })),
  ];
}

/** A receiver by its id; null when there is none. `lock`: its row stays locked until the transaction ends. */
export async function findReceiver(
  rows: Kysely<Database>,
  id: string,
  lock: RawBuilder<unknown> = sql``,
): Promise<Receiver | null> {
  const webhooks = rows.selectFrom('webhooks').select(WEBHOOK_COLUMNS).where('id', '=', id);
  const webhook = await webhooks.modifyEnd(lock).executeTakeFirst();
  if (webhook !== undefined) return { kind: 'webhook', ...webhook };
  const subscriptions = rows.selectFrom('subscriptions').select(SUBSCRIPTION_COLUMNS).where('id', '=', id);
  const subscription = await subscriptions.modifyEnd(lock).executeTakeFirst();
  return subscription === undefined ? null : { kind: 'subscription', ...subscription, ...NO_WEBHOOK };
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
  } else
    await rows
      .updateTable('webhooks')
      .set((eb) => ({
        ...changes,
        status,
        inactive_since: isActive ? null : eb.fn.coalesce('inactive_since', eb.val(instant(Date.now()))),
      }))
      .where('id', '=', id)
      .execute();
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

/** Writes the failures in a row of a receiver, and counts an attempt of a webhook. */
export async function countAttempt(
  rows: Transaction<Database>,
  { kind, id }: Receiver,
  success: boolean,
  consecutive_failures: number,
): Promise<void> {
  if (kind === 'subscription') {
    await rows.updateTable('subscriptions').set({ consecutive_failures }).where('id', '=', id).execute();
    return;
  }
  const counter = success ? 'success_count' : 'failure_count';
  await rows
    .updateTable('webhooks')
    .set((eb) => ({ consecutive_failures, [counter]: eb(counter, '+', 1) }))
    .where('id', '=', id)
    .execute();
}

/** Sets the format of a webhook of the earlier variant. */
export async function setReceiverFormat(
  rows: Transaction<Database>,
  receiver_id: string,
  format: ReceiverFormat,
): Promise<void> {
  for (const table of ['webhooks', 'subscriptions'] as const)
    await rows.updateTable(table).set({ format }).where('id', '=', receiver_id).execute();
}
