import type { Kysely, Transaction } from 'kysely';
import type { Database } from './schema.ts';

/** Reads that see one state of the records, whatever is committed meanwhile. */
export async function snapshot<Result>(
  reader: Kysely<Database>,
  read: (rows: Transaction<Database>) => Promise<Result>,
): Promise<Result> {
  return await reader.transaction().setIsolationLevel('repeatable read').execute(read);
}
