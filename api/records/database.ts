import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import {
  type Dialect,
  Kysely,
  PostgresDialect,
  type RawBuilder,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
  type SqliteStatement,
  sql,
} from 'kysely';
import pg from 'pg';
import { guarded } from './guard.ts';
import { OpenFiles } from './open-files.ts';
import type { Database } from './tables.ts';
import { Troubles } from './troubles.ts';
import { WriteLock } from './write-lock.ts';

/** Where the records lie: a SQLite file, or the address of a PostgreSQL database. */
export type Location = { readonly path: string } | { readonly url: string };

/** The records database: everything that differs between the two dialects is here. */
export interface Store {
  readonly kind: 'sqlite' | 'postgres';
  /** Where it lies, for people: never with a password. */
  readonly name: string;
  /** One transaction at a time on SQLite; on PostgreSQL, one on each of its connections. */
  readonly writer: Kysely<Database>;
  /** Sees what is committed. */
  readonly reader: Kysely<Database>;
  /** What the writers of several processes take turns with on SQLite; null on PostgreSQL, which locks rows. */
  readonly lock: WriteLock | null;
  /** The open files of SQLite, compared with their names; null on PostgreSQL. */
  readonly files: OpenFiles | null;
  /** What the database was seen to fail at. */
  readonly troubles: Troubles;
  /** Column type of text that sorts by code points. */
  readonly text: RawBuilder<string>;
  /** Column type of a number that counts up by itself. */
  readonly counter: RawBuilder<number>;
  /** Keeps other processes from migrating until the transaction ends; false when one of them is at it. */
  readonly lockMigrations: (rows: Kysely<Database>) => Promise<boolean>;
  /** Whether a table exists. */
  readonly hasTable: (rows: Kysely<Database>, table: string) => Promise<boolean>;
  /** Faults that the database finds in itself; [] is well. */
  readonly selfCheck: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

/** How long opening a file waits for another process: before anything is served, so it may hold up the event loop. */
const OPENING_WAIT_MS = 5_000;
/** How long a read may hold up the event loop. Writers never keep readers out; the repair after another's death does, briefly. */
const READING_WAIT_MS = 10;
const POSTGRES_CONNECTIONS = 10;
const POSTGRES_CONNECT_TIMEOUT_MS = 3_000;
const POSTGRES_QUERY_TIMEOUT_MS = 15_000;
/** Any number will do, as long as it is always the same. */
const MIGRATION_LOCK = 7_241_901;

/** The records of a data root: PostgreSQL where an address is set, else a SQLite file under the root. */
export function recordsLocation(dataRoot: string, databaseUrl: string | null): Location {
  return databaseUrl === null ? { path: join(dataRoot, 'records', 'hail.sqlite') } : { url: databaseUrl };
}

/** Opens the records. PostgreSQL is not contacted before the first statement; a SQLite file is made with mode 0600. */
export function openDatabase(location: Location): Store {
  return 'path' in location ? openSqlite(location.path) : openPostgres(location.url);
}

function openSqlite(path: string): Store {
  const lock = new WriteLock();
  return sqliteStore(path, lock, new WritingSqlite(path, lock), new ReadingSqlite(path));
}

/** The records in a SQLite file: one connection that writes, one that reads. */
export function sqliteStore(path: string, lock: WriteLock, writing: Dialect, reading: Dialect): Store {
  const files = new OpenFiles(path);
  const troubles = new Troubles();
  const writer = new Kysely<Database>({ dialect: guarded(writing, 'writing', troubles, files) });
  const reader = new Kysely<Database>({ dialect: guarded(reading, 'reading', troubles, files) });
  return {
    kind: 'sqlite',
    name: path,
    writer,
    reader,
    lock,
    files,
    troubles,
    text: sql`text`,
    counter: sql`integer primary key autoincrement`,
    // The writing transaction is begun immediate: it is the lock.
    lockMigrations: async () => true,
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
  const pool = new pg.Pool({
    connectionString: url,
    max: POSTGRES_CONNECTIONS,
    connectionTimeoutMillis: POSTGRES_CONNECT_TIMEOUT_MS,
    query_timeout: POSTGRES_QUERY_TIMEOUT_MS,
    idle_in_transaction_session_timeout: POSTGRES_QUERY_TIMEOUT_MS,
    types: { getTypeParser },
  });
  // A connection that breaks is replaced by the pool, and its statement is rejected; without listeners the event, which
  // comes for idle and for busy ones, would end the process.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  const { host, pathname } = new URL(url);
  return postgresStore(`postgres://${host}${pathname}`, new PostgresDialect({ pool }), () => pool.end());
}

/**
 * The records over any dialect of PostgreSQL. `name` is for people; `close` ends the connections that the dialect was
 * given. Sums and counts must arrive as numbers.
 */
export function postgresStore(name: string, dialect: Dialect, close: () => Promise<void>): Store {
  const troubles = new Troubles();
  return {
    kind: 'postgres',
    name,
    writer: new Kysely<Database>({ dialect: guarded(dialect, 'writing', troubles) }),
    reader: new Kysely<Database>({ dialect: guarded(dialect, 'reading', troubles) }),
    lock: null,
    files: null,
    troubles,
    text: sql`text collate "C"`,
    counter: sql`bigint generated by default as identity primary key`,
    lockMigrations: async (rows) => {
      const lock = sql<{ taken: boolean }>`select pg_try_advisory_xact_lock(${sql.lit(MIGRATION_LOCK)}) as taken`;
      return (await lock.execute(rows)).rows[0]?.taken === true;
    },
    hasTable: (rows, table) => exists(rows, sql`select 1 where to_regclass(${table}) is not null`),
    selfCheck: async () => [],
    close,
  };
}

/** BIGINT and NUMERIC as numbers: credits and sums stay far below 2 ** 53. */
const getTypeParser: pg.CustomTypesConfig['getTypeParser'] = (oid, format) =>
  oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC ? Number : pg.types.getTypeParser(oid, format);

async function exists(rows: Kysely<Database>, query: RawBuilder<unknown>): Promise<boolean> {
  return (await query.execute(rows)).rows.length > 0;
}

/** A connection to the SQLite file, which must be there, as Kysely takes it; statements are prepared once, and wait for locks for `wait_ms`. */
function sqlite(path: string, wait_ms: number): SqliteDatabase {
  // Not to be made by whoever comes late: beside the log of another file it would be the end of both.
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
