import fs from 'node:fs/promises';
import { join } from 'node:path';
import type { Table } from '../../schemas/columns.ts';
import { addressedTiles } from '../../schemas/geo/pmtiles.ts';
import type { PublishedFile } from '../../schemas/manifest.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';
import type { Engine } from '../duckdb.ts';
import { sha256 } from '../files.ts';
import type { StagedFile } from './edit.ts';
import { stageQuery, stageRows } from './tables.ts';

/** Segment and scans of a file of a manifest. */
export type SegmentSpan = Pick<PublishedFile, 'segment' | 'first_scan' | 'last_scan'>;

/** Folder and first part of the name of a file; the hash of its content completes the name. */
interface Destination {
  readonly folder: string;
  readonly stem: string;
}

/** Path of a data file. It contains a hash of the content, so that a name never stands for other content. */
export function dataFileName(folder: string, stem: string, hash: string, extension: string): string {
  return `${folder}/${stem}-${hash.slice(0, 8)}.${extension}`;
}

/** Writes rows, or the rows of a query, as a table file into the staging folder and reads it back. */
export async function stageTable(
  engine: Engine,
  staging: string,
  table: Table,
  content: { readonly rows: Iterable<Record<string, unknown>> } | { readonly query: string },
  provenance: MixedProvenance,
  { folder, stem }: Destination,
  covers: SegmentSpan,
): Promise<StagedFile> {
  const staged = join(staging, `${table.name}-${covers.segment}-${stem}.parquet`);
  const facts =
    'rows' in content
      ? await stageRows(engine, table, content.rows, staged, provenance)
      : await stageQuery(engine, table, content.query, staged, provenance);
  const path = dataFileName(folder, stem, facts.sha256, 'parquet');
  return { staged, entry: { path, kind: 'table', table: table.name, ...covers, ...facts } };
}

/** Writes an archive of tiles, or a checkpoint of the tracker, into the staging folder; `max_size_mm`: the largest size that it shows. */
export async function stageBytes(
  staging: string,
  kind: Exclude<PublishedFile['kind'], 'table'>,
  content: Uint8Array,
  { folder, stem }: Destination,
  covers: SegmentSpan,
  max_size_mm: number | null,
): Promise<StagedFile> {
  const [extension, rows, schema_version] =
    kind === 'state' ? (['json.gz', 1, 1] as const) : (['pmtiles', addressedTiles(content), 3] as const);
  const hash = sha256(content);
  const staged = join(staging, `${kind}-${covers.segment}-${stem}.${extension}`);
  await fs.writeFile(staged, content);
  const path = dataFileName(folder, stem, hash, extension);
  const facts = { rows, bytes: content.length, sha256: hash, schema_version, bbox: null, max_size_mm };
  return { staged, entry: { path, kind, table: null, ...covers, ...facts } };
}
