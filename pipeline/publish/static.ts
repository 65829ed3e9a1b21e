import { join } from 'node:path';
import type { Table } from '../../schemas/columns.ts';
import { layout } from '../../schemas/layout.ts';
import { type InputVersions, ingestedAt, type PublishedFile } from '../../schemas/manifest.ts';
import { combineProvenances, MixedProvenance } from '../../schemas/provenance.ts';
import type { Engine } from '../duckdb.ts';
import { PipelineError } from '../error.ts';
import { commitEdits, editOf, isMadeFrom } from './commit.ts';
import { readNewest } from './manifests.ts';
import { stageTable } from './stage.ts';
import { readNotes } from './tables.ts';

/** A static table, once it is published. */
export interface PublishedTable {
  readonly file: PublishedFile;
  /** False when the same rows were published before, and nothing was done. */
  readonly changed: boolean;
}

/** Rows of a static table and where they come from. */
export interface StaticContent {
  readonly rows: readonly Record<string, unknown>[];
  readonly provenance: MixedProvenance;
  /** Published tables that the rows are made of, as `readInputVersions` gave them before they were read. */
  readonly made_from?: InputVersions;
}

/** Publishes the rows of a static table, in place of all it held: one file, one commit. */
export async function publishStatic(
  engine: Engine,
  dataRoot: string,
  staging: string,
  table: Table,
  { rows, provenance, made_from: inputs }: StaticContent,
  storm_day_start_hour: number,
  now_ms: number,
  check: () => void,
): Promise<PublishedTable> {
  const covers = { segment: table.name, first_scan: null, last_scan: null };
  const destination = { folder: layout.staticTable(table.name), stem: table.name };
  const staged = await stageTable(engine, staging, table, { rows }, provenance, destination, covers);
  const file = staged.entry;
  const previous = await readNewest(dataRoot, layout.staticPartition);
  const made_from: Record<string, InputVersions> = inputs === undefined ? {} : { [table.name]: inputs };
  const isPublished = previous?.files.some(({ sha256 }) => sha256 === file.sha256) === true;
  if (isPublished && isMadeFrom(previous, made_from)) return { file, changed: false };
  const others = (previous?.files ?? []).filter(({ segment }) => segment !== table.name);
  const listed = combineProvenances([provenance, ...(await provenancesOf(engine, dataRoot, others))]) ?? provenance;
  const edit = editOf(
    { partition: layout.staticPartition, provenance: listed, storm_day_start_hour, closed: true },
    isPublished
      ? { made_from, ingested_at: ingestedAt(previous) }
      : { drop_segments: [table.name], add_files: [staged], changed_tables: [table.name], made_from },
  );
  await commitEdits(dataRoot, [{ previous, edit }], now_ms, check);
  return { file, changed: !isPublished };
}

/** Provenances of listed files, as their own notes state them. */
async function provenancesOf(
  engine: Engine,
  dataRoot: string,
  files: readonly PublishedFile[],
): Promise<MixedProvenance[]> {
  const provenances: MixedProvenance[] = [];
  for (const { path } of files) {
    const notes = await readNotes(engine, join(dataRoot, path));
    const stated = MixedProvenance.safeParse(notes.get('source'));
    if (!stated.success)
      throw new PipelineError('publish', path, `says that its source is ${notes.get('source')}, expected a provenance`);
    provenances.push(stated.data);
  }
  return provenances;
}
