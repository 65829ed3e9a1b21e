import type { Kysely, Selectable } from 'kysely';
import { newId } from '../../schemas/ids.ts';
import { instant } from '../../schemas/time.ts';
import type { AnyEventType } from '../../schemas/webhook-events.ts';
import type { Writer } from '../records/database.ts';
import { countOwn, deleteOwn, ownRow } from '../records/own-rows.ts';
import type { Database } from '../records/schema.ts';
import type { Secrets } from '../records/secrets.ts';
import { deleteMessages } from './messages.ts';
import { setReceiverStatus } from './receivers.ts';
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
  if ((await countOwn(rows, 'webhooks', { business_id })) >= limit) return null;
  const at = instant(now_ms);
  const secret = newSecret();
  const row: Row = {
    ...{ id: newId('webhook', now_ms), business_id, url, events: JSON.stringify(events) },
    ...{ secret: secrets.encrypt(secret), old_secret: null, old_secret_until: null },
    ...{ status: 'active', format: 'current', inactive_since: null },
    ...{ success_count: 0, failure_count: 0, consecutive_failures: 0 },
    ...{ warned_at: null, give_up_mailed_at: null, created_at: at, updated_at: at },
  };
  await rows.insertInto('webhooks').values(row).execute();
  return { webhook: webhookOf(row), secret };
}

/** Webhooks of a business, oldest first. */
export async function selectWebhooks(rows: Kysely<Database>, business_id: string): Promise<readonly Webhook[]> {
  const found = rows.selectFrom('webhooks').selectAll().where('business_id', '=', business_id);
  return (await found.orderBy('id').execute()).map(webhookOf);
}

/** A webhook of a business; null when the business has no webhook of that id. */
export async function findWebhook(rows: Kysely<Database>, business_id: string, id: string): Promise<Webhook | null> {
  const found = await ownRow(rows, 'webhooks', { business_id, id });
  return found === null ? null : webhookOf(found);
}

/** Fields to change; undefined ones stay. */
type WebhookChange = { readonly [Field in 'url' | 'events' | 'status']?: Webhook[Field] | undefined };

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
  if (status !== undefined) await setReceiverStatus(rows, { kind: 'webhook', id }, status, now_ms);
  return true;
}

/** Deletes a webhook, its messages and its attempts; false when the business has no webhook of that id. */
export async function removeWebhook(writer: Writer, id: string): Promise<boolean> {
  if ((await deleteOwn(writer, 'webhooks', id)) === null) return false;
  await deleteMessages(writer.rows, id);
  return true;
}

function webhookOf(row: Row): Webhook {
  return { ...row, events: JSON.parse(row.events) as AnyEventType[] };
}
