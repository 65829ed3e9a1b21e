import type { DatabaseConnection, Dialect, Driver } from 'kysely';
import { CommitFailed, CommitInDoubt, LockNotGiven, RecordsUnavailable } from './errors.ts';

/** SQLite result codes that are faults of the store, not of the statement: busy, locked, memory, read-only, I/O, corrupt, full, cannot open, not a database. */
const SQLITE_TROUBLE: ReadonlySet<number> = new Set([5, 6, 7, 8, 10, 11, 13, 14, 26]);
const SQLITE_BUSY = 5;
/** SQLite: the file is malformed, or is no database. */
const SQLITE_DAMAGE: ReadonlySet<number> = new Set([11, 26]);
/** Classes of SQLSTATE that are faults of the statement: they are bugs of ours. */
const SQLSTATE_BUGS = /^(0A|21|22|23|26|2F|34|42)/;
/** SQLSTATEs of a server that refuses writes now: read-only, a statement that took too long. */
const SQLSTATE_KEPT_OUT = /^(25006|57014)/;
const SQLSTATE_LOCK_NOT_GIVEN = '55P03';
/** PostgreSQL: data_corrupted, index_corrupted. */
const SQLSTATE_DAMAGE = /^XX00[12]/;
/** SQLSTATEs of a connection that is lost: a COMMIT may have been made. */
const SQLSTATE_LOST = /^(08|57P)/;

/** Damage of the database that was seen; it does not pass by itself. */
export interface Damage {
  reason: string | null;
  /** Called with the reason when damage is first seen. */
  found: (reason: string) => void;
}

/**
 * A dialect that throws RecordsUnavailable while nothing was done; CommitFailed once a transaction has begun (it is rolled back);
 * CommitInDoubt when the answer to a COMMIT was lost. Faults of a statement pass unchanged: they are bugs.
 */
export function withMappedErrors(dialect: Dialect, use: 'reading' | 'writing', damage: Damage): Dialect {
  const explain = explainStatement(use, damage);
  return {
    createAdapter: () => dialect.createAdapter(),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createDriver: () => guardDriver(dialect.createDriver(), explain, damage),
  };
}

/** The error that a failed statement throws; damage is noted. */
export function explainStatement(use: 'reading' | 'writing', damage: Damage): (error: unknown) => unknown {
  return (error) => {
    noteDamage(error, damage);
    if (!isTrouble(error)) return error;
    if (use === 'reading') return unavailable('a read failed')(error);
    const state = sqlState(error);
    if (state === SQLSTATE_LOCK_NOT_GIVEN)
      return new LockNotGiven(`another transaction holds what a write needs (${reasonOf(error)})`, { cause: error });
    if (SQLSTATE_KEPT_OUT.test(state)) return unavailable('a write was not let in')(error);
    return new CommitFailed(`a write failed (${reasonOf(error)})`, { cause: error });
  };
}

function noteDamage(error: unknown, damage: Damage): void {
  if (!isDamage(error) || damage.reason !== null) return;
  damage.reason = reasonOf(error);
  damage.found(damage.reason);
}

function guardDriver(driver: Driver, explain: (error: unknown) => unknown, damage: Damage): Driver {
  const bare = new WeakMap<DatabaseConnection, DatabaseConnection>();
  const bareOf = (guard: DatabaseConnection) => bare.get(guard) ?? guard;

  /** Runs a step, and throws what `failed` makes of its failure. */
  const guarded = async <T>(run: () => Promise<T>, failed: (error: unknown) => unknown): Promise<T> => {
    try {
      return await run();
    } catch (error) {
      noteDamage(error, damage);
      throw failed(error);
    }
  };
  const failedBegin = (error: unknown): Error =>
    sqliteCode(error) === SQLITE_BUSY
      ? new LockNotGiven('another process holds the write lock', { cause: error })
      : unavailable('cannot begin')(error);
  const failedCommit = (error: unknown): Error => {
    const Failure = isLost(error) ? CommitInDoubt : CommitFailed;
    return new Failure(`a commit failed (${reasonOf(error)})`, { cause: error });
  };
  return {
    init: (options) => guarded(() => driver.init(options), unavailable('cannot be opened')),
    acquireConnection: async (options) => {
      const connection = await guarded(() => driver.acquireConnection(options), unavailable('cannot be reached'));
      const guard: DatabaseConnection = {
        executeQuery: (query, options) => guarded(() => connection.executeQuery(query, options), explain),
        streamQuery: (query, chunkSize, options) => connection.streamQuery(query, chunkSize, options),
      };
      bare.set(guard, connection);
      return guard;
    },
    beginTransaction: (connection, settings) =>
      guarded(() => driver.beginTransaction(bareOf(connection), settings), failedBegin),
    commitTransaction: (connection) => guarded(() => driver.commitTransaction(bareOf(connection)), failedCommit),
    rollbackTransaction: async (connection) => {
      try {
        await driver.rollbackTransaction(bareOf(connection));
      } catch (error) {
        // The cause of the rollback is thrown next, with more detail. A lost connection ends its transaction by itself.
        if (!isTrouble(error)) throw error;
      }
    },
    releaseConnection: (connection, options) => driver.releaseConnection(bareOf(connection), options),
    destroy: (options) => driver.destroy(options),
  };
}

/** True when the stored data are broken: only an operator can repair them. */
export function isDamage(error: unknown): boolean {
  return SQLITE_DAMAGE.has(sqliteCode(error) ?? 0) || SQLSTATE_DAMAGE.test(sqlState(error));
}

/** False for faults of the statement, such as a column that does not exist or a broken constraint. */
function isTrouble(error: unknown): boolean {
  const code = sqliteCode(error);
  if (code !== null) return SQLITE_TROUBLE.has(code);
  const state = sqlState(error);
  if (state !== '') return !SQLSTATE_BUGS.test(state);
  return !(error instanceof TypeError || error instanceof RangeError);
}

/** True when the answer to a statement was lost: SQLite always answers, and so does PostgreSQL while the connection holds. */
function isLost(error: unknown): boolean {
  if (sqliteCode(error) !== null) return false;
  const state = sqlState(error);
  return state === '' || SQLSTATE_LOST.test(state);
}

function sqliteCode(error: unknown): number | null {
  const { errcode } = error as { readonly errcode?: unknown };
  return typeof errcode === 'number' ? errcode & 0xff : null;
}

/** The SQLSTATE of an error that a PostgreSQL server sent; empty for any other. */
function sqlState(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : '';
}

function unavailable(what: string): (cause: unknown) => RecordsUnavailable {
  return (cause) => new RecordsUnavailable(`${what} (${reasonOf(cause)})`, { cause });
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
