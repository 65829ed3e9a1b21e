import type { Table } from '../../schemas/columns.ts';
import { layout } from '../../schemas/layout.ts';
import type { PublishedFile } from '../../schemas/manifest.ts';
import type { Engine } from '../duckdb.ts';
import { commitEdits, editOf } from './commit.ts';
import { readNewest } from './manifests.ts';
import { stageTable } from './stage.ts';

/** A static table, once it is published. */
export interface PublishedTable {
  readonly file: PublishedFile;
  /** False when the same rows were published before, and nothing was done. */
  readonly changed: boolean;
}

/** Publishes the rows of a static table, in place of all it held: one file, one commit. */
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
  const covers = { segment: table.name, first_scan: null, last_scan: null };
  const destination = { folder: layout.staticTable(table.name), stem: table.name };
  const staged = await stageTable(engine, staging, table, { rows }, 'observed', destination, covers);
  const file = staged.entry;
  const previous = await readNewest(dataRoot, layout.staticPartition);
  if (previous?.files.some(({ sha256 }) => sha256 === file.sha256)) return { file, changed: false };
  const edit = editOf(
    { partition: layout.staticPartition, provenance: 'observed', storm_day_start_hour, closed: true },
    { drop_segments: [table.name], add_files: [staged], changed_tables: [table.name] },
  );
  await commitEdits(dataRoot, [{ previous, edit }], now_ms, check);
  return { file, changed: true };
}
