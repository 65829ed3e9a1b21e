import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import {
  BOOLEAN,
  DOUBLE,
  type DuckDBConnection,
  DuckDBInstance,
  type DuckDBType,
  type DuckDBValue,
  LIST,
  listValue,
  SQLNULL,
  VARCHAR,
} from '@duckdb/node-api';

/** What a statement may be given: `$1`, `$2`, …; a list is for `read_parquet($1::VARCHAR[], …)`, numbers are DOUBLE. */
export type Parameter = string | number | boolean | null | readonly string[];

/** Values of each column of a result, by name: numbers, texts, booleans or null; DATE and TIMESTAMP as epoch milliseconds. */
export type Columns<Name extends string = string> = Readonly<Record<Name, readonly unknown[]>>;

/**
 * Runs statements over published files, several at a time. It can read the data root and nothing else, and cannot be talked
 * out of it. Both functions throw QueryTimeout when a statement takes too long, and DuckDB's error when a file is missing.
 */
export interface Engine {
  /** Rows as plain objects. An empty list of paths is an error of DuckDB: callers answer it themselves. */
  readonly rows: <Row>(sql: string, parameters?: readonly Parameter[]) => Promise<Row[]>;
  /** The same as columns, for results of many rows. */
  readonly columns: <Name extends string>(sql: string, parameters?: readonly Parameter[]) => Promise<Columns<Name>>;
  readonly close: () => void;
}

/** A statement ran longer than it may and was interrupted. */
export class QueryTimeout extends Error {
  constructor(limit_ms: number) {
    super(`a query took longer than ${limit_ms} ms and was interrupted`);
    this.name = 'QueryTimeout';
  }
}

/** Statements that run at the same time; what comes on top waits its turn. */
const CONNECTIONS = 4;
/** More threads than this make no point query faster. */
const THREADS_MAX = 4;
const MEMORY_LIMIT = '320MB';
/** Below the 30 s after which a request is given up. */
const STATEMENT_LIMIT_MS = 20_000;
const INTERRUPT_EVERY_MS = 100;

/** Opens an engine over a data root. `limit_ms` bounds each statement. */
export async function openEngine(dataRoot: string, limit_ms = STATEMENT_LIMIT_MS): Promise<Engine> {
  const instance = await DuckDBInstance.create(':memory:', {
    threads: String(Math.min(THREADS_MAX, Math.max(2, availableParallelism()))),
    memory_limit: MEMORY_LIMIT,
    // The system's own cache holds the files as well, outside our memory.
    enable_external_file_cache: 'false',
    temp_directory: join(tmpdir(), `hail-spill-${process.pid}`),
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  });
  const connections: DuckDBConnection[] = [];
  for (let n = 0; n < CONNECTIONS; n++) connections.push(await configured(await instance.connect()));
  await lockDown(connections[0] as DuckDBConnection, dataRoot);
  const idle = [...connections];
  const waiting: ((connection: DuckDBConnection) => void)[] = [];

  const run = async (sql: string, parameters: readonly Parameter[]) => {
    const connection = idle.pop() ?? (await new Promise<DuckDBConnection>((take) => waiting.push(take)));
    try {
      return await withinTime(connection, limit_ms, sql, parameters);
    } finally {
      const next = waiting.shift();
      if (next === undefined) idle.push(connection);
      else next(connection);
    }
  };

  return {
    rows: async <Row>(sql: string, parameters: readonly Parameter[] = []) => {
      const { names, columns } = await run(sql, parameters);
      return rowsOf(names, columns) as Row[];
    },
    columns: async (sql, parameters = []) => {
      const { names, columns } = await run(sql, parameters);
      return Object.fromEntries(names.map((name, index) => [name, columns[index] ?? []])) as Columns;
    },
    close: () => {
      for (const connection of connections) connection.closeSync();
      instance.closeSync();
    },
  };
}

/** Settings that each connection has of its own. */
async function configured(connection: DuckDBConnection): Promise<DuckDBConnection> {
  // Published files never change under their name: their footers may be remembered.
  await connection.run('SET parquet_metadata_cache = true');
  await connection.run("SET TimeZone = 'UTC'");
  return connection;
}

/** From here on only files below the data root can be opened, and no setting can be changed. */
async function lockDown(connection: DuckDBConnection, dataRoot: string): Promise<void> {
  const folder = `${resolve(dataRoot)}/`.replaceAll("'", "''");
  await connection.run(`SET allowed_directories = ['${folder}']`);
  await connection.run('SET enable_external_access = false');
  await connection.run('SET lock_configuration = true');
}

async function withinTime(
  connection: DuckDBConnection,
  limit_ms: number,
  sql: string,
  parameters: readonly Parameter[],
) {
  let late = false;
  // An interrupt that comes before the statement has begun is forgotten: it is said again until the statement ends.
  let again: NodeJS.Timeout | undefined;
  const first = setTimeout(() => {
    late = true;
    connection.interrupt();
    again = setInterval(() => connection.interrupt(), INTERRUPT_EVERY_MS);
  }, limit_ms);
  try {
    const reader = await connection.runAndReadAll(sql, parameters.map(bound), parameters.map(typeOf));
    return { names: reader.deduplicatedColumnNames(), columns: reader.getColumnsJS().map(plainColumn) };
  } catch (error) {
    throw late ? new QueryTimeout(limit_ms) : error;
  } finally {
    clearTimeout(first);
    clearInterval(again);
  }
}

function bound(parameter: Parameter): DuckDBValue {
  return isList(parameter) ? listValue([...parameter]) : parameter;
}

function isList(parameter: Parameter): parameter is readonly string[] {
  return Array.isArray(parameter);
}

function typeOf(parameter: Parameter): DuckDBType {
  if (isList(parameter)) return LIST(VARCHAR);
  if (parameter === null) return SQLNULL;
  if (typeof parameter === 'boolean') return BOOLEAN;
  return typeof parameter === 'number' ? DOUBLE : VARCHAR;
}

function rowsOf(names: readonly string[], columns: readonly (readonly unknown[])[]): Record<string, unknown>[] {
  return Array.from({ length: columns[0]?.length ?? 0 }, (_, index) => {
    const row: Record<string, unknown> = {};
    for (let column = 0; column < names.length; column++) row[names[column] as string] = columns[column]?.[index];
    return row;
  });
}

function plainColumn(values: readonly unknown[]): readonly unknown[] {
  return values.some(isWide) ? values.map(plain) : values;
}

function isWide(value: unknown): boolean {
  return typeof value === 'bigint' || value instanceof Date;
}

function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  return value instanceof Date ? value.getTime() : value;
}
