import fs from 'node:fs/promises';
import { resolve } from 'node:path';
import { icebergManifests, icebergMetadata, icebergRead } from 'icebird';
import { listPartitions, readHead } from '../../../pipeline/publish/manifests.ts';
import type { Table } from '../../../schemas/columns.ts';
import type { Head } from '../../../schemas/head.ts';
import { fileRows, rowTexts } from './row-texts.ts';

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
