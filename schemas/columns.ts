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

/** How files of older versions of a table differ from those of today; they read as if they did not. */
export interface OlderFiles {
  readonly readable_from: number;
  /** Columns that some of them lack; they read as null. */
  readonly without: readonly string[];
  /** The first version whose files lack none; the newest one when left out. */
  readonly complete_from?: number;
  /** Columns that have another type in some of them; they read as the type of today. */
  readonly retyped?: readonly string[];
}

/** A published table: its name on disk, its row shape, the version of that shape, and the order of its rows. */
export interface Table<Row extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly row: Row;
  readonly schema_version: number;
  /** What differs in files of older, still readable versions. */
  readonly older?: OlderFiles;
  /** SQL ORDER BY of a file's rows, so that row groups prune in space. */
  readonly order: string;
}

/** Declares a table; the row type is inferred from its zod object. */
export function table<Row extends z.ZodObject>(definition: Table<Row>): Table<Row> {
  return definition;
}

/** Versions of a kind of file that can be read, both ends included. */
export interface ReadableRange {
  readonly from: number;
  readonly to: number;
}

/** Versions of a table's files that can be read. */
export function readableVersions({ schema_version, older }: Table): ReadableRange {
  return { from: older?.readable_from ?? schema_version, to: schema_version };
}

/** True for a version of a table's files that lack columns of the newest. */
export function lacksColumns({ schema_version, older }: Table, version: number): boolean {
  return older !== undefined && older.without.length > 0 && version < (older.complete_from ?? schema_version);
}

/**
 * SQL of the rows of files of a table, old and new ones together; `files` is a SQL list of paths. Columns that an older version
 * lacks are null, and columns that had another type have the type of today.
 */
export function rowsSql(definition: Table, files: string): string {
  const { without = [], retyped = [] } = definition.older ?? {};
  const changed = columns(definition).filter(({ name }) => without.includes(name) || retyped.includes(name));
  const union = without.length > 0 ? ', union_by_name = true' : '';
  const rows = `SELECT * FROM read_parquet(${files}, hive_partitioning = false${union})`;
  if (changed.length === 0) return rows;
  // The part without rows names the types: a union has the wider of two types.
  return `${rows}
    UNION ALL BY NAME SELECT ${changed.map(({ name, type }) => `NULL::${type} AS "${name}"`).join(', ')} WHERE false`;
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
    return [name, { unit: type === 'TIMESTAMP' ? INSTANT_UNITS[container] : unit, description }];
  });
  return JSON.stringify(Object.fromEntries(notes));
}
