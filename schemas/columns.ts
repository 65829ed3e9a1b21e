import { z } from 'zod';
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
