import { type Kysely, type RawBuilder, type Selectable, sql, type Transaction } from 'kysely';
import type { Database, ReceiverFormat } from '../store/schema.ts';
import type { Secrets } from '../store/secrets.ts';
import { oldSecretsInForce, readOldSecrets } from './old-secrets.ts';

/** Who is sent events: a webhook of a business, or a subscription with an address of its own. */
export interface Receiver {
  readonly kind: 'webhook' | 'subscription';
  readonly id: string;
  readonly business_id: string;
  readonly url: string;
  readonly status: Selectable<Database['webhooks']>['status'];
  readonly consecutive_failures: number;
  readonly warned_at: string | null;
  readonly give_up_mailed_at: string | null;
  readonly format: ReceiverFormat;
}

/** A receiver with the secrets that its deliveries are signed with: the newest, and those before whose grace lasts. */
export interface SigningReceiver extends Receiver {
  readonly secrets: readonly string[];
}

/** A receiver as operators see it. */
export interface ListedReceiver extends Receiver {
  readonly inactive_since: string | null;
}

const COLUMNS = [
  'id',
  'business_id',
  'status',
  'consecutive_failures',
  'warned_at',
  'give_up_mailed_at',
  'format',
] as const;
const ANY = sql``;

/** Receivers of a business: webhooks, then subscriptions, oldest first. */
export async function listReceivers(rows: Kysely<Database>, business_id: string): Promise<readonly ListedReceiver[]> {
  const webhooks = await rows
    .selectFrom('webhooks')
    .select([...COLUMNS, 'url', 'inactive_since'])
    .where('business_id', '=', business_id)
    .orderBy('id')
    .execute();
  const subscriptions = await rows
    .selectFrom('subscriptions')
    .select([...COLUMNS, 'webhook_url as url'])
    .where('business_id', '=', business_id)
    .orderBy('id')
    .execute();
  return [
    ...webhooks.map((each) => ({ kind: 'webhook' as const, ...each })),
    ...subscriptions.map((each) => ({ kind: 'subscription' as const, ...each, inactive_since: null })),
  ];
}

/** The receiver of an id; null when there is none. `machine_ms`: which of its secrets are in force. */
export async function findReceiver(
  rows: Kysely<Database>,
  secrets: Secrets,
  id: string,
  machine_ms: number,
): Promise<SigningReceiver | null> {
  const found = await rowOf(rows, id, ANY);
  if (found === null) return null;
  const { receiver, secret, ...columns } = found;
  const old = oldSecretsInForce(columns, secrets, machine_ms);
  return { ...receiver, secrets: [secrets.decrypt(secret), ...old.map((each) => each.secret)] };
}

/** The same without its secrets. */
export async function namedReceiver(rows: Kysely<Database>, id: string): Promise<Receiver | null> {
  return (await rowOf(rows, id, ANY))?.receiver ?? null;
}

/** The same, held until the transaction ends. */
export async function lockReceiver(
  rows: Transaction<Database>,
  { forUpdate }: { readonly forUpdate: RawBuilder<unknown> },
  id: string,
): Promise<Receiver | null> {
  return (await rowOf(rows, id, forUpdate))?.receiver ?? null;
}

async function rowOf(rows: Kysely<Database>, id: string, lock: RawBuilder<unknown>) {
  const webhook = await rows
    .selectFrom('webhooks')
    .select([...COLUMNS, 'url', 'secret', 'old_secret', 'old_secret_until'])
    .where('id', '=', id)
    .modifyEnd(lock)
    .executeTakeFirst();
  if (webhook !== undefined) {
    const { secret, old_secret, old_secret_until, ...receiver } = webhook;
    return { receiver: { kind: 'webhook', ...receiver } as const, secret, old_secret, old_secret_until };
  }
  const subscription = await rows
    .selectFrom('subscriptions')
    .select([...COLUMNS, 'webhook_url as url', 'secret'])
    .where('id', '=', id)
    .modifyEnd(lock)
    .executeTakeFirst();
  if (subscription === undefined) return null;
  const { secret, ...receiver } = subscription;
  return { receiver: { kind: 'subscription', ...receiver } as const, secret, old_secret: null, old_secret_until: null };
}

/** Every secret that is stored, decrypted. */
export async function storedSecrets(rows: Kysely<Database>, secrets: Secrets): Promise<readonly string[]> {
  const webhooks = await rows.selectFrom('webhooks').select(['secret', 'old_secret', 'old_secret_until']).execute();
  const subscriptions = await rows.selectFrom('subscriptions').select('secret').execute();
  const newest = [...webhooks, ...subscriptions].map(({ secret }) => secrets.decrypt(secret));
  return [...newest, ...webhooks.flatMap((row) => readOldSecrets(row, secrets).map(({ secret }) => secret))];
}
