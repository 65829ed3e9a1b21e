import { type Kysely, sql, type Transaction } from 'kysely';
import { z } from 'zod';
import type { Store } from './database.ts';
import { appliedMigrations } from './migrate.ts';
import { ALL_TABLES, type Database, type Table, type TableName } from './schema.ts';

const FORMAT = 'hail-records';
const ROWS_PER_READ = 1_000;
const ROWS_PER_INSERT = 200;
/** Rows of a table with large ones that are held at once: 11 MB. */
const LARGE_ROWS = 25;

/** Tables of a dump, in an order in which their rows may be inserted. */
const DUMPED = new Map<string, Table>(
  ALL_TABLES.filter(({ backed_up }) => backed_up).map((table) => [table.name, table]),
);

const Value = z.union([z.string(), z.number(), z.null()]);
const Row = z.record(z.string(), Value);
type Row = z.infer<typeof Row>;

const Head = z.object({ format: z.literal(FORMAT), migrations: z.array(z.string()), created_at: z.string() });
const Line = z.union([
  z.object({ table: z.enum([...DUMPED.keys()]), row: Row }),
  z.object({ rows: z.int().nonnegative() }),
]);

/**
 * The records as lines of JSON: a head, every row of every table, and their number. All of one moment, also while charges
 * are written; the same for both kinds of database. Holds digests of keys, never their text.
 */
export async function* dumpRecords(
  store: Store,
  now_ms: number,
  counted: (rows: number) => void,
): AsyncGenerator<string> {
  const transaction = await store.reader.startTransaction().setIsolationLevel('repeatable read').execute();
  try {
    const migrations = await appliedMigrations(transaction, store);
    yield line({ format: FORMAT, migrations, created_at: new Date(now_ms).toISOString() });
    let count = 0;
    for (const table of DUMPED.values())
      for await (const page of everyPage(transaction, table)) {
        yield page.map((row) => line({ table: table.name, row })).join('');
        count += page.length;
      }
    yield line({ rows: count });
    counted(count);
  } finally {
    await transaction.rollback().execute();
  }
}

function line(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}

interface RestoreOptions {
  /** Deletes what the records hold, in the same transaction. */
  readonly replace?: boolean;
  /** Goes into the same transaction, after the last row; is given their number. */
  readonly last?: (rows: Transaction<Database>, count: number) => Promise<void>;
}

/**
 * Puts a dump into empty records, all of it or nothing; returns the number of rows. Throws when the dump is cut short, is
 * of another version, or the records hold a business that is not to be replaced.
 */
export async function restoreRecords(
  store: Store,
  lines: AsyncIterable<string>,
  { replace = false, last = async () => {} }: RestoreOptions = {},
): Promise<number> {
  return await store.writer.transaction().execute(async (rows) => {
    if (replace) await deleteRows(rows);
    else if (await rows.selectFrom('businesses').select('id').limit(1).executeTakeFirst())
      throw new DumpRefused(`records ${store.name} hold businesses, expected none`, { conflict: true });
    const count = await insertLines(rows, lines, await appliedMigrations(rows, store));
    await last(rows, count);
    return count;
  });
}

/** Deletes every row, also of what belongs to the place: the records are those of another one from then on. */
async function deleteRows(rows: Transaction<Database>): Promise<void> {
  for (const { name } of ALL_TABLES.toReversed()) if (name !== 'migrations') await rows.deleteFrom(name).execute();
}

/** Rows of one table in the lines of a dump. Throws DumpRefused for a line that is not of a dump; their number is not checked. */
export async function* rowsOfDump(lines: AsyncIterable<string>, table: TableName): AsyncGenerator<Row> {
  let number = 0;
  for await (const text of lines) {
    number += 1;
    if (number === 1) parseLine(Head, text, 1);
    else {
      const found = parseLine(Line, text, number);
      if ('table' in found && found.table === table) yield found.row;
    }
  }
}

/** A dump that cannot be restored here. */
export class DumpRefused extends Error {
  /** The dump is good, but something is in its place. */
  readonly conflict: boolean;

  constructor(reason: string, { conflict = false, ...options }: ErrorOptions & { readonly conflict?: boolean } = {}) {
    super(reason, options);
    this.name = 'DumpRefused';
    this.conflict = conflict;
  }
}

async function insertLines(
  rows: Transaction<Database>,
  lines: AsyncIterable<string>,
  migrations: readonly string[],
): Promise<number> {
  const waiting = new Waiting(rows);
  let number = 0;
  let promised: number | null = null;
  for await (const text of lines) {
    number += 1;
    if (promised !== null) throw new DumpRefused(`line ${number} follows the end, expected nothing more`);
    if (number === 1) {
      checkHead(text, migrations);
      continue;
    }
    const found = parseLine(Line, text, number);
    if ('rows' in found) promised = found.rows;
    else await waiting.add(DUMPED.get(found.table) as Table, found.row);
  }
  await waiting.flush();
  if (promised !== waiting.count)
    throw new DumpRefused(`the dump holds ${waiting.count} rows, expected ${promised ?? 'an end that says how many'}`);
  return waiting.count;
}

function checkHead(text: string, migrations: readonly string[]): void {
  const head = parseLine(Head, text, 1);
  if (head.migrations.join() !== migrations.join())
    throw new DumpRefused(
      `the dump is of version ${head.migrations.at(-1) ?? 'none'}, expected ${migrations.at(-1) ?? 'none'}`,
    );
}

function parseLine<T>(schema: z.ZodType<T>, text: string, number: number): T {
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new DumpRefused(`line ${number} is not of a dump of records`, { cause });
  }
}

/** Rows on their way into the tables. */
class Waiting {
  count = 0;
  readonly #transaction: Transaction<Database>;
  #table: Table | null = null;
  #rows: Row[] = [];

  constructor(transaction: Transaction<Database>) {
    this.#transaction = transaction;
  }

  async add(table: Table, row: Row): Promise<void> {
    if (table !== this.#table || this.#rows.length === (table.has_large_rows ? LARGE_ROWS : ROWS_PER_INSERT))
      await this.flush();
    this.#table = table;
    this.#rows.push(row);
    this.count += 1;
  }

  async flush(): Promise<void> {
    const [[first], table] = [this.#rows, this.#table];
    if (first === undefined || table === null) return;
    // Rows that the database numbers get new numbers, in the same order.
    const columns = Object.keys(first).filter((column) => table.columns[column]?.type !== 'counter');
    const values = this.#rows.map((row) => sql`(${sql.join(columns.map((column) => row[column] ?? null))})`);
    await sql`insert into ${sql.table(table.name)} (${sql.join(columns.map((column) => sql.ref(column)))}) values ${sql.join(values)}`.execute(
      this.#transaction,
    );
    this.#rows = [];
  }
}

async function* everyPage(
  rows: Kysely<Database>,
  { name, primary_key: columns, has_large_rows }: Table,
): AsyncGenerator<readonly Row[]> {
  const limit = has_large_rows ? LARGE_ROWS : ROWS_PER_READ;
  const key = sql.join(columns.map((column) => sql.ref(column)));
  let last: Row | undefined;
  for (;;) {
    const after = last;
    const where =
      after === undefined ? sql`` : sql`where (${key}) > (${sql.join(columns.map((column) => after[column]))})`;
    const query = sql<Row>`select * from ${sql.table(name)} ${where} order by ${key} limit ${sql.lit(limit)}`;
    const page: readonly Row[] = (await query.execute(rows)).rows;
    if (page.length > 0) yield page;
    if (page.length < limit) return;
    last = page.at(-1);
  }
}
