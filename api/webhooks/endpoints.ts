import type { Kysely, Selectable, Transaction } from 'kysely';
import { newId } from '../../schemas/ids.ts';
import { instant } from '../../schemas/time.ts';
import type { AnyEventType } from '../../schemas/webhook-events.ts';
import type { Writer } from '../records/database.ts';
import type { Database } from '../records/schema.ts';
import type { Secrets } from '../records/secrets.ts';
import { deleteMessages, dropMessages } from './messages.ts';
import { newSecret } from './signing-secrets.ts';

type Row = Selectable<Database['webhooks']>;

/** A webhook: an address of a business for its events. Its secret is encrypted. */
export interface Webhook extends Omit<Row, 'events'> {
  readonly events: readonly AnyEventType[];
}

/** Inserts a webhook with a new secret; null when the business has reached its limit of webhooks. */
export async function insertWebhook(
  { rows, business_id, now_ms }: Writer,
  secrets: Secrets,
  { url, events }: Pick<Webhook, 'url' | 'events'>,
  limit: number,
): Promise<{ readonly webhook: Webhook; readonly secret: string } | null> {
  if ((await countWebhooks(rows, business_id)) >= limit) return null;
  const at = instant(now_ms);
  const secret = newSecret();
  const row: Row = {
    id: newId('webhook', now_ms),
    business_id,
    url,
    secret: secrets.encrypt(secret),
    old_secret: null,
    old_secret_until: null,
    events: JSON.stringify(events),
    status: 'active',
    format: 'current',
    inactive_since: null,
    success_count: 0,
    failure_count: 0,
    consecutive_failures: 0,
    warned_at: null,
    give_up_mailed_at: null,
    created_at: at,
    updated_at: at,
  };
  await rows.insertInto('webhooks').values(row).execute();
  return { webhook: webhookOf(row), secret };
}

/** Webhooks of a business, oldest first. */
export async function selectWebhooks(rows: Kysely<Database>, business_id: string): Promise<readonly Webhook[]> {
  const found = await rows
    .selectFrom('webhooks')
    .selectAll()
    .where('business_id', '=', business_id)
    .orderBy('id')
    .execute();
  return found.map(webhookOf);
}

/** A webhook of a business; null when the business has no webhook of that id. */
export async function findWebhook(rows: Kysely<Database>, business_id: string, id: string): Promise<Webhook | null> {
  const found = await rows
    .selectFrom('webhooks')
    .selectAll()
    .where('id', '=', id)
    .where('business_id', '=', business_id)
    .executeTakeFirst();
  return found === undefined ? null : webhookOf(found);
}

export interface WebhookChange {
  readonly url?: string | undefined;
  readonly events?: readonly AnyEventType[] | undefined;
  readonly status?: Webhook['status'] | undefined;
}

/** Updates the given fields of a webhook; false when the business has no webhook of that id. */
export async function changeWebhook(
  { rows, business_id, now_ms }: Writer,
  id: string,
  { url, events, status }: WebhookChange,
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
  if (status !== undefined) await setWebhookStatus(rows, id, status);
  return true;
}

/**
 * Sets the status of a webhook whose row the transaction holds. Active: its failures in a row are counted from 0. Any other
 * status: its unfinished messages are dropped.
 */
export async function setWebhookStatus(
  rows: Transaction<Database>,
  id: string,
  status: Webhook['status'],
): Promise<void> {
  if (status === 'active') {
    await rows
      .updateTable('webhooks')
      .set({ status, inactive_since: null, consecutive_failures: 0 })
      .where('id', '=', id)
      .execute();
    return;
  }
  await rows
    .updateTable('webhooks')
    .set((eb) => ({ status, inactive_since: eb.fn.coalesce('inactive_since', eb.val(instant(Date.now()))) }))
    .where('id', '=', id)
    .execute();
  await dropMessages(rows, id);
}

/** Deletes a webhook, its messages and its attempts; false when the business has no webhook of that id. */
export async function removeWebhook({ rows, business_id }: Writer, id: string): Promise<boolean> {
  const { numDeletedRows } = await rows
    .deleteFrom('webhooks')
    .where('id', '=', id)
    .where('business_id', '=', business_id)
    .executeTakeFirst();
  if (numDeletedRows === 0n) return false;
  await deleteMessages(rows, id);
  return true;
}

async function countWebhooks(rows: Kysely<Database>, business_id: string): Promise<number> {
  const { count } = await rows
    .selectFrom('webhooks')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('business_id', '=', business_id)
    .executeTakeFirstOrThrow();
  return count;
}

function webhookOf(row: Row): Webhook {
  return { ...row, events: JSON.parse(row.events) as AnyEventType[] };
}
