import { columns, type Table } from './columns.ts';
import type { MixedSource } from './data-source.ts';

/**
 * What a table file says of itself, in the key-value metadata of Parquet and Arrow alike, because files travel without their
 * manifest: its table, the version of its schema, whether its data are observed, and unit and description of every column.
 */
export function fileNotes(
  table: Table,
  source: MixedSource,
): Record<'hail_table' | 'schema_version' | 'source' | 'columns', string> {
  return {
    hail_table: table.name,
    schema_version: String(table.schema_version),
    source,
    columns: JSON.stringify(
      Object.fromEntries(columns(table).map(({ name, unit, description }) => [name, { unit, description }])),
    ),
  };
}
