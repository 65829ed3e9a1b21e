import type { Transaction } from 'kysely';
import type { Database } from '../records/schema.ts';
import { anyHailOf } from '../rules/any-hail.ts';

/** Closes the open alert of a subscription or area, without an event. */
export async function closeAlert(rows: Transaction<Database>, location_id: string): Promise<void> {
  await closeOpen(rows, [location_id]);
}

/** Closes every open alert of a subscription that is paused or deleted, without an event. */
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
