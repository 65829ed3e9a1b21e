import { columns, rowsSql, type Table } from '../../schemas/columns.ts';
import type { ColumnType } from '../../schemas/units.ts';

/**
 * Select list of a table's columns, all or some: dates and geometries as text, so that with the engine's instants in
 * milliseconds a result row is a row of the table's schema. `from` is put before each name, such as `t.`.
 */
export function selectList<Name extends string>(table: Table, names?: readonly Name[], from = ''): string {
  const wanted = names === undefined ? null : new Set<string>(names);
  return columns(table)
    .filter(({ name }) => wanted?.has(name) ?? true)
    .map(({ name, type }) => `${expression(`${from}"${name}"`, type)} AS "${name}"`)
    .join(', ');
}

function expression(column: string, type: ColumnType): string {
  if (type === 'DATE') return `${column}::VARCHAR`;
  return type === 'GEOMETRY' ? `ST_AsText(${column})` : column;
}

/** The same with null for the columns that older files lack, which have to be looked at one by one first. */
export function filesOfAnyVersion(table: Table): string {
  return `(${rowsSql(table, '$1::VARCHAR[]')})`;
}

/** The rows of a list of files, given as the first parameter; the list must not be empty. */
export const FILES = 'read_parquet($1::VARCHAR[], hive_partitioning = false)';
