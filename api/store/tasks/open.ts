import type { Store } from '../database.ts';
import { bossTaskStore } from './boss.ts';
import type { Queue } from './queue.ts';
import { tableTaskStore } from './table.ts';
import type { TaskStore } from './task-store.ts';
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
  const taskStore = await openTaskStore({ store, database_url, names, ...reports });
  await taskStore.endLeasesOfDead();
  return queueOver(taskStore, reports);
}

async function openTaskStore({ store, database_url, names, ...reports }: QueueOptions): Promise<TaskStore> {
  if (database_url === null) return tableTaskStore(store);
  const troubled = (error: unknown) => reports.troubled('pg-boss', error);
  const taskStore = await bossTaskStore({ store, database_url, names, troubled });
  await moveTasks(store, taskStore);
  return taskStore;
}

/** Tasks that a backup of a SQLite file brought with it. */
async function moveTasks({ writer }: Store, taskStore: TaskStore): Promise<void> {
  await writer.transaction().execute(async (rows) => {
    const tasks = await rows.deleteFrom('tasks').returningAll().execute();
    const moved = tasks.map(({ name, task_group: group, tenant, retry, due_ms, payload }) => ({
      ...{ name, group, due_ms, payload: JSON.parse(payload) },
      ...(tenant === '' ? {} : { tenant }),
      ...(retry === 1 ? { retry: true as const } : {}),
    }));
    await taskStore.add(rows, ...moved);
  });
}
