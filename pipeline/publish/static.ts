import { join } from 'node:path';
import type { Table } from '../../schemas/columns.ts';
import { layout } from '../../schemas/layout.ts';
import type { PublishedFile } from '../../schemas/manifest.ts';
import type { Engine } from '../duckdb.ts';
import { commitEdits, type Edit } from './commit.ts';
import { readNewest } from './manifests.ts';
import { dataFileName } from './segment.ts';
import { stageRows } from './tables.ts';

/** A table that belongs to no date, once it is published. */
export interface PublishedTable {
  readonly file: PublishedFile;
  /** False when the same rows were published before, and nothing was done. */
  readonly changed: boolean;
}

/** Publishes the rows of a table that belongs to no date, in place of all it held: one file, one commit. */
export async function publishStatic(
  engine: Engine,
  dataRoot: string,
  staging: string,
  table: Table,
  rows: readonly Record<string, unknown>[],
  storm_day_start_hour: number,
  now_ms: number,
  check: () => void,
): Promise<PublishedTable> {
  const staged = join(staging, `${table.name}.parquet`);
  const facts = await stageRows(engine, table, rows, staged, 'observed');
  const covers = { segment: table.name, first_scan: null, last_scan: null };
  const path = dataFileName(layout.staticTable(table.name), table.name, facts.sha256, 'parquet');
  const file: PublishedFile = { path, kind: 'table', table: table.name, ...covers, ...facts };
  const previous = await readNewest(dataRoot, layout.staticPartition);
  if (previous?.files.some(({ sha256 }) => sha256 === file.sha256)) return { file, changed: false };
  const edit: Edit = {
    partition: layout.staticPartition,
    source: 'observed',
    storm_day_start_hour,
    drop_segments: [table.name],
    add_scans: [],
    feeds: {},
    add_files: [{ staged, entry: file }],
    relist_files: [],
    changed_tables: [table.name],
    closed: true,
    dates: null,
  };
  await commitEdits(dataRoot, [{ previous, edit }], now_ms, check);
  return { file, changed: true };
}
