import pg from 'pg';
import { addDays } from '../../schemas/time.ts';
import { chooseDate, type DateTask, type TaskStatus } from './choose-date.ts';

/** A worker that has not renewed its claim for so long has lost it, by the clock of the database. */
const LEASE_S = 30;
/** Tries of a date. Each claim counts, so that a date that kills its workers ends, too. */
const MAX_ATTEMPTS = 3;
/** Rest before the next attempt, seconds; doubled for the third. */
const REST_S = 20;
/** Locks the creation of the table, which two sessions cannot do at once. */
const CREATION_LOCK = 7_161_421;

/** Columns of a date that was made. */
const COLUMNS = [
  ...(['scans', 'seconds', 'rejected', 'missing'] as const),
  ...(['made_from', 'left_as', 'follows_from_ms', 'ends_ms'] as const),
] as const;

/** What a worker made of a storm date. */
export interface MadeDate {
  readonly scans: number;
  readonly seconds: number;
  readonly rejected: number;
  readonly missing: number;
  /** Hash of the checkpoint that the date begins with; null where it began with none. */
  readonly made_from: string | null;
  /** Its first scan goes on from a scan of the date before that is no earlier than this, epoch milliseconds; null without scans. */
  readonly follows_from_ms: number | null;
  /** Its last scan, epoch milliseconds; null without scans. */
  readonly ends_ms: number | null;
  /** Hash of its last checkpoint; null without scans. */
  readonly left_as: string | null;
}

/** A task as it stands. */
export interface TaskRow extends DateTask, Partial<Pick<MadeDate, 'scans' | 'seconds' | 'rejected' | 'missing'>> {
  readonly attempts: number;
  /** Worker that has or had it. */
  readonly holder: string | null;
  /** Why the last attempt failed. */
  readonly reason: string | null;
}

/** A storm date that this worker makes. */
export interface ClaimedDate {
  readonly storm_date: string;
  /** Source of the raw files, as it was added. */
  readonly source: unknown;
  readonly attempts: number;
  /** True for the last attempt. */
  readonly is_last: boolean;
  readonly holder: string;
}

/** Tasks of the storm dates of one store, shared by all its workers. */
export interface DateTasks {
  /** Adds dates; those that failed, and with `again` those that are done, wait again. */
  readonly add: (dates: readonly string[], source: unknown, again: boolean) => Promise<void>;
  /** Claims a date for a worker; null when none is due. */
  readonly claim: (holder: string) => Promise<ClaimedDate | null>;
  /** Extends a claim; false once another worker may have it. */
  readonly renew: (task: ClaimedDate) => Promise<boolean>;
  /**
   * Records a date that was published. Where it or the date after it was made from other tracks than the date before has left,
   * that date waits again. False when the claim was lost: nothing is recorded.
   */
  readonly finish: (task: ClaimedDate, made: MadeDate) => Promise<boolean>;
  /** Records a failure: the date waits again, or has failed after the last attempt and where `is_final`. */
  readonly fail: (task: ClaimedDate, reason: string, is_final: boolean) => Promise<void>;
  /** Gives a claim back as if it had not been made: the worker was stopped. */
  readonly release: (task: ClaimedDate) => Promise<void>;
  readonly list: (from: string, to: string) => Promise<TaskRow[]>;
  /** Number of dates that are waiting or running, and of all. */
  readonly count: () => Promise<{ readonly open: number; readonly all: number }>;
  readonly close: () => Promise<void>;
}

/** Opens the tasks of a store. `store`: its address, which separates stores that share a database. */
export async function openDateTasks(database_url: string, store: string): Promise<DateTasks> {
  const pool = new pg.Pool({ connectionString: database_url, max: 2, application_name: 'hail-pipeline backfill' });
  // A connection that breaks while it is idle is replaced at the next statement.
  pool.on('error', () => {});
  try {
    await createTable(pool);
  } catch (error) {
    await pool.end();
    throw error;
  }
  /** Claims and results of a store follow each other: they look at neighbouring dates. They take milliseconds, a date minutes. */
  const inOrder = async <Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> => {
    const client = await pool.connect();
    try {
      await client.query('begin');
      await client.query("select pg_advisory_xact_lock(hashtextextended('pipeline_tasks ' || $1, 0))", [store]);
      const result = await work(client);
      await client.query('commit');
      client.release();
      return result;
    } catch (error) {
      // The transaction ends with its connection, however broken that is.
      client.release(true);
      throw error;
    }
  };
  const held = "store = $1 and storm_date = $2 and holder = $3 and status = 'running'";
  const update = async (client: Pick<pg.Pool, 'query'>, task: ClaimedDate, set: string, values: readonly unknown[]) =>
    (
      await client.query(`update pipeline_tasks set ${set} where ${held}`, [
        store,
        task.storm_date,
        task.holder,
        ...values,
      ])
    ).rowCount === 1;
  return {
    add: async (dates, source, again) => {
      await inOrder((client) =>
        client.query(
          `insert into pipeline_tasks as old (store, storm_date, source, status)
          select $1, date, $3, 'waiting' from unnest($2::text[]) as date
          on conflict (store, storm_date) do update
          set source = excluded.source, status = 'waiting', attempts = 0, reason = null, due_at = clock_timestamp()
          where old.status = 'failed' or (old.status = 'done' and $4)`,
          [store, dates, JSON.stringify(source), again],
        ),
      );
    },
    claim: (holder) =>
      inOrder(async (client) => {
        await client.query(
          `update pipeline_tasks set status = case when attempts < $2 then 'waiting' else 'failed' end,
            reason = holder || ' did not renew its claim'
          where store = $1 and status = 'running' and due_at < clock_timestamp()`,
          [store, MAX_ATTEMPTS],
        );
        const { rows } = await client.query<DateTask>(
          `select storm_date, status, due_at <= clock_timestamp() as is_due from pipeline_tasks
          where store = $1 order by storm_date`,
          [store],
        );
        const storm_date = chooseDate(rows);
        if (storm_date === null) return null;
        const claimed = await client.query<{ source: string; attempts: number }>(
          `update pipeline_tasks set status = 'running', attempts = attempts + 1, holder = $3,
            due_at = clock_timestamp() + make_interval(secs => ${LEASE_S})
          where store = $1 and storm_date = $2 returning source, attempts`,
          [store, storm_date, holder],
        );
        const { source = 'null', attempts = 1 } = claimed.rows[0] ?? {};
        return { storm_date, source: JSON.parse(source), attempts, is_last: attempts >= MAX_ATTEMPTS, holder };
      }),
    renew: (task) => update(pool, task, `due_at = clock_timestamp() + make_interval(secs => ${LEASE_S})`, []),
    finish: (task, made) =>
      inOrder(async (client) => {
        const values = COLUMNS.map((column) => made[column]);
        const columns = COLUMNS.map((column, k) => `${column} = $${k + 4}`).join(', ');
        const set = `status = 'done', reason = null, done_at = clock_timestamp(), ${columns}`;
        if (!(await update(client, task, set, values))) return false;
        await client.query(
          `update pipeline_tasks as date set status = 'waiting', attempts = 0, due_at = clock_timestamp(),
            reason = 'its tracks go on from the date before, which was made since'
          from pipeline_tasks as before
          where date.store = $1 and before.store = $1 and date.status = 'done' and before.status = 'done'
            and date.storm_date in ($2, $3) and before.storm_date = (date.storm_date::date - 1)::text
            and before.ends_ms >= date.follows_from_ms and date.made_from is distinct from before.left_as`,
          [store, task.storm_date, addDays(task.storm_date, 1)],
        );
        return true;
      }),
    fail: async (task, reason, is_final) => {
      const status: TaskStatus = is_final || task.is_last ? 'failed' : 'waiting';
      const rest = `clock_timestamp() + make_interval(secs => ${REST_S * 2 ** (task.attempts - 1)})`;
      await update(pool, task, `status = $4, reason = $5, due_at = ${rest}`, [status, reason]);
    },
    release: async (task) => {
      await update(pool, task, "status = 'waiting', attempts = attempts - 1, due_at = clock_timestamp()", []);
    },
    list: async (from, to) => {
      const { rows } = await pool.query<TaskRow>(
        `select storm_date, status, due_at <= clock_timestamp() as is_due, attempts, holder, reason, scans, seconds, rejected,
          missing
        from pipeline_tasks where store = $1 and storm_date between $2 and $3 order by storm_date`,
        [store, from, to],
      );
      return rows;
    },
    count: async () => {
      const open = "count(*) filter (where status in ('waiting', 'running'))::int as open";
      const sql = `select ${open}, count(*)::int as all from pipeline_tasks where store = $1`;
      const { rows } = await pool.query<{ open: number; all: number }>(sql, [store]);
      return rows[0] ?? { open: 0, all: 0 };
    },
    close: () => pool.end(),
  };
}

/** True for a connection that broke or was refused, and for a server that is shutting down or starting. */
export function isDatabaseAway(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  return /^(ECONN|EPIPE|ETIMEDOUT|08|57P)/.test(code) || /Connection terminated/.test(error.message);
}

/** Creates the table of the tasks; processes that do so at once wait for each other. */
async function createTable(pool: pg.Pool): Promise<void> {
  const found = await pool.query<{ found: string | null }>("select to_regclass('pipeline_tasks')::text as found");
  if (found.rows[0]?.found != null) return;
  await pool.query(`begin; select pg_advisory_xact_lock(${CREATION_LOCK});
    create table if not exists pipeline_tasks (
      store text not null, storm_date text not null, source text not null, status text not null,
      attempts integer not null default 0, holder text, due_at timestamptz not null default clock_timestamp(),
      reason text, done_at timestamptz, scans integer, seconds double precision, rejected integer, missing integer,
      made_from text, left_as text, follows_from_ms bigint, ends_ms bigint, primary key (store, storm_date));
    commit`);
}
