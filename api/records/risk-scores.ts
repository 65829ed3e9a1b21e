import type { Transaction } from 'kysely';
import type { Database } from './schema.ts';

/** Deletes the stored risk scores of places that were moved or deleted: the next score of a moved place is its first. */
export async function forgetScores(rows: Transaction<Database>, location_ids: readonly string[]): Promise<void> {
  await rows.deleteFrom('risk_scores').where('location_id', 'in', location_ids).execute();
}
