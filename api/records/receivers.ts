import { type Kysely, type RawBuilder, type Selectable, sql, type Transaction } from 'kysely';
import type { Secrets } from './secrets.ts';
import type { Database } from './tables.ts';

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
}

/** A receiver with what its deliveries are signed with: one secret, or two while one is being replaced. */
export interface SigningReceiver extends Receiver {
  readonly secrets: readonly string[];
}

/** A receiver as operators see it. */
export interface ListedReceiver extends Receiver {
  readonly inactive_since: string | null;
}

const COLUMNS = ['id', 'business_id', 'status', 'consecutive_failures', 'warned_at', 'give_up_mailed_at'] as const;
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
  { decrypt }: Secrets,
  id: string,
  machine_ms: number,
): Promise<SigningReceiver | null> {
  const found = await rowOf(rows, id, ANY);
  if (found === null) return null;
  const { receiver, secret, old_secret, old_secret_until } = found;
  const isOldInForce = old_secret_until !== null && Date.parse(old_secret_until) > machine_ms;
  const stored = old_secret !== null && isOldInForce ? [secret, old_secret] : [secret];
  return { ...receiver, secrets: stored.map(decrypt) };
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

/** Every secret that is stored, still encrypted. */
export async function storedSecrets(rows: Kysely<Database>): Promise<readonly string[]> {
  const webhooks = await rows.selectFrom('webhooks').select(['secret', 'old_secret']).execute();
  const subscriptions = await rows.selectFrom('subscriptions').select('secret').execute();
  return [...webhooks, ...subscriptions.map(({ secret }) => ({ secret, old_secret: null }))].flatMap(
    ({ secret, old_secret }) => (old_secret === null ? [secret] : [secret, old_secret]),
  );
}
