import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { type Explain, LockNotGiven } from './errors.ts';

/** How long opening a file waits for another process: before anything is served, so it may hold up the event loop. */
const OPENING_WAIT_MS = 5_000;
/** How long a read may hold up the event loop. Writers never keep readers out; the repair after another's death does, briefly. */
const READING_WAIT_MS = 10;
/** How often a waiting transaction tries: a busy peer lets go of the lock for a fraction of a millisecond only. */
const TRY_EVERY_MS = 1;
const STATEMENTS_KEPT = 500;
const SQLITE_BUSY = 5;

/** SQLite file of the records of a data root. */
export function sqlitePath(dataRoot: string): string {
  return join(dataRoot, 'records', 'hail.sqlite');
}

/**
 * One connection to a SQLite file for Kysely. `lock_ms`: it writes, its transactions begin by taking the one write lock, for which they wait so long,
 * and it makes the file where there is none. Null: it reads committed rows, and needs a file that another connection has made.
 */
export function openSqlite(path: string, lock_ms: number | null, explain: Explain) {
  let database: DatabaseSync | undefined;
  const statements = new Map<string, ReturnType<typeof prepare>>();

  function prepare(text: string) {
    if (database === undefined) throw new TypeError('the database is not open, expected a connection to it');
    const statement = database.prepare(text);
    const made = { statement, hasRows: statement.columns().length > 0 };
    if (statements.size >= STATEMENTS_KEPT) statements.clear();
    statements.set(text, made);
    return made;
  }

  /** Runs a statement at once, in the transaction that is open: the queue of Kysely costs more than a statement of a charge. */
  function execute<Row>({ sql, parameters }: Pick<CompiledQuery<Row>, 'sql' | 'parameters'>): QueryResult<Row> {
    try {
      const { statement, hasRows } = statements.get(sql) ?? prepare(sql);
      const values = parameters as readonly SQLInputValue[];
      if (hasRows) return { rows: statement.all(...values) as Row[] };
      return { rows: [], numAffectedRows: BigInt(statement.run(...values).changes) };
    } catch (error) {
      throw explain(error, sql);
    }
  }

  const connection: DatabaseConnection = {
    executeQuery: async (query) => execute(query),
    streamQuery: () => {
      throw new TypeError('rows are streamed, expected to be read at once');
    },
  };
  const run = (sql: string) => execute({ sql, parameters: [] });
  const driver: Driver = {
    init: async () => {
      try {
        if (lock_ms !== null) createFile(path);
        database = openFile(path, lock_ms === null ? READING_WAIT_MS : 0);
      } catch (error) {
        throw explain(error, null);
      }
    },
    acquireConnection: async () => connection,
    beginTransaction: async () => {
      if (lock_ms === null) run('begin');
      else await beginWriting(run, lock_ms);
    },
    commitTransaction: async () => void run('commit'),
    rollbackTransaction: async () => {
      // After some faults, such as a full disk, SQLite has rolled back by itself.
      if (database?.isTransaction) run('rollback');
    },
    releaseConnection: async () => {},
    destroy: async () => database?.close(),
  };
  const dialect: Dialect = {
    createDriver: () => driver,
    createAdapter: () => new Adapter(),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
  return { dialect, execute };
}

/** Between tries the event loop turns: no statement of a writer waits for a lock by itself. */
async function beginWriting(run: (sql: string) => unknown, lock_ms: number): Promise<void> {
  const until_ms = performance.now() + lock_ms;
  for (;;)
    try {
      run('begin immediate');
      return;
    } catch (error) {
      if (!(error instanceof LockNotGiven) || performance.now() > until_ms) throw error;
      await sleep(TRY_EVERY_MS);
    }
}

/** Kysely makes tables within a transaction where the adapter says that this is possible; in SQLite it is. */
class Adapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** Opens the file, which must be there. */
function openFile(path: string, wait_ms: number): DatabaseSync {
  // Never creates the file: a new one next to the log of another would destroy both.
  const address = pathToFileURL(path);
  address.searchParams.set('mode', 'rw');
  // Processes that start together wait for the one that turns the new file to write-ahead logging.
  const database = new DatabaseSync(address, { timeout: OPENING_WAIT_MS });
  // FULL: the last commits survive a power cut; NORMAL may lose them.
  database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on');
  database.exec(`pragma busy_timeout = ${wait_ms}`);
  return database;
}

/**
 * Makes the file, where there is none, for its owner only. An existing one is never opened here, not even to close it again:
 * POSIX then drops every lock that this process holds on it, and the next process to close it would believe itself the last
 * user and delete the write-ahead log. `wx` fails on an existing file without opening it.
 */
function createFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/**
 * Takes the lock of the one service that may run on the SQLite records of a data root: rates are counted in its memory, and a
 * second one would double them. Returns what releases it; null: another process has it. Commands do not take it. An exclusive
 * transaction on a small file, because the system gives such a lock back however its holder dies.
 */
export function takeServiceLock(dataRoot: string): (() => void) | null {
  const path = join(dataRoot, 'records', 'service.lock');
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
  const database = new DatabaseSync(path);
  try {
    database.exec('pragma locking_mode = exclusive; begin exclusive');
  } catch (error) {
    database.close();
    if (((error as { readonly errcode?: number }).errcode ?? 0) === SQLITE_BUSY) return null;
    throw error;
  }
  return () => database.close();
}
