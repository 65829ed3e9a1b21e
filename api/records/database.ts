import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import {
  type Dialect,
  Kysely,
  type RawBuilder,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
  type SqliteStatement,
  sql,
  type Transaction,
} from 'kysely';
import { DatabaseHealth } from './database-health.ts';
import { RecordsUnavailable } from './errors.ts';
import { withMappedErrors } from './mapped-errors.ts';
import { OpenFiles } from './open-files.ts';
import { PostgresServer, type Waits } from './postgres.ts';
import { type RowTurns, rowTurns } from './row-turns.ts';
import { ALL_TABLES, type Column, type Database } from './schema.ts';
import { WriteLock } from './sqlite-locks.ts';

/** Where the records lie: a SQLite file, or the address of a PostgreSQL database. */
export type DatabaseLocation = { readonly path: string } | { readonly url: string };

/** The database: everything that differs between SQLite and PostgreSQL is here. */
export interface Store {
  readonly kind: 'sqlite' | 'postgres';
  /** Path or address, for people: never with a password. */
  readonly name: string;
  /** One transaction at a time on SQLite; on PostgreSQL, one on each of its connections. */
  readonly writer: Kysely<Database>;
  /** Sees what is committed. */
  readonly reader: Kysely<Database>;
  /** The open files of SQLite, compared with their names; null on PostgreSQL. */
  readonly files: OpenFiles | null;
  /** Failures that were seen. */
  readonly health: DatabaseHealth;
  /** Refuses no caller, and commits nothing: for looking up the outcome of a transaction. */
  readonly outOfBand: Kysely<Database>;
  /** True while writers are known to be kept out: they are refused at once. */
  readonly writersBlocked: () => boolean;
  /** Replaces the waits of the start. */
  readonly setWaits: (waits: Waits) => void;
  /** Transactions that lock the same row take turns; on SQLite all do. */
  readonly inTurn: RowTurns;
  /** Locks the rows that a SELECT found against changes until the transaction ends; empty on SQLite, which has one writer. */
  readonly forUpdate: RawBuilder<unknown>;
  /** The same, without the rows that another transaction has locked. */
  readonly skipLocked: RawBuilder<unknown>;
  /** Locks the rows that a SELECT found against deletion until the transaction ends. */
  readonly forKeyShare: RawBuilder<unknown>;
  /** Types of columns: text sorts by code points, a counter is a primary key that counts up by itself. */
  readonly columnTypes: Readonly<Record<Column['type'], RawBuilder<unknown>>>;
  /** Keeps other processes from migrating until the transaction ends; false when one of them does now. */
  readonly lockMigrations: (rows: Kysely<Database>) => Promise<boolean>;
  /** Waits for the charges under way, and blocks others until the transaction ends; on SQLite the one writer does that. */
  readonly lockCharges: (rows: Kysely<Database>) => Promise<void>;
  /**
   * Names the transaction, so that its outcome can be looked up. Null on SQLite: a COMMIT that fails has changed nothing, and no
   * answer is lost within a process.
   */
  readonly transactionId: (rows: Kysely<Database>) => Promise<string | null>;
  /** Whether a named transaction was committed. Throws RecordsUnavailable while it is open. */
  readonly wasCommitted: (transaction_id: string) => Promise<boolean>;
  /** Whether a table exists. */
  readonly hasTable: (rows: Kysely<Database>, table: string) => Promise<boolean>;
  /** Faults that the database finds in itself; [] is well. */
  readonly selfCheck: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

/** Runs a transaction. Where the answer to its COMMIT is lost, its outcome is looked up. */
export type Transact = <Result>(work: (rows: Transaction<Database>) => Promise<Result>) => Promise<Result>;

/** An open database with its tables up to date. */
export interface OpenStore {
  readonly store: Store;
  /** Reads outside any transaction. */
  readonly reader: Kysely<Database>;
  /** One transaction that is neither charged nor claimed: an operator's, or housekeeping. */
  readonly transaction: Transact;
}

/**
 * One transaction, for the rows of a write. It must not read through `OpenStore.reader`: that sees what is committed, and on one
 * connection would wait for itself.
 */
export interface Writer {
  readonly rows: Transaction<Database>;
  readonly business_id: string;
  readonly now_ms: number;
}

/** How long opening a file waits for another process: before anything is served, so it may hold up the event loop. */
const OPENING_WAIT_MS = 5_000;
/** How long a read may hold up the event loop. Writers never keep readers out; the repair after another's death does, briefly. */
const READING_WAIT_MS = 10;
/** Any number will do, as long as it is always the same. */
const MIGRATION_LOCK = 7_241_901;
const INVALID_PARAMETER_VALUE = '22023';

const NUMBERS = { whole: sql`bigint`, real: sql`double precision` } as const;

/** SQLite file of the records of a data root. */
export function sqlitePath(dataRoot: string): string {
  return join(dataRoot, 'records', 'hail.sqlite');
}

/** The records of a data root: PostgreSQL where an address is set, else a SQLite file under the root. */
export function recordsLocation(dataRoot: string, databaseUrl: string | null): DatabaseLocation {
  return databaseUrl === null ? { path: sqlitePath(dataRoot) } : { url: databaseUrl };
}

/** File of a data root that keeps commits in doubt over a restart: where the database cannot be reached, the disk can. */
export function journalPath(dataRoot: string): string {
  return join(dataRoot, 'records', 'commits-in-doubt.jsonl');
}

/** Opens the records. PostgreSQL is not contacted before the first statement; a SQLite file is made with mode 0600. */
export function openDatabase(location: DatabaseLocation): Store {
  return 'path' in location ? openSqlite(location.path) : openPostgres(location.url);
}

function openSqlite(path: string): Store {
  const lock = new WriteLock();
  return sqliteStore(path, lock, new WritingSqlite(path, lock), new ReadingSqlite(path));
}

/** The records in a SQLite file: one connection that writes, one that reads. */
export function sqliteStore(path: string, lock: WriteLock, writing: Dialect, reading: Dialect): Store {
  const files = new OpenFiles(path);
  const health = new DatabaseHealth();
  const writer = new Kysely<Database>({ dialect: withMappedErrors(writing, 'writing', health, files) });
  const reader = new Kysely<Database>({ dialect: withMappedErrors(reading, 'reading', health, files) });
  return {
    kind: 'sqlite',
    name: path,
    writer,
    reader,
    files,
    health,
    // One writer at a time: a read sees what its last transaction committed.
    outOfBand: reader,
    writersBlocked: () => lock.writersBlocked,
    setWaits: ({ lock_ms }) => {
      lock.wait_ms = lock_ms;
    },
    inTurn: (_, transaction) => transaction(),
    forUpdate: sql``,
    skipLocked: sql``,
    forKeyShare: sql``,
    columnTypes: { ...NUMBERS, text: sql`text`, counter: sql`integer primary key autoincrement` },
    // The writing transaction is begun immediate: it is the lock.
    lockMigrations: async () => true,
    lockCharges: async () => {},
    transactionId: async () => null,
    wasCommitted: async () => false,
    hasTable: (rows, table) => exists(rows, sql`select 1 from sqlite_master where type = 'table' and name = ${table}`),
    selfCheck: async () => {
      const { rows } = await sql<{ integrity_check: string }>`pragma integrity_check`.execute(reader);
      return rows.map((row) => row.integrity_check).filter((line) => line !== 'ok');
    },
    close: async () => {
      files.close();
      await reader.destroy();
      await writer.destroy();
    },
  };
}

function openPostgres(url: string): Store {
  // Migrations are written at the start alone.
  const written = ALL_TABLES.map(({ name }) => name).filter((name) => name !== 'migrations');
  const server = new PostgresServer(url, written);
  const { host, pathname } = new URL(url);
  return {
    ...postgresStore(`postgres://${host}${pathname}`, server, () => server.close()),
    writersBlocked: () => server.writersBlocked,
    setWaits: (waits) => server.setWaits(waits),
    inTurn: rowTurns(() => server.lock_ms),
  };
}

/** Dialects of the same PostgreSQL database: for writing, for reading, and for what must not be refused. */
type Dialects = Pick<PostgresServer, 'writing' | 'reading' | 'outOfBand'>;

/**
 * The records over dialects of PostgreSQL. `name` is for people; `close` ends the connections that the dialects were
 * given. Sums and counts must arrive as numbers.
 */
export function postgresStore(
  name: string,
  { writing, reading, outOfBand }: Dialects,
  close: () => Promise<void>,
): Store {
  const health = new DatabaseHealth();
  const outOfBandRows = new Kysely<Database>({ dialect: withMappedErrors(outOfBand, 'reading', health) });
  return {
    kind: 'postgres',
    name,
    writer: new Kysely<Database>({ dialect: withMappedErrors(writing, 'writing', health) }),
    reader: new Kysely<Database>({ dialect: withMappedErrors(reading, 'reading', health) }),
    outOfBand: outOfBandRows,
    files: null,
    health,
    writersBlocked: () => false,
    setWaits: () => {},
    inTurn: (_, transaction) => transaction(),
    forUpdate: sql`for update`,
    skipLocked: sql`for update skip locked`,
    forKeyShare: sql`for key share`,
    columnTypes: {
      ...NUMBERS,
      text: sql`text collate "C"`,
      counter: sql`bigint generated by default as identity primary key`,
    },
    lockMigrations: async (rows) => {
      const lock = sql<{ taken: boolean }>`select pg_try_advisory_xact_lock(${sql.lit(MIGRATION_LOCK)}) as taken`;
      return (await lock.execute(rows)).rows[0]?.taken === true;
    },
    // Every charge changes a row of it first; one that waits sees what is committed then.
    lockCharges: async (rows) => {
      await sql`lock table periods in share row exclusive mode`.execute(rows);
    },
    transactionId: async (rows) => {
      // The INSERT of no row fails where the session may only read, also in a transaction that has written nothing.
      const query = sql<{ id: string }>`with written as (insert into probes (name, at) select '', '' where false)
        select pg_current_xact_id()::text as id`;
      return (await query.execute(rows)).rows[0]?.id ?? null;
    },
    wasCommitted: async (id) => {
      const query = sql<{ status: string | null }>`select pg_xact_status(cast(${id} as xid8)) as status`;
      const { rows } = await query.execute(outOfBandRows).catch((error: { readonly code?: unknown }) => {
        // The number is ahead of those of a standby that took over: it never saw the transaction.
        if (error.code === INVALID_PARAMETER_VALUE) return { rows: [] };
        throw error;
      });
      const status = rows[0]?.status;
      if (status === 'in progress') throw new RecordsUnavailable(`transaction ${id} is open, expected its end`);
      return status === 'committed';
    },
    hasTable: (rows, table) => exists(rows, sql`select 1 where to_regclass(${table}) is not null`),
    selfCheck: async () => [],
    close,
  };
}

async function exists(rows: Kysely<Database>, query: RawBuilder<unknown>): Promise<boolean> {
  return (await query.execute(rows)).rows.length > 0;
}

/** A connection to the SQLite file, which must be there, as Kysely takes it; statements are prepared once, and wait for locks for `wait_ms`. */
function sqlite(path: string, wait_ms: number): SqliteDatabase {
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
      const statement = sqliteStatement(database.prepare(text));
      if (statements.size >= STATEMENTS_KEPT) statements.clear();
      if (text !== 'rollback') statements.set(text, statement);
      return statement;
    },
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

const STATEMENTS_KEPT = 500;
const NOTHING: SqliteStatement = {
  reader: false,
  all: () => [],
  run: () => ({ changes: 0, lastInsertRowid: 0 }),
  iterate: () => [].values(),
};

function sqliteStatement(statement: StatementSync): SqliteStatement {
  const values = (parameters: readonly unknown[]) => parameters as readonly SQLInputValue[];
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...values(parameters)),
    run: (parameters) => statement.run(...values(parameters)),
    iterate: (parameters) => statement.iterate(...values(parameters)),
  };
}

/** SQLite whose statements see what is committed; opened once there is a connection that writes. */
export class ReadingSqlite extends SqliteDialect {
  constructor(path: string) {
    super({ database: async () => sqlite(path, READING_WAIT_MS) });
  }
}

/** SQLite whose transactions begin by taking the one write lock. */
export class WritingSqlite extends SqliteDialect {
  readonly #open: () => Promise<SqliteDatabase>;
  readonly #lock: WriteLock;

  constructor(path: string, lock: WriteLock) {
    // Waiting is the lock's part: no statement of a writer holds up the event loop.
    const open = async () => {
      createFile(path);
      return lock.of(sqlite(path, 0));
    };
    super({ database: open });
    this.#open = open;
    this.#lock = lock;
  }

  override createDriver(): SqliteDriver {
    return new WritingSqliteDriver(this.#open, this.#lock);
  }
}

class WritingSqliteDriver extends SqliteDriver {
  readonly #lock: WriteLock;

  constructor(database: () => Promise<SqliteDatabase>, lock: WriteLock) {
    super({ database });
    this.#lock = lock;
  }

  override async beginTransaction(): Promise<void> {
    await this.#lock.begin();
  }

  override async destroy(): Promise<void> {
    this.#lock.close();
    await super.destroy();
  }
}

/** Reads that see one state of the records, whatever is committed meanwhile. */
export async function snapshot<Result>(
  reader: Kysely<Database>,
  read: (rows: Transaction<Database>) => Promise<Result>,
): Promise<Result> {
  return await reader.transaction().setIsolationLevel('repeatable read').execute(read);
}
