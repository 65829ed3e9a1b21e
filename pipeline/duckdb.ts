import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';

/** One in-memory engine; nothing is kept in a database file. */
export interface Engine {
  readonly connection: DuckDBConnection;
  /** Rows of a query as plain objects: DOUBLE and INTEGER as number, BIGINT as number, DATE and TIMESTAMP as text. */
  readonly rows: <Row>(sql: string, parameters?: readonly (string | number | null)[]) => Promise<Row[]>;
  readonly close: () => void;
}

/** Opens an engine; `threads` bounds its workers. */
export async function openEngine(threads = 2): Promise<Engine> {
  const instance = await DuckDBInstance.create(':memory:', { threads: String(threads), memory_limit: '1GB' });
  const connection = await instance.connect();
  // Files are read once and never change under their name: their footers may be remembered.
  await connection.run('SET parquet_metadata_cache = true');
  return {
    connection,
    rows: async <Row>(sql: string, parameters: readonly (string | number | null)[] = []) => {
      const reader = await connection.runAndReadAll(sql, [...parameters]);
      return reader.getRowObjectsJS().map(plain) as Row[];
    },
    close: () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

function plain(row: Record<string, unknown>): Record<string, unknown> {
  for (const [name, value] of Object.entries(row)) {
    if (typeof value === 'bigint') row[name] = Number(value);
    else if (value instanceof Date) row[name] = value.getTime();
  }
  return row;
}

/** A path as a SQL string literal, for the places where DuckDB takes no bound parameter. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A list of paths as a SQL list literal. */
export function sqlList(texts: readonly string[]): string {
  return `[${texts.map(sqlText).join(', ')}]`;
}
