import { randomBytes } from 'node:crypto';
import type { Kysely, Selectable, Transaction } from 'kysely';
import { newId } from '../../schemas/ids.ts';
import type { AnyEventType } from '../../schemas/webhook-events.ts';
import { unmarkEarlierReceiver } from '../legacy/receivers.ts';
import type { Writer } from '../store/database.ts';
import { instant } from '../store/instant.ts';
import type { Database } from '../store/schema.ts';
import type { Secrets } from '../store/secrets.ts';
import { deleteMessages, dropMessages } from './messages.ts';
import { oldSecretColumns, oldSecretsInForce } from './old-secrets.ts';

type Row = Selectable<Database['webhooks']>;

/** An address that a business gives for its events; its secret stays encrypted. */
export interface Webhook extends Omit<Row, 'events'> {
  readonly events: readonly AnyEventType[];
}

const SECRET_BYTES = 32;
const SECRET_PREFIX = 'whsec_';
const SHOWN_CHARACTERS = 4;

/** A new secret to sign with: shown once, to whoever makes the receiver. */
export function newSecret(): string {
  return `${SECRET_PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/** A secret as it is shown later. */
export function maskedSecret(secret: string): string {
  return `${SECRET_PREFIX}****${secret.slice(-SHOWN_CHARACTERS)}`;
}

/** Makes a webhook and its secret; null when the business has as many as it may have. */
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

/** A webhook of a business; null when it has none of that id. */
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

/** Changes a webhook; false when the business has none of that id. */
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
 * Sets the status of a webhook whose row the transaction holds. An active one begins to count failures anew; what was still
 * to be sent to one that is not is given up.
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

/** Secrets of a webhook that sign at a time: the newest, and those before whose grace lasts. */
export const SECRETS_MAX = 3;

/** A new secret, and until when the earlier ones still sign, the one that it replaces first. */
export interface RotatedSecret {
  readonly secret: string;
  readonly old_until: readonly string[];
}

/**
 * Makes a new secret for a webhook whose row the transaction holds. Earlier ones still sign until their grace is over; with a
 * grace of 0 none does any more. When too many would sign, nothing is changed, and `until` says when the first of them ends.
 */
export async function rotateSecret(
  rows: Transaction<Database>,
  secrets: Secrets,
  id: string,
  grace_ms: number,
): Promise<RotatedSecret | { readonly until: string }> {
  const row = await rows
    .selectFrom('webhooks')
    .select(['secret', 'old_secret', 'old_secret_until'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  const now_ms = Date.now();
  const replaced = { secret: secrets.decrypt(row.secret), until: instant(now_ms + grace_ms) };
  const old = grace_ms === 0 ? [] : [replaced, ...oldSecretsInForce(row, secrets, now_ms)];
  const old_until = old.map(({ until }) => until);
  const [first] = old_until.slice(1).toSorted();
  if (old.length >= SECRETS_MAX && first !== undefined) return { until: first };
  const secret = newSecret();
  await rows
    .updateTable('webhooks')
    .set({ secret: secrets.encrypt(secret), ...oldSecretColumns(old, secrets) })
    .where('id', '=', id)
    .execute();
  return { secret, old_until };
}

/** Deletes a webhook with its events and deliveries; false when the business has none of that id. */
export async function removeWebhook({ rows, business_id }: Writer, id: string): Promise<boolean> {
  const { numDeletedRows } = await rows
    .deleteFrom('webhooks')
    .where('id', '=', id)
    .where('business_id', '=', business_id)
    .executeTakeFirst();
  if (numDeletedRows === 0n) return false;
  await deleteMessages(rows, id);
  await unmarkEarlierReceiver(rows, id);
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
