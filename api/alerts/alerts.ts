import type { Kysely, Transaction } from 'kysely';
import { instant } from '../../schemas/time.ts';
import type { Store } from '../records/database.ts';
import type { Database } from '../records/schema.ts';
import { CLEAR_AFTER_MS } from '../rules/episodes.ts';
import type { Alert } from '../webhooks/formats.ts';

/** Every open alert, with the fields that decide which scans matter to it. */
export async function openAlerts(
  rows: Kysely<Database>,
): Promise<readonly Pick<Alert, 'location_id' | 'last_seen_at'>[]> {
  const alerts = rows.selectFrom('alerts').select(['location_id', 'last_seen_at']);
  return await alerts.where('open_location', 'is not', null).execute();
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

/** Locks the alerts of locations that a scan may belong to: open ones, and those that were resolved around it. */
export async function lockAlerts(
  rows: Transaction<Database>,
  { forUpdate }: Pick<Store, 'forUpdate'>,
  location_ids: readonly string[],
  scan_ms: number,
): Promise<ReadonlyMap<string, readonly Alert[]>> {
  const found = await rows
    .selectFrom('alerts')
    .selectAll()
    .where('location_id', 'in', location_ids)
    .where(({ or, and, eb }) =>
      or([
        eb('open_location', 'is not', null),
        and([eb('status', '=', 'resolved'), eb('resolved_at', '>', instant(scan_ms - CLEAR_AFTER_MS))]),
      ]),
    )
    .orderBy('id')
    .modifyEnd(forUpdate)
    .execute();
  return Map.groupBy(found, ({ location_id }) => location_id);
}

export async function changeAlert(rows: Transaction<Database>, id: string, change: Partial<Alert>): Promise<void> {
  await rows.updateTable('alerts').set(change).where('id', '=', id).execute();
}

/** Ids of the matched scans from `first` on. */
export async function matchedScans(rows: Kysely<Database>, first: string): Promise<ReadonlySet<string>> {
  const found = await rows.selectFrom('matched_scans').select('scan_id').where('scan_id', '>=', first).execute();
  return new Set(found.map(({ scan_id }) => scan_id));
}

/**
 * Marks a scan as matched, and deletes the marks of scans before `forget_before`. False when another process has: where that is in a
 * transaction that has not ended, this waits for its end.
 */
export async function markMatched(
  rows: Transaction<Database>,
  scan_id: string,
  now_ms: number,
  forget_before: string,
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await rows
    .insertInto('matched_scans')
    .values({ scan_id, at: instant(now_ms) })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (numInsertedOrUpdatedRows === 0n) return false;
  await rows.deleteFrom('matched_scans').where('scan_id', '<', forget_before).execute();
  return true;
}
