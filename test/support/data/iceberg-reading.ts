import fs from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { icebergManifests, icebergMetadata, icebergRead } from 'icebird';
import { openEngine, sqlList } from '../../../pipeline/duckdb.ts';
import { listPartitions, readHead } from '../../../pipeline/publish/manifests.ts';
import { columns, rowsSql, type Table } from '../../../schemas/columns.ts';
import type { Head } from '../../../schemas/head.ts';
import { dayMax } from '../../../schemas/tables/day-max.ts';
import type { ColumnType } from '../../../schemas/units.ts';

type Rows = readonly Record<string, unknown>[];

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
  const manifests = await icebergManifests(await metadataOf(root, table));
  return manifests.flatMap(({ entries }) => entries).filter(({ status }) => status !== 2);
}

/** Rows of a table through its Iceberg metadata, as texts in order. */
export async function icebergRows(root: string, table: Table): Promise<string[]> {
  if ((await liveFiles(root, table.name)).length === 0) return [];
  return texts(table, await icebergRead({ tableUrl: tableUrl(root, table.name) }));
}

/** Heads of all partitions. */
export async function headsOf(root: string): Promise<Head[]> {
  const heads = await Promise.all((await listPartitions(root)).all.map((partition) => readHead(root, partition)));
  return heads.filter((head) => head !== null);
}

/** Rows of a table through the manifests, as texts in order: the day maxima of joined dates are in their day files, too. */
export async function manifestRows(root: string, table: Table): Promise<string[]> {
  const heads = (await headsOf(root)).filter(({ dates }) => table !== dayMax || dates === null);
  const paths = heads.flatMap(({ files }) => files.filter((file) => file.table === table.name).map(({ path }) => path));
  if (paths.length === 0) return [];
  const select = columns(table).map(
    ({ name, type }) => `${type === 'GEOMETRY' ? `hex(ST_AsWKB("${name}"))` : `"${name}"`} AS "${name}"`,
  );
  const files = rowsSql(table, sqlList(paths.map((path) => join(root, path))));
  const engine = await openEngine();
  try {
    return texts(table, await engine.rows(`SELECT ${select.join(', ')} FROM (${files})`));
  } finally {
    engine.close();
  }
}

function texts(table: Table, rows: Rows): string[] {
  const fields = columns(table);
  return rows.map((row) => JSON.stringify(fields.map(({ name, type }) => [name, plain(row[name], type)]))).sort();
}

/** A value as both readers can give it. The reader of Iceberg tables takes the bytes of a geometry for text. */
function plain(value: unknown, type: ColumnType): unknown {
  if (value === null || value === undefined) return null;
  if (type === 'GEOMETRY')
    return /^[0-9A-F]+$/.test(String(value)) ? Buffer.from(String(value), 'hex').toString() : value;
  if (typeof value === 'bigint') return Number(value);
  return value instanceof Date ? value.getTime() : value;
}
