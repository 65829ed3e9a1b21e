import { join } from 'node:path';
import { z } from 'zod';
import { openEngine, sqlList } from '../../../pipeline/duckdb.ts';
import { columns, rowsSql, type Table } from '../../../schemas/columns.ts';
import type { Manifest } from '../../../schemas/manifest.ts';
import { dayMax } from '../../../schemas/tables/radar.ts';
import type { ColumnType } from '../../../schemas/units.ts';

/** Rows of a table as texts in order, the same whichever reader they come from. */
export function rowTexts(table: Table, rows: readonly Readonly<Record<string, unknown>>[]): string[] {
  const fields = columns(table);
  return rows.map((row) => JSON.stringify(fields.map(({ name, type }) => [name, plain(row[name], type)]))).sort();
}

/** A value as all readers can give it: shapes are WKB as hexadecimal digits, as GeoJSON, or as bytes that were taken for text. */
function plain(value: unknown, type: ColumnType): unknown {
  if (value === null || value === undefined) return null;
  if (type === 'GEOMETRY') return wkbText(value);
  if (typeof value === 'bigint') return Number(value);
  return value instanceof Date ? value.getTime() : value;
}

function wkbText(value: unknown): string {
  if (typeof value !== 'string') return Buffer.concat(wkbOf(Shape.parse(value))).toString();
  return /^[0-9A-F]+$/.test(value) ? Buffer.from(value, 'hex').toString() : value;
}

const Position = z.array(z.number());
const Ring = z.array(Position);
const Shape = z.discriminatedUnion('type', [
  z.object({ type: z.literal('Point'), coordinates: Position }),
  z.object({ type: z.literal('LineString'), coordinates: Ring }),
  z.object({ type: z.literal('Polygon'), coordinates: z.array(Ring) }),
  z.object({ type: z.literal('MultiPolygon'), coordinates: z.array(z.array(Ring)) }),
]);

function wkbOf(shape: z.infer<typeof Shape>): Buffer[] {
  switch (shape.type) {
    case 'Point':
      return [wkbHead(1), ...shape.coordinates.map(wkbNumber)];
    case 'LineString':
      return [wkbHead(2), ...wkbLine(shape.coordinates)];
    case 'Polygon':
      return [wkbHead(3), wkbCount(shape.coordinates), ...shape.coordinates.flatMap(wkbLine)];
    case 'MultiPolygon': {
      const parts = shape.coordinates.flatMap((coordinates) => wkbOf({ type: 'Polygon', coordinates }));
      return [wkbHead(6), wkbCount(shape.coordinates), ...parts];
    }
  }
}

function wkbHead(type: number): Buffer {
  return Buffer.from([1, type, 0, 0, 0]);
}

function wkbCount({ length }: readonly unknown[]): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(length);
  return bytes;
}

function wkbNumber(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes;
}

function wkbLine(positions: readonly (readonly number[])[]): Buffer[] {
  return [wkbCount(positions), ...positions.flatMap((position) => position.map(wkbNumber))];
}

/** Columns of a table as a SELECT lists them for `rowTexts`. */
export function selectList(table: Table): string {
  const list = columns(table).map(
    ({ name, type }) => `${type === 'GEOMETRY' ? `hex(ST_AsWKB("${name}"))` : `"${name}"`} AS "${name}"`,
  );
  return list.join(', ');
}

/** Rows of a table in the files of some manifests, as texts: the day maxima of months are in the files of their dates, too. */
export async function fileRows(
  root: string,
  table: Table,
  manifests: readonly Pick<Manifest, 'dates' | 'files'>[],
): Promise<string[]> {
  const read = manifests.filter(({ dates }) => table.name !== dayMax.name || dates === null);
  const paths = read.flatMap(({ files }) => files.filter((file) => file.table === table.name).map(({ path }) => path));
  if (paths.length === 0) return [];
  const files = rowsSql(sqlList(paths.map((path) => join(root, path))));
  const engine = await openEngine();
  try {
    return rowTexts(table, await engine.rows(`SELECT ${selectList(table)} FROM (${files})`));
  } finally {
    engine.close();
  }
}
