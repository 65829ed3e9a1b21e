import { setImmediate as nextTurn } from 'node:timers/promises';
import { CompiledQuery, Kysely, type QueryResult, type RawBuilder, sql, type Transaction } from 'kysely';
import { instant } from '../../schemas/time.ts';
import { type Damage, explainErrors } from './errors.ts';
import { openPostgres, type Waits } from './postgres.ts';
import type { Database } from './schema.ts';
import { openSqlite, sqlitePath } from './sqlite.ts';

/** Where the records lie: a SQLite file, or the address of a PostgreSQL database. */
type DatabaseLocation = { readonly path: string } | { readonly url: string };

/** Runs a transaction: what `work` throws rolls it back and is thrown again. */
export type Transact = <Result>(work: (rows: Transaction<Database>) => Promise<Result>) => Promise<Result>;

/** Runs a prepared statement within a transaction. */
type Execute = <Row>(rows: Transaction<Database>, query: CompiledQuery<Row>) => Promise<QueryResult<Row>>;

/** The open database: everything that differs between SQLite and PostgreSQL is here. */
export interface Store {
  readonly kind: 'sqlite' | 'postgres';
  /** Path or address, for people: never with a password. */
  readonly name: string;
  /** On SQLite, which has one writer, transactions that arrive while one commits share the next commit; on PostgreSQL each has its connection. */
  readonly transaction: Transact;
  readonly execute: Execute;
  /** What transactions are made of. */
  readonly writer: Kysely<Database>;
  /** Reads committed rows. */
  readonly reader: Kysely<Database>;
  readonly damage: Damage;
  /** Locks the rows that a SELECT found against changes until the transaction ends; empty on SQLite, which has one writer. */
  readonly forUpdate: RawBuilder<unknown>;
  /** The same, without the rows that another transaction has locked. */
  readonly skipLocked: RawBuilder<unknown>;
  /** Locks the rows that a SELECT found against deletion until the transaction ends. */
  readonly forKeyShare: RawBuilder<unknown>;
  /** Faults that the database finds in itself; [] is well. */
  readonly selfCheck: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

/**
 * One transaction, for the rows of a write. It must not read through `Store.reader`: that sees what is committed, and on one
 * connection would wait for itself.
 */
export type Writer = Readonly<{ rows: Transaction<Database>; business_id: string; now_ms: number }>;

/** The waits of a service: several times what the largest upload takes to write, and less than what a caller waits for. */
const SERVICE_WAITS: Waits = { lock_ms: 1_000, statement_ms: 1_500 };
/** Transactions of one commit on SQLite. */
const LARGEST_GROUP = 256;

/** The records of a data root: PostgreSQL where an address is set, else a SQLite file under the root. */
export function recordsLocation(dataRoot: string, databaseUrl: string | null): DatabaseLocation {
  return databaseUrl === null ? { path: sqlitePath(dataRoot) } : { url: databaseUrl };
}

/** Opens the records. PostgreSQL is not contacted before the first statement; a SQLite file is made with mode 0600. */
export function openDatabase(location: DatabaseLocation, waits: Waits = SERVICE_WAITS): Store {
  const damage: Damage = { reason: null, found: () => {} };
  const [reading, writing] = [explainErrors('reading', damage), explainErrors('writing', damage)];
  if ('path' in location) {
    const { path } = location;
    const { dialect, execute } = openSqlite(path, waits.lock_ms, writing);
    const writer = new Kysely<Database>({ dialect });
    const reader = new Kysely<Database>({ dialect: openSqlite(path, null, reading).dialect });
    return {
      ...{ kind: 'sqlite', name: path, writer, reader, damage, transaction: grouped(writer, execute) },
      execute: async (_, query) => execute(query),
      ...{ forUpdate: sql``, skipLocked: sql``, forKeyShare: sql`` },
      selfCheck: async () => {
        const { rows } = await sql<{ integrity_check: string }>`pragma integrity_check`.execute(reader);
        return rows.map((row) => row.integrity_check).filter((line) => line !== 'ok');
      },
      close: async () => {
        await reader.destroy();
        await writer.destroy();
      },
    };
  }
  const { host, pathname } = new URL(location.url);
  const dialect = openPostgres(location.url, waits);
  const writer = new Kysely<Database>({ dialect: dialect(writing) });
  const reader = new Kysely<Database>({ dialect: dialect(reading) });
  return {
    ...{ kind: 'postgres', name: `postgres://${host}${pathname}`, writer, reader, damage },
    // Whatever the database has as its default: a stricter one refuses calls that change a row at once.
    transaction: (work) => writer.transaction().setIsolationLevel('read committed').execute(work),
    execute: (rows, query) => rows.executeQuery(query),
    ...{ forUpdate: sql`for update`, skipLocked: sql`for update skip locked`, forKeyShare: sql`for key share` },
    selfCheck: async () => [],
    close: () => writer.destroy(),
  };
}

/** A transaction that waits for the next commit. */
interface Member {
  /** Runs it in a savepoint; returns what its caller is answered once the commit is made. */
  readonly run: (rows: Transaction<Database>) => Promise<() => void>;
  readonly reject: (error: unknown) => void;
}

/**
 * Transactions of one writer that share their commits, whose `fsync` is what costs: those of one turn of the event loop, and those
 * that arrive while a commit runs, form the next group. Each runs in a savepoint of its own, in order of arrival: what it throws rolls
 * back its own rows. When the commit fails, all of the group are rolled back.
 */
function grouped(writer: Kysely<Database>, execute: (query: CompiledQuery) => unknown): Transact {
  let waiting: Member[] = [];
  let isRunning = false;

  async function commitAll(): Promise<void> {
    isRunning = true;
    while (waiting.length > 0) {
      await nextTurn();
      const group = waiting.slice(0, LARGEST_GROUP);
      waiting = waiting.slice(LARGEST_GROUP);
      const answers: (() => void)[] = [];
      try {
        await writer.transaction().execute(async (rows) => {
          for (const { run } of group) answers.push(await run(rows));
        });
        for (const answer of answers) answer();
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    isRunning = false;
  }

  return (work) =>
    new Promise((resolve, reject) => {
      const run = async (rows: Transaction<Database>) => {
        execute(CompiledQuery.raw('savepoint member'));
        let answer: () => void;
        try {
          const result = await work(rows);
          answer = () => resolve(result);
        } catch (error) {
          answer = () => reject(error);
          try {
            execute(CompiledQuery.raw('rollback to member'));
          } catch {
            // After some faults SQLite rolls back everything by itself, the whole group.
            throw error;
          }
        }
        execute(CompiledQuery.raw('release member'));
        return answer;
      };
      waiting.push({ run, reject });
      if (!isRunning) void commitAll();
    });
}

/** Reads that see one state of the records, whatever is committed meanwhile. */
export async function snapshot<Result>(
  reader: Kysely<Database>,
  read: (rows: Transaction<Database>) => Promise<Result>,
): Promise<Result> {
  return await reader.transaction().setIsolationLevel('repeatable read').execute(read);
}

/** A parameter of that name in a prepared query, where a value of type T would stand. */
export function param<T extends string | number | null>(param: string): RawBuilder<T> {
  return sql<T>`${sql.val({ param })}`;
}

/**
 * A query that is built and compiled once; each call binds its parameters by name. Building and compiling cost several times what
 * SQLite needs to run a charge.
 */
export function prepare<Row>(
  query: RawBuilder<Row>,
  db: Kysely<Database>,
): (values: Readonly<Record<string, string | number | null>>) => CompiledQuery<Row> {
  const compiled = query.compile(db);
  const names = compiled.parameters.map((parameter): string | undefined => Object(parameter).param);
  return (values) => ({
    ...compiled,
    parameters: names.map((name, at) => {
      const value = name === undefined ? compiled.parameters[at] : values[name];
      if (value === undefined) throw new TypeError(`parameter ${name} has no value`);
      return value;
    }),
  });
}

/** The value of a setting, parsed JSON; undefined where there is none. `locking`: keeps it from being changed until the transaction ends. */
export async function readSetting(rows: Kysely<Database>, name: string, locking?: Store['forUpdate']) {
  const query = rows.selectFrom('settings').select('value').where('name', '=', name);
  const found = await (locking === undefined ? query : query.modifyEnd(locking)).executeTakeFirst();
  return found === undefined ? undefined : JSON.parse(found.value);
}

/** Writes a setting, over the one of its name. */
export async function writeSetting(rows: Transaction<Database>, name: string, value: unknown, now_ms: number) {
  const row = { name, value: JSON.stringify(value), noted_at: instant(now_ms) };
  await rows
    .insertInto('settings')
    .values(row)
    .onConflict((conflict) => conflict.column('name').doUpdateSet(row))
    .execute();
}
