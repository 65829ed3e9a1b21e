import pg from 'pg';

/** A standby that sees a holder's row unchanged for so long, by its own monotonic clock, ends the holder's session. */
export const STALE_AFTER_MS = 6_000;
/** Longest time for one statement, and for a connection. */
const STATEMENT_MS = 4_000;
/** Locks the creation of the table, which two sessions cannot do at once. */
const CREATION_LOCK = 7_161_420;

/** What a session sees of the one that holds a lease. */
export interface SeenHolder {
  /** Process number of its session at the server. */
  readonly backend_pid: number;
  /** Null before it has written its row. */
  readonly holder: string | null;
  /** Database time of its last heartbeat, as text: it is only compared. */
  readonly renewed_at: string | null;
}

/** A session at PostgreSQL that can hold one lease: its advisory lock is held as long as the session lasts. */
export interface LeaseSession {
  /** Takes the advisory lock; false: another session has it. */
  readonly tryLock: () => Promise<boolean>;
  /** The session that holds the lock; null: none does. */
  readonly seeHolder: () => Promise<SeenHolder | null>;
  /** Ends the session that was seen, unless it has renewed its lease since or another one holds the lock. */
  readonly endHolder: (seen: SeenHolder) => Promise<boolean>;
  /** Writes this holder into the row of the lease. Call it once the lock is held. */
  readonly enter: () => Promise<void>;
  /** A fence larger than that of every lease before, and at least `floor`. */
  readonly drawFence: (floor: number) => Promise<number>;
  /** One heartbeat; false: the row is another holder's. */
  readonly renew: () => Promise<boolean>;
  /** Resolves with the reason once the connection is gone. */
  readonly gone: Promise<string>;
  readonly end: () => Promise<void>;
}

/** Why a lease is lost whose row was changed by hand, or is that of a database without its last commits. */
export const OTHER_HOLDER = 'its row in the database names another holder';

const ROWS = 'pipeline_leases';
/** Name of the row that has the last fence of all leases: what is written under two of them is in order, too. */
const LAST_FENCE = 'last fence';
/** The lock of a lease, as `pg_locks` shows it: two halves of 64 bits. */
const LOCK_OF = `locktype = 'advisory' and granted and objsubid = 1
  and database = (select oid from pg_database where datname = current_database())
  and (classid::bigint << 32 | objid::bigint) = hashtextextended($1, 0)`;

/** Opens a session for the lease `name`. `holder`: unique text of this holder. */
export async function openLeaseSession(database_url: string, name: string, holder: string): Promise<LeaseSession> {
  const client = new pg.Client({
    connectionString: database_url,
    application_name: `hail-pipeline lease ${name}`.slice(0, 63),
    connectionTimeoutMillis: STATEMENT_MS,
    statement_timeout: STATEMENT_MS,
    query_timeout: STATEMENT_MS,
    keepAlive: true,
  });
  const gone = new Promise<string>((resolve) => {
    client.on('error', (error) => resolve(error.message));
    client.on('end', () => resolve('the connection to the database ended'));
  });
  const rows = async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[]) =>
    (await client.query<Row>(text, [...values])).rows;
  const end = async () => {
    // A server that is silent answers no goodbye.
    await Promise.race([client.end(), new Promise((resolve) => setTimeout(resolve, 1_000).unref())]);
  };
  try {
    await client.connect();
    const [table] = await rows<{ found: string | null }>('select to_regclass($1)::text as found', [ROWS]);
    if (table?.found == null) await createTable(client);
  } catch (error) {
    await end();
    throw error;
  }
  return {
    tryLock: async () => {
      const sql = 'select pg_try_advisory_lock(hashtextextended($1, 0)) as taken';
      return (await rows<{ taken: boolean }>(sql, [name]))[0]?.taken === true;
    },
    seeHolder: async () => {
      const sql = `select pid as backend_pid, holder, renewed_at::text
        from pg_locks left join ${ROWS} on name = $1 where ${LOCK_OF}`;
      return (await rows<SeenHolder & pg.QueryResultRow>(sql, [name]))[0] ?? null;
    },
    endHolder: async ({ backend_pid, renewed_at }) => {
      const sql = `select pg_terminate_backend(pid) as ended from pg_locks left join ${ROWS} on name = $1
        where ${LOCK_OF} and pid = $2 and renewed_at::text is not distinct from $3`;
      return (await rows<{ ended: boolean }>(sql, [name, backend_pid, renewed_at]))[0]?.ended === true;
    },
    enter: async () => {
      const sql = `insert into ${ROWS} as old values ($1, 0, $2, clock_timestamp()) on conflict (name)
        do update set holder = excluded.holder, renewed_at = excluded.renewed_at`;
      await client.query(sql, [name, holder]);
    },
    drawFence: async (floor) => {
      // One statement: whoever stops after it holds no lock on the row of the last fence.
      const sql = `with drawn as (
          insert into ${ROWS} as old values ('${LAST_FENCE}', $3, '', clock_timestamp()) on conflict (name)
          do update set fence = greatest(old.fence + 1, excluded.fence), renewed_at = excluded.renewed_at returning fence)
        update ${ROWS} set fence = drawn.fence from drawn where name = $1 and holder = $2 returning drawn.fence`;
      const [row] = await rows<{ fence: string }>(sql, [name, holder, floor]);
      if (row === undefined) throw new Error(OTHER_HOLDER);
      return Number(row.fence);
    },
    renew: async () => {
      const sql = `update ${ROWS} set renewed_at = clock_timestamp() where name = $1 and holder = $2 returning true`;
      return (await rows(sql, [name, holder])).length > 0;
    },
    gone,
    end,
  };
}

/** Creates the table of the leases; sessions that do so at once wait for each other. */
async function createTable(client: pg.Client): Promise<void> {
  await client.query(`begin; select pg_advisory_xact_lock(${CREATION_LOCK});
    create table if not exists ${ROWS} (name text primary key, fence bigint not null, holder text not null, renewed_at timestamptz not null);
    commit`);
}
