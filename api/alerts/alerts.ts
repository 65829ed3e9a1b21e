import type { Kysely, Selectable, Transaction } from 'kysely';
import { anyHailOf } from '../legacy/any-hail.ts';
import { instant } from '../store/instant.ts';
import type { Database } from '../store/schema.ts';

export type Alert = Selectable<Database['alerts']>;

/** An open alert, as far as it decides which scans concern it. */
export type OpenAlert = Pick<Alert, 'location_id' | 'last_seen_at'>;

/** Every open alert. */
export async function openAlerts(rows: Kysely<Database>): Promise<readonly OpenAlert[]> {
  return await rows
    .selectFrom('alerts')
    .select(['location_id', 'last_seen_at'])
    .where('open_location', 'is not', null)
    .execute();
}

/** The last alerts of a subscription or area, newest first. */
export async function recentAlerts(
  rows: Kysely<Database>,
  business_id: string,
  location_id: string,
  limit: number,
): Promise<readonly Alert[]> {
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

/** Closes the open alert of a subscription or area that no longer asks for it: nobody is told. */
export async function closeAlert(rows: Transaction<Database>, location_id: string): Promise<void> {
  await closeOpen(rows, [location_id]);
}

/** Closes everything that is open for a subscription, which asks for nothing any more. */
export async function closeAllAlerts(rows: Transaction<Database>, subscription_id: string): Promise<void> {
  await closeOpen(rows, [subscription_id, anyHailOf(subscription_id)]);
}

async function closeOpen(rows: Transaction<Database>, location_ids: readonly string[]): Promise<void> {
  await rows
    .updateTable('alerts')
    .set({ status: 'closed', open_location: null })
    .where('open_location', 'in', location_ids)
    .execute();
}

/** True when a scan was matched: its alerts are raised, by whichever process. */
export async function isMatched(rows: Kysely<Database>, scan_id: string): Promise<boolean> {
  const found = rows.selectFrom('matched_scans').select('scan_id').where('scan_id', '=', scan_id);
  return (await found.executeTakeFirst()) !== undefined;
}

/** Names of the scans from one of them on that were matched. */
export async function matchedScans(rows: Kysely<Database>, first: string): Promise<ReadonlySet<string>> {
  const found = await rows.selectFrom('matched_scans').select('scan_id').where('scan_id', '>=', first).execute();
  return new Set(found.map(({ scan_id }) => scan_id));
}

/** Notes that a scan was matched, and forgets those before another one. */
export async function noteMatched(
  rows: Transaction<Database>,
  scan_id: string,
  now_ms: number,
  forget_before: string,
): Promise<void> {
  await rows
    .insertInto('matched_scans')
    .values({ scan_id, at: instant(now_ms) })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await rows.deleteFrom('matched_scans').where('scan_id', '<', forget_before).execute();
}
