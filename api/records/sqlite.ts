import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type QueryResult,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
  type SqliteStatement,
} from 'kysely';

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

/** SQLite whose statements see what is committed; opened once there is a connection that writes. */
export function readingSqlite(path: string): Dialect {
  return new SqliteDialect({ database: async () => connection(path, READING_WAIT_MS) });
}

/** SQLite whose transactions begin by taking the one write lock, for which they wait `lock_ms`. */
export class WritingSqlite extends SqliteDialect {
  readonly #path: string;
  readonly #lock_ms: number;
  #database: SqliteDatabase | undefined;

  constructor(path: string, lock_ms: number) {
    super({ database: async () => connection(path, 0) });
    this.#path = path;
    this.#lock_ms = lock_ms;
  }

  override createDriver(): SqliteDriver {
    const open = async () => {
      createFile(this.#path);
      this.#database = connection(this.#path, 0);
      return this.#database;
    };
    return new WritingDriver(open, this.#lock_ms);
  }

  /** Runs a statement within the open transaction, at once: the queue of Kysely costs more than a statement of a charge. */
  execute<Row>({ sql, parameters }: CompiledQuery<Row>): QueryResult<Row> {
    if (this.#database === undefined) throw new TypeError('the database is not open, expected a transaction in it');
    const statement = this.#database.prepare(sql);
    if (statement.reader) return { rows: statement.all(parameters) as Row[] };
    return { rows: [], numAffectedRows: BigInt(statement.run(parameters).changes) };
  }

  override createAdapter(): SqliteAdapter {
    return new WritingAdapter();
  }
}

class WritingDriver extends SqliteDriver {
  readonly #lock_ms: number;

  constructor(database: () => Promise<SqliteDatabase>, lock_ms: number) {
    super({ database });
    this.#lock_ms = lock_ms;
  }

  /** Between tries the event loop turns: no statement of a writer waits for a lock by itself. */
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    const until_ms = performance.now() + this.#lock_ms;
    for (;;)
      try {
        await connection.executeQuery(CompiledQuery.raw('begin immediate'));
        return;
      } catch (error) {
        if (!isBusy(error) || performance.now() > until_ms) throw error;
        await sleep(TRY_EVERY_MS);
      }
  }
}

/** Kysely makes tables within a transaction where the adapter says that this is possible; in SQLite it is. */
class WritingAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** A connection to the SQLite file, which must be there; statements are prepared once, and wait for locks for `wait_ms`. */
function connection(path: string, wait_ms: number): SqliteDatabase {
  // Never creates the file: a new one next to the log of another would destroy both.
  const address = pathToFileURL(path);
  address.searchParams.set('mode', 'rw');
  // Processes that start together wait for the one that turns the new file to write-ahead logging.
  const database = new DatabaseSync(address, { timeout: OPENING_WAIT_MS });
  // FULL: the last commits survive a power cut; NORMAL may lose them.
  database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on');
  database.exec(`pragma busy_timeout = ${wait_ms}`);
  const statements = new Map<string, SqliteStatement>();
  return {
    close: () => database.close(),
    prepare: (text) => {
      const known = statements.get(text);
      if (known) return known;
      // After some faults, such as a full disk, SQLite has rolled back by itself.
      if (text === 'rollback' && !database.isTransaction) return NOTHING;
      const statement = prepared(database.prepare(text));
      if (statements.size >= STATEMENTS_KEPT) statements.clear();
      if (text !== 'rollback') statements.set(text, statement);
      return statement;
    },
  };
}

const NOTHING: SqliteStatement = {
  reader: false,
  all: () => [],
  run: () => ({ changes: 0, lastInsertRowid: 0 }),
  iterate: () => [].values(),
};

function prepared(statement: StatementSync): SqliteStatement {
  const values = (parameters: readonly unknown[]) => parameters as readonly SQLInputValue[];
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...values(parameters)),
    run: (parameters) => statement.run(...values(parameters)),
    iterate: (parameters) => statement.iterate(...values(parameters)),
  };
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
    if (isBusy(error)) return null;
    throw error;
  }
  return () => {
    if (database.isOpen) database.close();
  };
}

function isBusy(error: unknown): boolean {
  return (((error as { readonly errcode?: number }).errcode ?? 0) & 0xff) === SQLITE_BUSY;
}
