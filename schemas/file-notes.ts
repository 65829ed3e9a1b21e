import { columns, type Table } from './columns.ts';
import type { MixedProvenance } from './provenance.ts';

/** Unit of the instants in a file: Parquet has microseconds, Arrow milliseconds. */
const INSTANT_UNITS = { parquet: 'us since 1970 UTC', arrow: 'ms since 1970 UTC' } as const;
type Container = keyof typeof INSTANT_UNITS;

/**
 * Key-value metadata of a table file, but for the unit of instants the same in Parquet and Arrow, because files are copied without their manifest: its table,
 * the version of its schema, its provenance, and unit and description of every column.
 */
export function fileNotes(
  table: Table,
  provenance: MixedProvenance,
  container: Container,
): Record<'hail_table' | 'schema_version' | 'source' | 'columns', string> {
  return {
    hail_table: table.name,
    schema_version: String(table.schema_version),
    source: provenance,
    columns: columnNotes(table, container),
  };
}

/** Unit and description of every column of a table, as JSON. */
export function columnNotes(table: Table, container: Container): string {
  const notes = columns(table).map(({ name, type, unit, description }) => {
    return [name, { unit: type === 'TIMESTAMP' ? INSTANT_UNITS[container] : unit, description }];
  });
  return JSON.stringify(Object.fromEntries(notes));
}
