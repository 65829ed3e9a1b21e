import { z } from 'zod';
import { type Column, columns, type Table } from '../../../schemas/columns.ts';
import type { ColumnType } from '../../../schemas/units.ts';

/**
 * Types of the columns in Iceberg, which has no unsigned numbers: every 16-bit one fits an `int`. The files say that their
 * times are without a zone; they are UTC. Geometries are their well-known binary (WKB), as in GeoParquet.
 */
const TYPES = {
  BOOLEAN: 'boolean',
  USMALLINT: 'int',
  INTEGER: 'int',
  BIGINT: 'long',
  DOUBLE: 'double',
  VARCHAR: 'string',
  DATE: 'date',
  TIMESTAMP: 'timestamp',
  GEOMETRY: 'binary',
} as const satisfies Record<ColumnType, string>;

export const IcebergField = z.object({
  id: z.int().positive(),
  name: z.string(),
  required: z.boolean(),
  type: z.enum(Object.values(TYPES)),
  doc: z.string().optional(),
});
export type IcebergField = z.infer<typeof IcebergField>;

/** A schema in the metadata of a table. */
export const IcebergSchema = z.object({
  type: z.literal('struct'),
  'schema-id': z.int().nonnegative(),
  fields: z.array(IcebergField),
});
export type IcebergSchema = z.infer<typeof IcebergSchema>;

/**
 * Fields of a table, in the order of its columns. A column keeps the id under which any of the `known` schemas has it with the
 * same type; new ones get ids above `last_id`. Columns that older files lack come last, so that a table that is made anew gets
 * the ids of one that has grown.
 */
export function fieldsOf(table: Table, known: readonly IcebergSchema[], last_id: number): IcebergField[] {
  const ids = new Map<string, number>();
  for (const { fields } of known) for (const { id, name, type } of fields) ids.set(`${name} ${type}`, id);
  const isLate = ({ name }: Column) => table.older?.without.includes(name) ?? false;
  const declared = columns(table);
  let next = last_id;
  for (const column of [...declared.filter((one) => !isLate(one)), ...declared.filter(isLate)]) {
    const key = `${column.name} ${TYPES[column.type]}`;
    if (!ids.has(key)) ids.set(key, ++next);
  }
  return declared.map((column) => {
    const { name, type, nullable, description, unit } = column;
    const doc = unit === null ? description : `${description} Unit: ${type === 'TIMESTAMP' ? 'UTC' : unit}.`;
    const id = ids.get(`${name} ${TYPES[type]}`);
    if (id === undefined) throw new TypeError(`table ${table.name}: column ${name} has no field id, expected one`);
    return { id, name, required: !nullable && !isLate(column), type: TYPES[type], doc };
  });
}

/** Which field a column of a file is: the published files carry names, not ids. */
export function nameMapping(fields: readonly IcebergField[]): string {
  return JSON.stringify(fields.map(({ id, name }) => ({ 'field-id': id, names: [name] })));
}
