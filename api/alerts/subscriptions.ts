import type { Kysely, Selectable } from 'kysely';
import { newId } from '../../schemas/ids.ts';
import { instant } from '../../schemas/time.ts';
import type { Writer } from '../records/database.ts';
import { countOwn, deleteOwn, forgetScores, type OwnList, ownRow, rememberDeleted } from '../records/own-rows.ts';
import type { Database } from '../records/schema.ts';
import { deleteMessages } from '../webhooks/messages.ts';
import { closeAlerts, setReceiverStatus } from '../webhooks/receivers.ts';

/** Subscriptions of a business, oldest first. */
export const SUBSCRIPTIONS: OwnList<'subscriptions'> = {
  list: 'alerts',
  table: 'subscriptions',
  sorted_by: 'created_at',
  order: 'asc',
};

/** A circle around a point, and the address that gets the events of hail in it. `secret` is encrypted. */
export type Subscription = Selectable<Database['subscriptions']>;

/** Creates a subscription; null when the business is at its limit. */
export async function createSubscription(
  { rows, business_id, now_ms }: Writer,
  wanted: Pick<Subscription, 'name' | 'lat' | 'lon' | 'radius_km' | 'min_size_mm' | 'webhook_url' | 'secret'>,
  limit: number,
): Promise<Subscription | null> {
  if ((await countOwn(rows, 'subscriptions', { business_id })) >= limit) return null;
  const at = instant(now_ms);
  const row: Subscription = {
    id: newId('subscription', now_ms),
    business_id,
    ...wanted,
    ...{ status: 'active', format: 'current', version: 1, trigger_count: 0, last_triggered_at: null },
    ...{ consecutive_failures: 0, warned_at: null, give_up_mailed_at: null, created_at: at, updated_at: at },
  };
  await rows.insertInto('subscriptions').values(row).execute();
  return row;
}

/** Fields to change; undefined ones stay. */
type SubscriptionChange = {
  readonly [Field in 'name' | 'radius_km' | 'min_size_mm' | 'webhook_url' | 'status']?: Subscription[Field] | undefined;
};

/**
 * Changes a subscription and returns it; null when the business has none of that id. An open alert that the changed subscription
 * would not raise is closed without an event. Pausing drops the messages that are not sent yet; resuming resets the count of
 * failures.
 */
export async function updateSubscription(
  { rows, business_id, now_ms }: Writer,
  id: string,
  change: SubscriptionChange,
): Promise<Subscription | null> {
  const before = await ownRow(rows, 'subscriptions', { business_id, id });
  if (before === null) return null;
  const isNew = ([field, value]: [string, unknown]) => value !== undefined && value !== before[field as 'name'];
  const wanted: SubscriptionChange = Object.fromEntries(Object.entries(change).filter(isNew));
  if (Object.keys(wanted).length === 0) return before;
  const after = await rows
    .updateTable('subscriptions')
    .set((eb) => ({
      ...wanted,
      ...(wanted.status === 'active' ? { consecutive_failures: 0 } : {}),
      version: eb('version', '+', 1),
      updated_at: instant(now_ms),
    }))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
  if (after.status !== 'active') await setReceiverStatus(rows, { kind: 'subscription', id }, after.status, now_ms);
  else
    await rows
      .updateTable('alerts')
      .set({ status: 'closed', open_location: null })
      .where('open_location', '=', id)
      .where(({ or, eb }) => or([eb('distance_km', '>', after.radius_km), eb('max_size_mm', '<', after.min_size_mm)]))
      .execute();
  return after;
}

/** Deletes a subscription; false when the business has none of that id. Cursors that name it stay valid for a day. */
export async function deleteSubscription(writer: Writer, id: string): Promise<boolean> {
  const { rows } = writer;
  const deleted = await deleteOwn(writer, 'subscriptions', id);
  if (deleted === null) return false;
  await rememberDeleted(writer, SUBSCRIPTIONS, [{ id, sort_key: deleted.created_at }]);
  await closeAlerts(rows, id);
  await deleteMessages(rows, id);
  await forgetScores(rows, [id]);
  return true;
}

/** The last alerts of a subscription or area, newest first. */
export async function recentAlerts(rows: Kysely<Database>, business_id: string, location_id: string, limit: number) {
  return await rows
    .selectFrom('alerts')
    .selectAll()
    .where('location_id', '=', location_id)
    .where('business_id', '=', business_id)
    .orderBy('triggered_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}
