import type { z } from 'zod';
import { columns, type Table } from '../../schemas/columns.ts';
import type { PixelRuns } from '../../schemas/geo/fill.ts';
import type { Window } from '../../schemas/geo/lattice.ts';
import type { ColumnType } from '../../schemas/units.ts';
import type { Queries, SqlParameter } from '../published/duckdb.ts';

/** The rows of a list of files, given as the first parameter; the list must not be empty. */
export const FILES = 'read_parquet($1::VARCHAR[], hive_partitioning = false)';

/** Rows of a table in some files, as its schema has them; none without a file. Parameters of `rest`, after FROM, begin with $2. */
export async function readTable<Row extends z.ZodObject>(
  engine: Queries,
  table: Table<Row>,
  paths: readonly string[],
  rest: string,
  parameters: readonly SqlParameter[],
): Promise<z.infer<Row>[]> {
  if (paths.length === 0) return [];
  return engine.rows<z.infer<Row>>(`SELECT ${selectList(table)} FROM ${FILES} ${rest}`, [paths, ...parameters]);
}

/**
 * Select list of a table's columns: dates and geometries as text, so that with the engine's instants in milliseconds a result row
 * is a row of the table's schema. `from` is put before each name, such as `t.`.
 */
export function selectList(table: Table, from = ''): string {
  return columns(table)
    .map(({ name, type }) => `${expression(`${from}"${name}"`, type)} AS "${name}"`)
    .join(', ');
}

function expression(column: string, type: ColumnType): string {
  if (type === 'DATE') return `${column}::VARCHAR`;
  return type === 'GEOMETRY' ? `ST_AsText(${column})` : column;
}

/** Pixels of a region: those of a window, or of the runs in it where there are any. */
export type RegionPixels = Readonly<{ window: Window; runs: PixelRuns | null }>;

/**
 * SQL that keeps the rows of a region, after the FROM clause of a relation with the columns `"row"` and `col`, and its parameters in
 * order, numbered from `first` on.
 */
export function regionFilter({ window, runs }: RegionPixels, first: number) {
  const { row0, rows, col0, cols } = window;
  const box = `"row" BETWEEN $${first} AND $${first + 1} AND col BETWEEN $${first + 2} AND $${first + 3}`;
  const edges = [row0, row0 + rows - 1, col0, col0 + cols - 1];
  if (runs === null) return { sql: `WHERE ${box}`, parameters: edges };
  const list = (at: number) => `unnest($${first + at}::VARCHAR::INTEGER[])`;
  return {
    sql: `JOIN (SELECT ${list(4)} AS run_row, ${list(5)} AS run_start, ${list(6)} AS run_end)
      ON "row" = run_row AND col >= run_start AND col < run_end WHERE ${box}`,
    parameters: [...edges, listText(runs.row), listText(runs.start), listText(runs.end)],
  };
}

/** Numbers as DuckDB reads a list from text: a list parameter would be built value by value. */
function listText(values: Uint16Array): string {
  return `[${values.join(',')}]`;
}
