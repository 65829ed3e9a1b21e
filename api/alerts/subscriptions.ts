import type { Kysely, Selectable, Transaction } from 'kysely';
import { newId } from '../../schemas/ids.ts';
import { instant } from '../../schemas/time.ts';
import { cursorPlace, rememberDeleted, type Walk } from '../records/cursors.ts';
import type { Writer } from '../records/database.ts';
import { forgetScores } from '../records/risk-scores.ts';
import type { Database } from '../records/schema.ts';
import { closeAlert, closeAllAlerts } from '../webhooks/close-alerts-without-event.ts';
import { deleteMessages, dropMessages } from '../webhooks/messages.ts';
import { recentAlerts } from './alerts.ts';

const LIST = 'alerts';

/** A circle around a point, and the address that gets the events of hail in it. `secret` is encrypted. */
export type Subscription = Selectable<Database['subscriptions']>;

/** Fields of a new subscription. `secret` is encrypted. */
export type NewSubscription = Pick<
  Subscription,
  'name' | 'lat' | 'lon' | 'radius_km' | 'min_size_mm' | 'webhook_url' | 'secret'
>;

/** Creates a subscription; null when the business is at its limit. */
export async function createSubscription(
  { rows, business_id, now_ms }: Writer,
  wanted: NewSubscription,
  limit: number,
): Promise<Subscription | null> {
  if ((await countSubscriptions(rows, business_id)) >= limit) return null;
  const at = instant(now_ms);
  const row: Subscription = {
    id: newId('subscription', now_ms),
    business_id,
    ...wanted,
    status: 'active',
    format: 'current',
    version: 1,
    trigger_count: 0,
    last_triggered_at: null,
    consecutive_failures: 0,
    warned_at: null,
    give_up_mailed_at: null,
    created_at: at,
    updated_at: at,
  };
  await rows.insertInto('subscriptions').values(row).execute();
  return row;
}

/** How many subscriptions a business has. */
export async function countSubscriptions(rows: Kysely<Database>, business_id: string): Promise<number> {
  const { count } = await rows
    .selectFrom('subscriptions')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('business_id', '=', business_id)
    .executeTakeFirstOrThrow();
  return count;
}

/** A subscription of a business; null when it has none of that id. */
export async function findSubscription(
  rows: Kysely<Database>,
  business_id: string,
  id: string,
): Promise<Subscription | null> {
  const found = await rows
    .selectFrom('subscriptions')
    .selectAll()
    .where('id', '=', id)
    .where('business_id', '=', business_id)
    .executeTakeFirst();
  return found ?? null;
}

/** A page of the list begins after this subscription. */
export interface SubscriptionPlace {
  readonly created_at: string;
  readonly id: string;
}

/** Subscriptions oldest first, after a place; at most `limit`. */
export async function listSubscriptions(
  rows: Kysely<Database>,
  business_id: string,
  after: SubscriptionPlace | null,
  limit: number,
): Promise<readonly Subscription[]> {
  return await rows
    .selectFrom('subscriptions')
    .selectAll()
    .where('business_id', '=', business_id)
    .$if(after !== null, (query) =>
      query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple('created_at', 'id'), '>', tuple(after?.created_at ?? '', after?.id ?? '')),
      ),
    )
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Place in the list of the subscription that a cursor names, also of one deleted within the last day; null: unknown. */
export async function subscriptionCursor(
  rows: Kysely<Database>,
  walk: Omit<Walk, 'list'>,
  cursor: string,
  now_ms: number,
): Promise<SubscriptionPlace | null> {
  const created_at =
    (await findSubscription(rows, walk.business_id, cursor))?.created_at ??
    (await cursorPlace(rows, { ...walk, list: LIST }, cursor, now_ms));
  return created_at === null ? null : { created_at, id: cursor };
}

/** Fields to change; undefined ones stay. */
export interface SubscriptionChange {
  readonly name?: string | undefined;
  readonly radius_km?: number | undefined;
  readonly min_size_mm?: number | undefined;
  readonly webhook_url?: string | undefined;
  readonly status?: Subscription['status'] | undefined;
}

/**
 * Changes a subscription and returns it; null when the business has none of that id. An open alert that the changed subscription
 * would not raise is closed without an event. Pausing drops the messages that are not sent yet; resuming resets the count of
 * failures.
 */
export async function updateSubscription(
  writer: Writer,
  id: string,
  { name, radius_km, min_size_mm, webhook_url, status }: SubscriptionChange,
): Promise<Subscription | null> {
  const { rows, business_id, now_ms } = writer;
  const before = await findSubscription(rows, business_id, id);
  if (before === null) return null;
  const wanted = {
    name: name ?? before.name,
    radius_km: radius_km ?? before.radius_km,
    min_size_mm: min_size_mm ?? before.min_size_mm,
    webhook_url: webhook_url ?? before.webhook_url,
    status: status ?? before.status,
  };
  const same = (Object.keys(wanted) as (keyof typeof wanted)[]).every((key) => wanted[key] === before[key]);
  if (same) return before;
  const isResumed = before.status === 'paused' && wanted.status === 'active';
  const after = await rows
    .updateTable('subscriptions')
    .set((eb) => ({
      ...wanted,
      ...(isResumed ? { consecutive_failures: 0 } : {}),
      version: eb('version', '+', 1),
      updated_at: instant(now_ms),
    }))
    .where('id', '=', id)
    .where('business_id', '=', business_id)
    .returningAll()
    .executeTakeFirst();
  if (after === undefined) return null;
  if (after.status === 'paused') await closeAllAlerts(rows, id);
  else if (!(await stillRaises(rows, after))) await closeAlert(rows, id);
  if (after.status === 'paused') await dropMessages(rows, id);
  return after;
}

/** Deletes a subscription; false when the business has none of that id. Cursors that name it stay valid for a day. */
export async function deleteSubscription({ rows, business_id, now_ms }: Writer, id: string): Promise<boolean> {
  const found = await findSubscription(rows, business_id, id);
  if (found === null) return false;
  await rememberDeleted(rows, { business_id, list: LIST }, [{ id, sort_key: found.created_at }], now_ms);
  const { numDeletedRows } = await rows
    .deleteFrom('subscriptions')
    .where('id', '=', id)
    .where('business_id', '=', business_id)
    .executeTakeFirst();
  if (numDeletedRows === 0n) return false;
  await closeAllAlerts(rows, id);
  await deleteMessages(rows, id);
  await forgetScores(rows, [id]);
  return true;
}

/** False when the last alert is open, and the changed subscription would not raise it. */
async function stillRaises(
  rows: Transaction<Database>,
  { id, business_id, radius_km, min_size_mm }: Subscription,
): Promise<boolean> {
  const [last] = await recentAlerts(rows, business_id, id, 1);
  if (last === undefined || last.status !== 'open') return true;
  return last.distance_km <= radius_km && last.max_size_mm >= min_size_mm;
}
