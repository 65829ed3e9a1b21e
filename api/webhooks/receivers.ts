import { type Kysely, type RawBuilder, type Selectable, sql, type Transaction } from 'kysely';
import { instant } from '../../schemas/time.ts';
import type { Database, ReceiverFormat } from '../records/schema.ts';
import type { Secrets } from '../records/secrets.ts';
import { setWebhookStatus } from './endpoints.ts';
import { secretsInForce } from './signing-secrets.ts';

/** A destination of events: a webhook of a business, or a subscription with an address of its own. */
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

/** A receiver with the decrypted secrets that sign its messages, newest first. */
export interface SigningReceiver extends Receiver {
  readonly secrets: readonly string[];
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
const NO_LOCK = sql``;

/** Receivers of a business: webhooks, then subscriptions, oldest first. */
export async function listReceivers(
  rows: Kysely<Database>,
  business_id: string,
): Promise<readonly (Receiver & { readonly inactive_since: string | null })[]> {
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

/** A receiver by its id, with the secrets that sign at an instant of the machine's clock; null when there is none. */
export async function findReceiver(
  rows: Kysely<Database>,
  secrets: Secrets,
  id: string,
  machine_ms: number,
): Promise<SigningReceiver | null> {
  const found = await selectReceiver(rows, id, NO_LOCK);
  return found === null ? null : { ...found.receiver, secrets: secretsInForce(found, secrets, machine_ms) };
}

/** A receiver by its id, locked until the transaction ends; null when there is none. */
export async function lockReceiver(
  rows: Transaction<Database>,
  { forUpdate }: { readonly forUpdate: RawBuilder<unknown> },
  id: string,
): Promise<Receiver | null> {
  return (await selectReceiver(rows, id, forUpdate))?.receiver ?? null;
}

async function selectReceiver(rows: Kysely<Database>, id: string, lock: RawBuilder<unknown>) {
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

/** Sets a receiver whose row the transaction holds to active; its failures are counted from 0. */
export async function enableReceiver(
  rows: Transaction<Database>,
  { kind, id }: Receiver,
  now_ms: number,
): Promise<void> {
  if (kind === 'webhook') await setWebhookStatus(rows, id, 'active');
  else
    await rows
      .updateTable('subscriptions')
      .set({ status: 'active', consecutive_failures: 0, updated_at: instant(now_ms) })
      .where('id', '=', id)
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
