import { readFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { ExecutionContext } from 'ava';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { icebergManifests, icebergMetadata, icebergRead } from 'icebird';
import { z } from 'zod';
import { writeCatalogue } from '../../../pipeline/catalogues/catalogue.ts';
import { openEngine, sqlList } from '../../../pipeline/duckdb.ts';
import { listPartitions, readHead } from '../../../pipeline/publish/manifests.ts';
import { columns, rowsSql, type Table } from '../../../schemas/columns.ts';
import type { Head } from '../../../schemas/head.ts';
import type { Manifest } from '../../../schemas/manifest.ts';
import { TABLES } from '../../../schemas/tables/index.ts';
import { dayMax } from '../../../schemas/tables/radar.ts';
import type { ColumnType } from '../../../schemas/units.ts';
import { assetsOf, itemsOf, type StacFile, walkStac } from './stac-walk.ts';

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
/** Rows of queries over `views.sql`, by an engine of its own that knows nothing else of the data root. */
export async function viewRows(
  root: string,
  queries: readonly string[],
): Promise<readonly (readonly Readonly<Record<string, unknown>>[])[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    await connection.run(readFileSync(join(root, 'views.sql'), 'utf8'));
    const found: Record<string, unknown>[][] = [];
    for (const query of queries) found.push((await connection.runAndReadAll(query)).getRowObjectsJS());
    return found;
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** Rows of tables as texts through `views.sql`, by name; all of it is read once. */
export async function viewTexts(root: string, tables: readonly Table[]): Promise<ReadonlyMap<string, string[]>> {
  const queries = tables.map((table) => `SELECT ${selectList(table)} FROM ${table.name.replaceAll('-', '_')}`);
  const found = await viewRows(root, queries);
  return new Map(tables.map((table, k) => [table.name, rowTexts(table, found[k] ?? [])]));
}
/** Writes the catalogue of a root into it. */
export const catalogue = (root: string) => writeCatalogue(root, { out: root, location: root });

/** Rows of the STAC items of a table, read by hyparquet. */
async function stacRows(files: readonly StacFile[], table: Table): Promise<string[]> {
  const rows: Record<string, unknown>[] = [];
  for (const { path } of itemsOf(files, table.name).flatMap(assetsOf))
    rows.push(...(await parquetReadObjects({ file: await asyncBufferFromFile(path), compressors })));
  return rowTexts(table, rows);
}

/** The largest size of each pixel that scans saw: the files of a running date add up. */
function largest(texts: readonly string[]): Record<string, number> {
  const sizes: Record<string, number> = {};
  for (const text of texts) {
    const { storm_date, row, col, max_mm, interpolated } = Object.fromEntries(JSON.parse(text));
    if (interpolated) continue;
    const key = `${storm_date} ${row} ${col}`;
    sizes[key] = Math.max(sizes[key] ?? 0, max_mm);
  }
  return sizes;
}

/** Iceberg and STAC give the rows that the newest manifests give, views the current ones. */
export async function sameAsManifests(t: ExecutionContext, root: string, state: string): Promise<void> {
  const views = await viewTexts(root, TABLES);
  const files = walkStac(root);
  for (const table of TABLES) {
    const rows = await manifestRows(root, table);
    t.deepEqual(await icebergRows(root, table), rows, `Iceberg, ${table.name}, ${state}`);
    t.deepEqual(await stacRows(files, table), rows, `STAC, ${table.name}, ${state}`);
    const shown = views.get(table.name) ?? [];
    if (table.name === dayMax.name) t.deepEqual(largest(shown), largest(rows), `views, day maxima, ${state}`);
    else
      t.deepEqual(
        shown,
        rows.filter((text) => !text.includes('["is_current",false]')),
        `views, ${table.name}, ${state}`,
      );
  }
  const shown = views.get(dayMax.name) ?? [];
  t.is(shown.filter((text) => text.includes('["interpolated",false]')).length, Object.keys(largest(shown)).length);
}
type TableMetadata = Awaited<ReturnType<typeof metadataOf>>;

/** Lets the reader of Iceberg tables, which knows web addresses only, read `file:` addresses; they hold names as they are. */
export function serveFiles(): void {
  const web = globalThis.fetch;
  globalThis.fetch = async (input, init) => {
    const address = String(input);
    if (!address.startsWith('file://')) return web(input, init);
    try {
      const bytes = await fs.readFile(address.slice('file://'.length));
      const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(new Headers(init?.headers).get('range') ?? '') ?? [];
      if (from === undefined) return new Response(bytes);
      const part = bytes.subarray(Number(from), to === '' ? undefined : Number(to) + 1);
      return new Response(part, { status: 206 });
    } catch (error) {
      return new Response(String(error), { status: 404, statusText: 'Not Found' });
    }
  };
}

export const tableUrl = (root: string, table: string) => `file://${resolve(root)}/iceberg/${table}`;

/** Newest metadata of a table by a reader that knows nothing of the pipeline. */
export async function metadataOf(root: string, table: string) {
  return icebergMetadata({ tableUrl: tableUrl(root, table) });
}

/** Live entries of every manifest of the newest snapshot. */
export async function liveFiles(root: string, table: string) {
  return liveFilesOf(await metadataOf(root, table));
}

async function liveFilesOf(metadata: TableMetadata) {
  const manifests = await icebergManifests(metadata);
  return manifests.flatMap(({ entries }) => entries).filter(({ status }) => status !== 2);
}

/** Rows of a table through its Iceberg metadata, the newest ones or given ones, as texts in order. */
export async function icebergRows(root: string, table: Table, pinned?: TableMetadata): Promise<string[]> {
  const metadata = pinned ?? (await metadataOf(root, table.name));
  if ((await liveFilesOf(metadata)).length === 0) return [];
  return rowTexts(table, await icebergRead({ tableUrl: tableUrl(root, table.name), metadata }));
}

/** Heads of all partitions. */
export async function headsOf(root: string): Promise<Head[]> {
  const heads = await Promise.all((await listPartitions(root)).all.map((partition) => readHead(root, partition)));
  return heads.filter((head) => head !== null);
}

/** Rows of a table through the manifests, as texts in order. */
export async function manifestRows(root: string, table: Table): Promise<string[]> {
  return fileRows(root, table, await headsOf(root));
}
