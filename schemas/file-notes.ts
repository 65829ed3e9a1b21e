import { columns, type Table } from './columns.ts';
import type { MixedProvenance } from './provenance.ts';

/**
 * Key-value metadata of a table file, the same in Parquet and Arrow, because files are copied without their manifest: its table,
 * the version of its schema, its provenance, and unit and description of every column.
 */
export function fileNotes(
  table: Table,
  provenance: MixedProvenance,
): Record<'hail_table' | 'schema_version' | 'source' | 'columns', string> {
  return {
    hail_table: table.name,
    schema_version: String(table.schema_version),
    source: provenance,
    columns: columnNotes(table),
  };
}

/** Unit and description of every column of a table, as JSON. */
export function columnNotes(table: Table): string {
  return JSON.stringify(
    Object.fromEntries(columns(table).map(({ name, unit, description }) => [name, { unit, description }])),
  );
}
