import { join } from 'node:path';
import { COLLECTED_TIMES, type CollectionName } from '../../schemas/collections.ts';
import type { Table } from '../../schemas/columns.ts';
import { layout } from '../../schemas/layout.ts';
import { type InputVersions, ingestedAt, type Manifest, type PublishedFile } from '../../schemas/manifest.ts';
import { combineProvenances, MixedProvenance } from '../../schemas/provenance.ts';
import type { Engine } from '../duckdb.ts';
import { PipelineError } from '../error.ts';
import { commitEdits, editOf, isMadeFrom, type StagedFile } from './commit.ts';
import { readNewest } from './manifests.ts';
import type { Publisher } from './publisher.ts';
import { stageState, stageTable } from './stage.ts';
import { readNotes } from './tables.ts';

/** Rows that are replaced together: a whole static table, which names its segment, or a part of a collection, such as a month. */
export interface UndatedSegment {
  readonly segment: string;
  readonly table: Table;
  /** May be generated on demand. */
  readonly rows: Iterable<Record<string, unknown>>;
  readonly provenance: MixedProvenance;
  /** Items that later files are joined with; null, or left out, for rows that are complete. */
  readonly state?: Uint8Array | null;
  /** Published tables that the rows are made of: `readInputVersions` before those were read. */
  readonly made_from?: InputVersions;
}

/**
 * Publishes segments of a partition that holds no storm dates, in place of those of the same names and in one commit:
 * `static` for tables that are replaced as a whole, or a collection. A segment whose files have the bytes that are published
 * costs no commit unless it was made from other versions. Returns the files of the segments; `changed` is false when the same rows
 * were published already.
 */
export async function publishUndated(
  publisher: Publisher,
  name: 'static' | CollectionName,
  segments: readonly UndatedSegment[],
  now_ms: number,
): Promise<{ readonly changed: boolean; readonly files: readonly PublishedFile[] }> {
  const partition = name === 'static' ? layout.staticPartition : layout.collectionPartition(name);
  const previous = await readNewest(publisher.path, partition);
  const published = new Set(previous?.files.map((file) => file.path));
  const files: PublishedFile[] = [];
  const add_files: StagedFile[] = [];
  const changed: UndatedSegment[] = [];
  const changed_tables = new Set<string>();
  for (const content of segments) {
    const staged = await stageSegment(publisher, name, content);
    const added = staged.filter(({ entry }) => !published.has(entry.path));
    files.push(...staged.map(({ entry }) => entry));
    if (added.length === 0) continue;
    if (added.some(({ entry }) => entry.table !== null)) changed_tables.add(content.table.name);
    changed.push(content);
    add_files.push(...staged);
  }
  const made_from = Object.fromEntries(
    segments.flatMap((content) => (content.made_from === undefined ? [] : [[content.table.name, content.made_from]])),
  );
  const isChanged = changed.length > 0 || previous === null;
  if (!isChanged && isMadeFrom(previous, made_from)) return { changed: false, files };
  const { path, storm_day_start_hour, lock } = publisher;
  const provenance = isChanged ? await provenanceAfter(publisher, previous, changed) : previous.source;
  const edit = editOf(
    { partition, provenance, storm_day_start_hour, closed: true },
    {
      drop_segments: changed.map(({ segment }) => segment),
      add_files,
      changed_tables: [...changed_tables],
      made_from,
      // The times for which reports were collected are no rows that came in.
      ingested_at:
        previous !== null && changed.every(({ segment }) => segment === COLLECTED_TIMES) ? ingestedAt(previous) : null,
    },
  );
  await commitEdits(path, [{ previous, edit }], now_ms, lock.check);
  return { changed: isChanged, files };
}

async function stageSegment(
  { engine, staging }: Publisher,
  name: 'static' | CollectionName,
  { segment, table, rows, provenance, state = null }: UndatedSegment,
): Promise<StagedFile[]> {
  const covers = { segment, first_scan: null, last_scan: null };
  const folder = name === 'static' ? layout.staticTable(table.name) : layout.collectionTable(table.name, name);
  const files = [await stageTable(engine, staging, table, { rows }, provenance, { folder, stem: segment }, covers)];
  if (state !== null && name !== 'static')
    files.push(await stageState(staging, state, { folder: layout.collectionState(name), stem: segment }, covers));
  return files;
}

/**
 * Provenance of the manifest: that of its segments while they agree. The file of a static table states its own provenance;
 * of the segments of a collection that stay, it is known only as a whole.
 */
async function provenanceAfter(
  { engine, path }: Publisher,
  previous: Manifest | null,
  changed: readonly UndatedSegment[],
): Promise<MixedProvenance> {
  const replaced = new Set(changed.map(({ segment }) => segment));
  const staying = (previous?.files ?? []).filter(({ segment, table }) => table !== null && !replaced.has(segment));
  const provenances = changed.map(({ provenance }) => provenance);
  if (previous?.partition === layout.staticPartition)
    for (const file of staying) provenances.push(await statedProvenance(engine, path, file));
  else if (previous !== null && staying.some(({ rows }) => rows > 0)) provenances.push(previous.source);
  return combineProvenances(provenances) ?? 'observed';
}

async function statedProvenance(engine: Engine, dataRoot: string, { path }: PublishedFile): Promise<MixedProvenance> {
  const stated = (await readNotes(engine, join(dataRoot, path))).get('source');
  const { success, data } = MixedProvenance.safeParse(stated);
  if (!success) throw new PipelineError('publish', path, `says that its source is ${stated}, expected a provenance`);
  return data;
}
