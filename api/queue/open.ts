import type { Store } from '../records/database.ts';
import { bossShelf } from './boss.ts';
import type { Queue } from './queue.ts';
import { tableShelf } from './table.ts';
import { type QueueReports, queueOver } from './work.ts';

export interface QueueOptions extends QueueReports {
  /** Of the records, in whose transactions tasks are added. */
  readonly store: Store;
  /** Address of the PostgreSQL of the records; null: they are a SQLite file. */
  readonly database_url: string | null;
  /** Every name that tasks are added under. */
  readonly names: readonly string[];
}

/** Opens the queue beside the records: rows of theirs on SQLite, pg-boss on PostgreSQL. Throws RecordsUnavailable. */
export async function openQueue({ store, database_url, names, ...reports }: QueueOptions): Promise<Queue> {
  if (database_url === null) return queueOver(tableShelf(store), reports);
  const troubled = (error: unknown) => reports.troubled('pg-boss', error);
  return queueOver(await bossShelf({ store, database_url, names, troubled }), reports);
}
