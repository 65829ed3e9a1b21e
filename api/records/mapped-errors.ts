import type { DatabaseConnection, Dialect, Driver, TransactionSettings } from 'kysely';
import type { DatabaseHealth } from './database-health.ts';
import { CommitFailed, CommitInDoubt, LockNotGiven, NoAnswer, RecordsUnavailable } from './errors.ts';
import type { OpenFiles } from './open-files.ts';

/** SQLite result codes that are faults of the store, not of the statement: busy, locked, memory, read-only, I/O, corrupt, full, cannot open, not a database. */
const SQLITE_TROUBLE: ReadonlySet<number> = new Set([5, 6, 7, 8, 10, 11, 13, 14, 26]);
/** Classes of SQLSTATE that are faults of the statement: they are bugs of ours. */
const SQLSTATE_BUGS = /^(0A|21|22|23|26|2F|34|42)/;
/** SQLSTATEs of a server that refuses writes now: read-only, a lock that is not given, a statement that took too long. */
const SQLSTATE_KEPT_OUT: ReadonlySet<unknown> = new Set(['25006', '55P03', '57014']);
const SQLSTATE_LOCK_NOT_GIVEN = '55P03';

/**
 * A dialect that throws RecordsUnavailable while nothing was done, or where no write was possible; CommitFailed once a
 * transaction has begun (it is rolled back); CommitInDoubt when the COMMIT itself failed. Faults of a statement pass unchanged:
 * they are bugs. Nothing is executed while the open `files` are not those that their names stand for.
 */
export function withMappedErrors(
  dialect: Dialect,
  use: 'reading' | 'writing',
  health: DatabaseHealth,
  files: OpenFiles | null = null,
): Dialect {
  return {
    createAdapter: () => dialect.createAdapter(),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createDriver: () => guardDriver(dialect.createDriver(), use, health, files),
  };
}

function guardDriver(
  driver: Driver,
  use: 'reading' | 'writing',
  health: DatabaseHealth,
  files: OpenFiles | null,
): Driver {
  const connections = new WeakMap<DatabaseConnection, DatabaseConnection>();
  const inner = new WeakMap<DatabaseConnection, DatabaseConnection>();
  const failed = (error: unknown) => {
    if (use === 'reading') return unavailable('a read failed', error);
    if (sqlStateOf(error) === SQLSTATE_LOCK_NOT_GIVEN)
      return new LockNotGiven(`another transaction holds what a write needs (${reasonOf(error)})`, { cause: error });
    if (isKeptOut(error)) return unavailable('a write was not let in', error);
    return new CommitFailed(`a write failed (${reasonOf(error)})`, { cause: error });
  };

  /** A write compares the files first, so that none goes into a file that is gone; a read uses the last comparison. */
  const checkFiles = () => {
    const fault = use === 'writing' ? files?.look() : files?.fault;
    if (fault) throw new RecordsUnavailable(fault);
  };
  const guardConnection = (connection: DatabaseConnection): DatabaseConnection => {
    const known = connections.get(connection);
    if (known) return known;
    const guard: DatabaseConnection = {
      executeQuery: async (query, options) => {
        if (use === 'reading') checkFiles();
        try {
          return await connection.executeQuery(query, options);
        } catch (error) {
          if (!isTrouble(error)) throw error;
          health.note(error);
          if (use === 'reading') health.readFailed(query);
          throw failed(error);
        }
      },
      streamQuery: (query, chunkSize, options) => connection.streamQuery(query, chunkSize, options),
    };
    connections.set(connection, guard);
    inner.set(guard, connection);
    return guard;
  };
  const bare = (guard: DatabaseConnection) => inner.get(guard) ?? guard;
  const orElse = async <T>(run: () => Promise<T>, explain: (error: unknown) => Error): Promise<T> => {
    try {
      return await run();
    } catch (error) {
      health.note(error);
      throw explain(error);
    }
  };

  return {
    init: async (options) => {
      // The connection that reads is opened late, and must not open what was put in the place of the file.
      const fault = use === 'reading' ? files?.look() : null;
      if (fault) throw new RecordsUnavailable(fault);
      await orElse(
        () => driver.init(options),
        (error) => unavailable('cannot be opened', error),
      );
    },
    acquireConnection: async (options) =>
      guardConnection(
        await orElse(
          () => driver.acquireConnection(options),
          (error) => unavailable('cannot be reached', error),
        ),
      ),
    beginTransaction: async (connection: DatabaseConnection, settings: TransactionSettings) => {
      checkFiles();
      await orElse(
        () => driver.beginTransaction(bare(connection), settings),
        (error) => unavailable('cannot begin', error),
      );
    },
    commitTransaction: (connection: DatabaseConnection) =>
      orElse(
        () => driver.commitTransaction(bare(connection)),
        (error) => new CommitInDoubt(`a commit failed (${reasonOf(error)})`, { cause: error }),
      ),
    rollbackTransaction: async (connection: DatabaseConnection) => {
      try {
        await driver.rollbackTransaction(bare(connection));
      } catch (error) {
        // The cause of the rollback is thrown next, with more detail. A lost connection ends its transaction by itself.
        if (!isTrouble(error)) throw error;
      }
    },
    releaseConnection: (connection, options) => driver.releaseConnection(bare(connection), options),
    destroy: (options) => driver.destroy(options),
  };
}

/** False for faults of the statement, such as a column that does not exist or a broken constraint. */
function isTrouble(error: unknown): boolean {
  const { code, errcode } = error as { readonly code?: unknown; readonly errcode?: unknown };
  if (typeof errcode === 'number') return SQLITE_TROUBLE.has(errcode & 0xff);
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) return !SQLSTATE_BUGS.test(code);
  return !(error instanceof TypeError || error instanceof RangeError);
}

/** True when no write is possible now, and nothing of the transaction was done. */
function isKeptOut(error: unknown): boolean {
  return error instanceof NoAnswer || SQLSTATE_KEPT_OUT.has(sqlStateOf(error));
}

function sqlStateOf(error: unknown): unknown {
  return (error as { readonly code?: unknown }).code;
}

function unavailable(what: string, cause: unknown): RecordsUnavailable {
  return new RecordsUnavailable(`${what} (${reasonOf(cause)})`, { cause });
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
