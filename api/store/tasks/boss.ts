import { CompiledQuery } from 'kysely';
import { type Db, fromKysely, type JobInsert, PgBoss } from 'pg-boss';
import type { Store } from '../database.ts';
import { RecordsUnavailable } from '../errors.ts';
import { isDead, OWNER } from '../owner.ts';
import type { NewTask } from './queue.ts';
import type { Candidate, ClaimedTask, ClaimLimits, TaskStore } from './task-store.ts';

/** pg-boss ends no lease by itself: it would not know ours, and knows none that is longer. */
const LONGEST_LEASE_S = 24 * 3_600;
/** A task that nobody takes waits for a year. */
const KEPT_S = 365 * 24 * 3_600;
/** It is taken again until its handler has done it. */
const RETRIES = 2 ** 31 - 1;
/** Tasks of one statement: far from the time that one may take. */
const INSERTED_AT_ONCE = 500;
/** Candidates of a look, where several tenants have more than fit. */
const CANDIDATES_MAX = 1_000;
/** Whose job it is. */
const TENANT = `coalesce(singleton_key, group_id, '')`;
/** How often leases are looked at that are over. */
const LOOK_EVERY_MS = 250;
/** How often it is looked whether the clock of the server was put back. */
const CLOCK_EVERY_MS = 10_000;
/** Jobs are taken by descending priority: the seconds from here on, negative, put the longest due first. */
const PRIORITY_FROM_MS = Date.UTC(2026, 0, 1);
/** First attempts come before retries, however long those are due. */
const FIRST_ATTEMPT = 1_000_000_000;
/** Seconds that count, before and after: a priority is a 32-bit integer, and a clock may stand at 1970. */
const PRIORITY_WITHIN_S = FIRST_ATTEMPT / 2 - 1;

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
export async function bossTaskStore({ store, database_url, names, troubled }: BossOptions): Promise<TaskStore> {
  const db = overConnections(store);
  const { rows } = await db.executeSql('select current_schema() as name');
  const schema = `${rows[0].name}_queue`;
  await install(database_url, schema, names, troubled);
  const boss = new PgBoss({ db, schema, migrate: false, supervise: false, schedule: false });
  boss.on('error', troubled);
  await boss.start();
  await db.executeSql(indexByTenant(schema));
  /** When leases of each name were looked at last, monotonic milliseconds. */
  const looked = new Map<string, number>();
  /** The same of the clock of the server. */
  const clocked = new Map<string, number>();

  /** Gives back what was taken by a process that died, or by a handler that failed. */
  async function endLeases(name: string, { lease_ms, held }: ClaimLimits): Promise<void> {
    const now_ms = performance.now();
    if (now_ms - (looked.get(name) ?? Number.NEGATIVE_INFINITY) < LOOK_EVERY_MS) return;
    looked.set(name, now_ms);
    // Its index of the active ones is by group: ours all have one.
    const over = `select id, retry_count as "retryCount" from ${schema}.job
      where name = $1 and state = 'active' and group_id is not null
        and started_on <= ${schema}.job_now() - $2 * interval '1 millisecond' and id <> all($3::uuid[])`;
    const { rows: jobs } = await db.executeSql(over, [name, lease_ms, [...held]]);
    if (jobs.length > 0) await boss.fail(name, jobs);
    if (now_ms - (clocked.get(name) ?? Number.NEGATIVE_INFINITY) < CLOCK_EVERY_MS) return;
    clocked.set(name, now_ms);
    // What was added in the future, by a clock that was put back since, waits as long as it did then.
    const ahead = `update ${schema}.job set start_after = ${schema}.job_now() + (start_after - created_on), created_on = ${schema}.job_now()
      where name = $1 and state < 'active' and created_on > ${schema}.job_now() + interval '1 second'`;
    await db.executeSql(ahead, [name]);
  }

  /**
   * Due jobs of tenants and groups that are not full: some of each tenant, its first attempts and those due longest before others.
   * Tenants are found by skipping from one to the next in an index of ours: the backlog of one is not read through for the others.
   */
  async function dueJobs(name: string, { full, full_tenants, most }: ClaimLimits): Promise<readonly Candidate[]> {
    const due = `with recursive waiting (tenant) as (
        (select ${TENANT} from ${schema}.job where name = $1 and state < 'active' order by ${TENANT} limit 1)
        union all
        select (select ${TENANT} from ${schema}.job where name = $1 and state < 'active' and ${TENANT} > waiting.tenant
          order by ${TENANT} limit 1)
        from waiting where waiting.tenant is not null)
      select due.id, due."group", waiting.tenant
      from waiting cross join lateral (
        select placed.*, row_number() over (order by priority desc, created_on) as place from (
          select id, coalesce(group_id, '') as "group", priority, created_on from ${schema}.job
          where name = $1 and state < 'active' and ${TENANT} = waiting.tenant
            and not blocked and start_after <= ${schema}.job_now() and coalesce(group_id, '') <> all($2::text[])
          order by priority desc, created_on limit $4) as placed) as due
      where waiting.tenant <> all($3::text[])
      order by due.place, due.priority desc limit ${CANDIDATES_MAX}`;
    const { rows: jobs } = await db.executeSql(due, [name, [...full], [...full_tenants], most]);
    return jobs;
  }

  /** Claims jobs that no other process has claimed meanwhile, as the `fetch` of pg-boss does. */
  async function take(name: string, ids: readonly string[]): Promise<readonly TakenJob[]> {
    if (ids.length === 0) return [];
    const taken = `with next as (
        select id from ${schema}.job where name = $1 and id = any($2::uuid[]) and state < 'active' for update skip locked)
      update ${schema}.job as job set state = 'active', started_on = ${schema}.job_now(), heartbeat_on = ${schema}.job_now(),
        retry_count = case when started_on is not null then retry_count + 1 else retry_count end,
        output = jsonb_build_object('owner', $3::text)
      from next where job.name = $1 and job.id = next.id
      returning job.id, job.group_id as "group", coalesce(job.singleton_key, job.group_id) as tenant, job.data,
        job.retry_count as "retryCount"`;
    const { rows: jobs } = await db.executeSql(taken, [name, [...ids], OWNER]);
    // Returned in any order.
    return jobs.toSorted((a: TakenJob, b: TakenJob) => ids.indexOf(a.id) - ids.indexOf(b.id));
  }

  return {
    add: async (rows, ...tasks) => {
      for (const [name, same] of Map.groupBy(tasks, (task) => task.name))
        for (let from = 0; from < same.length; from += INSERTED_AT_ONCE)
          await boss.insert(name, same.slice(from, from + INSERTED_AT_ONCE).map(jobOf), { db: fromKysely(rows) });
    },
    ackAndClaim: async (name, done, room) => {
      if (done.length > 0)
        await boss.deleteJob(
          name,
          done.map(({ id, lease }) => ({ id, retryCount: Number(lease) })),
        );
      if (room.most === 0) return [];
      await endLeases(name, room);
      const jobs = await take(name, room.choose(await dueJobs(name, room), room.most));
      return jobs.map(
        ({ id, group, tenant, data, retryCount }): ClaimedTask => ({
          id,
          group: group ?? '',
          tenant: tenant ?? '',
          payload: data.payload,
          taken: retryCount + 1,
          lease: String(retryCount),
        }),
      );
    },
    payloads: async (name) => {
      const waiting = `select data from ${schema}.job where name = $1 and state <= 'active'`;
      const { rows: jobs } = await db.executeSql(waiting, [name]);
      return jobs.map(({ data }: Pick<TakenJob, 'data'>) => data.payload);
    },
    endLeasesOfDead: async () => {
      for (const name of names) {
        const active = `select id, retry_count as "retryCount", output->>'owner' as owner from ${schema}.job
          where name = $1 and state = 'active' and group_id is not null`;
        const { rows: jobs } = await db.executeSql(active, [name]);
        const ended = jobs.filter(({ owner }: { owner: string | null }) => owner !== null && isDead(owner));
        if (ended.length > 0) await boss.fail(name, ended);
      }
    },
    extendLease: async (name, held) => {
      // A lease counts from when its job was started.
      const anew = `update ${schema}.job set started_on = ${schema}.job_now()
        where name = $1 and state = 'active' and id = $2 and retry_count = $3`;
      for (const { id, lease } of held) await db.executeSql(anew, [name, id, Number(lease)]);
    },
    close: () => boss.stop({ graceful: false, close: false }),
  };
}

/** A job as its row says after it was taken. */
interface TakenJob {
  readonly id: string;
  readonly group: string | null;
  readonly tenant: string | null;
  readonly data: { readonly payload: unknown };
  readonly retryCount: number;
}

/** The wait is counted by the server: its clock and ours may differ, and either may be set. */
function jobOf({ group, tenant = group, retry, payload, due_ms = Date.now() }: NewTask): JobInsert {
  const later_s = Math.floor((PRIORITY_FROM_MS - due_ms) / 1000);
  const later = Math.max(-PRIORITY_WITHIN_S, Math.min(PRIORITY_WITHIN_S, later_s));
  return {
    data: { payload },
    group: { id: group },
    singletonKey: tenant,
    startAfter: `${Math.max(0, due_ms - Date.now())} milliseconds`,
    priority: retry ? later : later + FIRST_ATTEMPT,
  };
}

/** Makes the index that tenants are found in, unless it is there; services that start together make it one after the other. */
function indexByTenant(schema: string): string {
  return `do $$ begin
    perform pg_advisory_xact_lock(hashtext('${schema}.hail_due'));
    if to_regclass('${schema}.hail_due') is null then
      create index hail_due on ${schema}.job (name, (${TENANT}), priority desc, created_on) where state < 'active';
    end if;
  end $$`;
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
