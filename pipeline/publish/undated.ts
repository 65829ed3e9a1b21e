import { join } from 'node:path';
import { COLLECTED_TIMES, type CollectionName } from '../../schemas/collections.ts';
import type { Table } from '../../schemas/columns.ts';
import { layout } from '../../schemas/layout.ts';
import { type InputVersions, ingestedAt, type Manifest, type PublishedFile } from '../../schemas/manifest.ts';
import { combineProvenances, MixedProvenance } from '../../schemas/provenance.ts';
import type { Engine } from '../duckdb.ts';
import { PipelineError } from '../error.ts';
import { commitEdits, type Publisher } from './commit.ts';
import { type Change, editOf, isMadeFrom, nextManifest, type StagedFile } from './edit.ts';
import { readNewest } from './manifests.ts';
import { stageTable } from './stage.ts';
import { readNotes } from './tables.ts';

/** Rows that are replaced together: a whole static table, which names its segment, or a part of a collection, such as a month. */
export interface UndatedSegment {
  readonly segment: string;
  readonly table: Table;
  /** May be generated on demand. */
  readonly rows: Iterable<Record<string, unknown>>;
  readonly provenance: MixedProvenance;
  /** Published tables that the rows are made of: `readInputVersions` before those were read. */
  readonly made_from?: InputVersions;
}

/** Segments of one partition that holds no storm dates: `static` for tables that are replaced as a whole, or a collection. */
export interface UndatedPart {
  readonly name: 'static' | CollectionName;
  readonly segments: readonly UndatedSegment[];
  /** False for rows that are made anew of published ones: they are as old as before. */
  readonly brings_data: boolean;
}

/** What publishing a part came to: its files, and whether its rows were not published already. */
export interface PublishedPart {
  readonly changed: boolean;
  readonly files: readonly PublishedFile[];
}

/**
 * Publishes segments of one partition in place of those of the same names. A segment whose files have the bytes that are
 * published costs no commit unless it was made from other versions.
 */
export async function publishUndated(
  publisher: Publisher,
  name: UndatedPart['name'],
  segments: readonly UndatedSegment[],
  now_ms: number,
): Promise<PublishedPart> {
  const [published] = await publishTogether(publisher, [{ name, segments, brings_data: true }], now_ms);
  return published;
}

/**
 * Publishes parts like `publishUndated`, all in one commit. They are staged in their order: the rows of a later one may be filled
 * while those of an earlier one are read. A part that is made from an earlier one is made from the version that this commit gives it.
 */
export async function publishTogether(
  publisher: Publisher,
  parts: readonly UndatedPart[],
  now_ms: number,
): Promise<PublishedPart[]> {
  const versions: Record<string, number> = {};
  const published: PublishedPart[] = [];
  const changes: Change[] = [];
  for (const part of parts) {
    const { change, ...outcome } = await preparePart(publisher, part, versions);
    published.push(outcome);
    if (change !== null) changes.push(change);
    if (change !== null) Object.assign(versions, nextManifest(change.previous, change.edit, now_ms).table_commits);
  }
  if (changes.length > 0) await commitEdits(publisher.path, changes, now_ms, publisher.lock.check);
  return published;
}

/** Stages a part, and the change that it takes; null when nothing differs from what is published. */
async function preparePart(
  publisher: Publisher,
  { name, segments, brings_data }: UndatedPart,
  versions: InputVersions,
): Promise<PublishedPart & { readonly change: Change | null }> {
  const partition = name === 'static' ? layout.staticPartition : layout.collectionPartition(name);
  const previous = await readNewest(publisher.path, partition);
  const published = new Set(previous?.files.map((file) => file.path));
  const files: PublishedFile[] = [];
  const add_files: StagedFile[] = [];
  const changed: UndatedSegment[] = [];
  const changed_tables = new Set<string>();
  for (const content of segments) {
    const staged = await stageSegment(publisher, name, content);
    files.push(staged.entry);
    if (published.has(staged.entry.path)) continue;
    changed_tables.add(content.table.name);
    changed.push(content);
    add_files.push(staged);
  }
  const made_from = Object.fromEntries(
    segments.flatMap(({ table, made_from: stated }) =>
      stated === undefined ? [] : [[table.name, { ...stated, ...pick(versions, stated) }]],
    ),
  );
  const isChanged = changed.length > 0 || previous === null;
  if (!isChanged && isMadeFrom(previous, made_from)) return { changed: false, files, change: null };
  const { storm_day_start_hour } = publisher;
  const provenance = isChanged ? await provenanceAfter(publisher, previous, changed) : previous.source;
  // The times for which reports were collected are no rows that came in.
  const isAsOld = !brings_data || changed.every(({ segment }) => segment === COLLECTED_TIMES);
  const edit = editOf(
    { partition, provenance, storm_day_start_hour, closed: true },
    {
      drop_segments: changed.map(({ segment }) => segment),
      add_files,
      changed_tables: [...changed_tables],
      made_from,
      ingested_at: previous !== null && isAsOld ? ingestedAt(previous) : null,
    },
  );
  return { changed: isChanged, files, change: { previous, edit } };
}

/** The known versions of the inputs that are asked for. */
function pick(versions: InputVersions, asked: InputVersions): InputVersions {
  return Object.fromEntries(Object.entries(versions).filter(([table]) => table in asked));
}

function stageSegment(
  { engine, staging }: Publisher,
  name: 'static' | CollectionName,
  { segment, table, rows, provenance }: UndatedSegment,
): Promise<StagedFile> {
  const covers = { segment, first_scan: null, last_scan: null };
  const folder = name === 'static' ? layout.staticTable(table.name) : layout.collectionTable(table.name, name);
  return stageTable(engine, staging, table, { rows }, provenance, { folder, stem: segment }, covers);
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
