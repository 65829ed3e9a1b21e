import { tmpdir } from 'node:os';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';

/** An in-memory DuckDB; there is no database file. */
export interface Engine {
  readonly connection: DuckDBConnection;
  /** Rows of a query as plain objects: every number as number, DATE and TIMESTAMPTZ as epoch milliseconds. */
  readonly rows: <Row>(sql: string, parameters?: readonly (string | number | null)[]) => Promise<Row[]>;
  readonly close: () => void;
}

const THREADS = 2;
const MEMORY_LIMIT = '1GB';

/** Opens an engine. Data that do not fit into its memory spill to `spill_folder`, never to the working directory. */
export async function openEngine(spill_folder = tmpdir()): Promise<Engine> {
  const options = { threads: String(THREADS), memory_limit: MEMORY_LIMIT, temp_directory: spill_folder };
  const instance = await DuckDBInstance.create(':memory:', options);
  const connection = await instance.connect();
  // A published file is read once or twice: a cache would fill the memory of a run of many dates.
  await connection.run('SET enable_external_file_cache = false');
  // Dates and hours of instants are UTC, whatever the machine.
  await connection.run("SET TimeZone = 'UTC'");
  return {
    connection,
    rows: async <Row>(sql: string, parameters: readonly (string | number | null)[] = []) => {
      const reader = await connection.runAndReadAll(sql, [...parameters]);
      return rowsOf(reader.deduplicatedColumnNames(), reader.getColumnsJS()) as Row[];
    },
    close: () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

/** Rows from columns; converting whole columns is several times faster than row by row. */
function rowsOf(names: readonly string[], columns: readonly (readonly unknown[])[]): Record<string, unknown>[] {
  const converted = columns.map((values) => (values.some(isWide) ? values.map(plain) : values));
  const length = converted[0]?.length ?? 0;
  return Array.from({ length }, (_, index) => {
    const row: Record<string, unknown> = {};
    for (let column = 0; column < names.length; column++) row[names[column] as string] = converted[column]?.[index];
    return row;
  });
}

function isWide(value: unknown): boolean {
  return typeof value === 'bigint' || value instanceof Date;
}

function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  return value instanceof Date ? value.getTime() : value;
}

/** A path as a SQL string literal, for the places where DuckDB takes no bound parameter. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A list of paths as a SQL list literal. */
export function sqlList(texts: readonly string[]): string {
  return `[${texts.map(sqlText).join(', ')}]`;
}
