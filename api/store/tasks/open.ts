import type { Store } from '../database.ts';
import { bossShelf } from './boss.ts';
import type { Queue } from './queue.ts';
import type { Shelf } from './task-store.ts';
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
  const shelf = await openShelf({ store, database_url, names, ...reports });
  await shelf.endLeasesOfDead();
  return queueOver(shelf, reports);
}

async function openShelf({ store, database_url, names, ...reports }: QueueOptions): Promise<Shelf> {
  if (database_url === null) return tableShelf(store);
  const troubled = (error: unknown) => reports.troubled('pg-boss', error);
  const shelf = await bossShelf({ store, database_url, names, troubled });
  await moveTasks(store, shelf);
  return shelf;
}

/** Tasks that a backup of a SQLite file brought with it. */
async function moveTasks({ writer }: Store, shelf: Shelf): Promise<void> {
  await writer.transaction().execute(async (rows) => {
    const tasks = await rows.deleteFrom('tasks').returningAll().execute();
    const moved = tasks.map(({ name, task_group: group, tenant, retry, due_ms, payload }) => ({
      ...{ name, group, due_ms, payload: JSON.parse(payload) },
      ...(tenant === '' ? {} : { tenant }),
      ...(retry === 1 ? { retry: true as const } : {}),
    }));
    await shelf.add(rows, ...moved);
  });
}
