import { CompiledQuery } from 'kysely';
import { type Db, fromKysely, type JobInsert, PgBoss } from 'pg-boss';
import type { Store } from '../records/database.ts';
import { RecordsUnavailable } from '../records/failures.ts';
import type { NewTask } from './queue.ts';
import type { Held, Room, Shelf } from './shelf.ts';

/** pg-boss ends no lease by itself: it would not know ours, and knows none that is longer. */
const LONGEST_LEASE_S = 24 * 3_600;
/** A task that nobody takes waits for a year. */
const KEPT_S = 365 * 24 * 3_600;
/** It is taken again until its handler has done it. */
const RETRIES = 2 ** 31 - 1;
/** Tasks of one statement: far from the time that one may take. */
const INSERTED_AT_ONCE = 500;
/** How often leases are looked at that are over. */
const LOOK_EVERY_MS = 250;
/** Jobs are taken by descending priority: the seconds from here on, negative, put the longest due first. */
const PRIORITY_FROM_MS = Date.UTC(2026, 0, 1);

export interface BossOptions {
  readonly store: Store;
  readonly database_url: string;
  /** Every name that tasks are added under. */
  readonly names: readonly string[];
  /** Called with failures of housekeeping, which is tried again. */
  readonly troubled: (error: unknown) => void;
}

/**
 * Tasks as jobs of pg-boss on the PostgreSQL of the records, in a schema of its own beside theirs. Leases are times of the
 * server. Makes the schema, or migrates it. Throws RecordsUnavailable.
 */
export async function bossShelf({ store, database_url, names, troubled }: BossOptions): Promise<Shelf> {
  const db = overConnections(store);
  const { rows } = await db.executeSql('select current_schema() as name');
  const schema = `${rows[0].name}_queue`;
  await install(database_url, schema, names, troubled);
  const boss = new PgBoss({ db, schema, migrate: false, supervise: false, schedule: false });
  boss.on('error', troubled);
  await boss.start();
  /** When leases of each name were looked at last, monotonic milliseconds. */
  const looked = new Map<string, number>();

  /** Gives back what was taken by a process that died, or by a handler that failed. */
  async function endLeases(name: string, { lease_ms, held }: Room): Promise<void> {
    const now_ms = performance.now();
    if (now_ms - (looked.get(name) ?? Number.NEGATIVE_INFINITY) < LOOK_EVERY_MS) return;
    looked.set(name, now_ms);
    // Its index of the active ones is by group: ours all have one.
    const over = `select id, retry_count as "retryCount" from ${schema}.job
      where name = $1 and state = 'active' and group_id is not null
        and started_on <= ${schema}.job_now() - $2 * interval '1 millisecond' and id <> all($3::uuid[])`;
    const { rows: jobs } = await db.executeSql(over, [name, lease_ms, [...held]]);
    if (jobs.length > 0) await boss.fail(name, jobs);
  }

  return {
    add: async (rows, ...tasks) => {
      for (const [name, same] of Map.groupBy(tasks, (task) => task.name))
        for (let from = 0; from < same.length; from += INSERTED_AT_ONCE)
          await boss.insert(name, same.slice(from, from + INSERTED_AT_ONCE).map(jobOf), { db: fromKysely(rows) });
    },
    exchange: async (name, done, room) => {
      if (done.length > 0)
        await boss.deleteJob(
          name,
          done.map(({ id, lease }) => ({ id, retryCount: Number(lease) })),
        );
      if (room.most === 0) return [];
      await endLeases(name, room);
      // No more than fit, whichever group they are of.
      const batchSize = Math.min(room.most, room.of_any_group);
      const ignoreGroups = room.full.length > 0 ? [...room.full] : null;
      const jobs = await boss.fetch<{ payload: unknown }>(name, { batchSize, ignoreGroups });
      return jobs.map(
        ({ id, groupId, data, retryCount }): Held => ({
          id,
          group: groupId ?? '',
          payload: data.payload,
          taken: retryCount + 1,
          lease: String(retryCount),
        }),
      );
    },
    prolong: async (name, held) => {
      // A lease counts from when its job was started.
      const anew = `update ${schema}.job set started_on = ${schema}.job_now()
        where name = $1 and state = 'active' and id = $2 and retry_count = $3`;
      for (const { id, lease } of held) await db.executeSql(anew, [name, id, Number(lease)]);
    },
    close: () => boss.stop({ graceful: false, close: false }),
  };
}

function jobOf({ group, payload, due_ms = Date.now() }: NewTask): JobInsert {
  return {
    data: { payload },
    group: { id: group },
    startAfter: new Date(due_ms),
    priority: Math.floor((PRIORITY_FROM_MS - due_ms) / 1000),
  };
}

/** Statements of pg-boss on the connections of the records, which give up a server that does not respond. */
function overConnections({ writer }: Store): Db {
  return {
    executeSql: async (text, values = []) => {
      const { rows } = await writer.executeQuery(CompiledQuery.raw(text, [...values]));
      return { rows: [...rows] };
    },
  };
}

/** Makes or migrates the schema on a connection that may take its time, as the records do at a start. */
async function install(
  connectionString: string,
  schema: string,
  names: readonly string[],
  troubled: (error: unknown) => void,
): Promise<void> {
  const boss = new PgBoss({ connectionString, max: 1, schema, supervise: false, schedule: false });
  boss.on('error', troubled);
  try {
    await boss.start();
    for (const name of names)
      await boss.createQueue(name, { expireInSeconds: LONGEST_LEASE_S, retentionSeconds: KEPT_S, retryLimit: RETRIES });
  } catch (error) {
    throw new RecordsUnavailable(`the queue cannot be made ready (${(error as Error).message})`, { cause: error });
  } finally {
    await boss.stop({ graceful: false });
  }
}
