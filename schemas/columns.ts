import { z } from 'zod';
import type { MixedProvenance } from './provenance.ts';
import type { ColumnType } from './units.ts';

/** One column of a published table, as the table's zod object declares it. */
export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  readonly nullable: boolean;
  readonly description: string;
  readonly unit: string | null;
}

/** A published table: its name on disk, its row shape, the version of that shape, and the order of its rows. */
export interface Table<Row extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly row: Row;
  readonly schema_version: number;
  /** SQL ORDER BY of a file's rows, so that row groups prune in space. */
  readonly order: string;
}

/** Declares a table; the row type is inferred from its zod object. */
export function table<Row extends z.ZodObject>(definition: Table<Row>): Table<Row> {
  return definition;
}

/** SQL of the rows of files of one table; `files` is a SQL list of paths. */
export function rowsSql(files: string): string {
  return `SELECT * FROM read_parquet(${files}, hive_partitioning = false)`;
}

/** Columns of a table in declaration order; throws when a field has no column type. */
export function columns(definition: Table): Column[] {
  return Object.entries(definition.row.shape).map(([name, field]) => {
    const nullable = field instanceof z.ZodNullable;
    const inner = (nullable ? field.unwrap() : field) as z.ZodType;
    const meta = inner.meta() as { column?: ColumnType; description?: string; unit?: string } | undefined;
    if (!meta?.column) throw new TypeError(`table ${definition.name}: field ${name} has no column type`);
    return { name, type: meta.column, nullable, description: meta.description ?? '', unit: meta.unit ?? null };
  });
}

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
    return [name, { unit: type === 'TIMESTAMPTZ' ? INSTANT_UNITS[container] : unit, description }];
  });
  return JSON.stringify(Object.fromEntries(notes));
}
