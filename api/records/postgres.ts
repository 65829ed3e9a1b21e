import {
  type PostgresCursor,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  type PostgresQueryResult,
} from 'kysely';
import pg from 'pg';
import type { Explain } from './errors.ts';

/** How long statements wait for the database. */
export interface Waits {
  /** For locks that others hold. */
  readonly lock_ms: number;
  /** For one statement, on PostgreSQL. */
  readonly statement_ms: number;
}

/** How long a connection is waited for, a free one or a new one: no less than for a lock, which those may wait for who have them all. */
const CONNECT_MS = 3_000;
const CONNECTIONS = 10;
/** Added to the time of a statement, which the server should end: after that the connection is given up. */
const SILENT_AFTER_MS = 250;
/** The server rolls back a transaction whose client sends nothing more. */
const IDLE_IN_TRANSACTION_MS = 15_000;
const CLOSE_MS = 1_000;
/** SQLSTATEs of a session that is over, cannot be had, or may only read: connection, resources, shutdown, start, standby. */
const NO_SESSION = /^(08|53|57P|25006)/;

/** Connections to a PostgreSQL server, each with bounded waits; the dialects that are made of them share them. */
export function openPostgres(url: string, { lock_ms, statement_ms }: Waits): (explain: Explain) => PostgresDialect {
  const pool = new pg.Pool({
    connectionString: url,
    max: CONNECTIONS,
    connectionTimeoutMillis: Math.max(CONNECT_MS, lock_ms),
    lock_timeout: lock_ms,
    statement_timeout: statement_ms,
    query_timeout: statement_ms + SILENT_AFTER_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    types: { getTypeParser },
  });
  // The pool replaces a connection that breaks, and its statement is rejected; without listeners the event would end the process.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return (explain) => {
    const bounded: PostgresPool = {
      options: { connectionString: url },
      connect: async () => {
        try {
          return sessionOf(await pool.connect(), explain);
        } catch (error) {
          throw explain(error, null);
        }
      },
      end: async () => {
        await Promise.race([pool.end(), new Promise((resolve) => setTimeout(resolve, CLOSE_MS).unref())]);
      },
    };
    return new PostgresDialect({ pool: bounded });
  };
}

/** A connection that the pool does not give out again after a failure that ended its session. */
function sessionOf(client: pg.PoolClient, explain: Explain): PostgresPoolClient {
  let isOver = false;
  async function run(text: string, values: readonly unknown[]) {
    try {
      if (isOver) throw new Error('the session is over, expected an open one');
      return await client.query(text, [...values]);
    } catch (error) {
      // Only the server sends a SQLSTATE: any other failure says that it was not heard.
      const state = error instanceof pg.DatabaseError ? error.code : undefined;
      if (state === undefined || NO_SESSION.test(state)) isOver = true;
      // The transaction of a session that is over ends by itself; the cause of the rollback is thrown next, with more detail.
      if (isOver && text === 'rollback') return { command: 'ROLLBACK' as const, rowCount: 0, rows: [] };
      throw explain(error, text);
    }
  }
  function query<Row>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<Row>>;
  function query<Row>(cursor: PostgresCursor<Row>): PostgresCursor<Row>;
  function query(text: unknown, values: readonly unknown[] = []): unknown {
    return run(String(text), values);
  }
  return { query, release: () => client.release(isOver) };
}

/** BIGINT and NUMERIC as numbers: credits and sums stay far below 2 ** 53. */
const getTypeParser: pg.CustomTypesConfig['getTypeParser'] = (oid, format) =>
  oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC ? Number : pg.types.getTypeParser(oid, format);
