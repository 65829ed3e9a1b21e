import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { COLLECTED_TIMES, type CollectionName } from '../../schemas/collections.ts';
import type { Table } from '../../schemas/columns.ts';
import { layout } from '../../schemas/layout.ts';
import { type InputVersions, ingestedAt, type Manifest, type PublishedFile } from '../../schemas/manifest.ts';
import { combineProvenances, MixedProvenance } from '../../schemas/provenance.ts';
import { PipelineError } from '../error.ts';
import { commit } from './commit.ts';
import { type Edit, nextManifest, type StagedFile } from './edit.ts';
import type { Root } from './root.ts';
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
interface UndatedPart {
  readonly name: 'static' | CollectionName;
  readonly segments: readonly UndatedSegment[];
  /** False for rows that are made anew of published ones: they are as old as before. */
  readonly brings_data?: boolean;
}

/**
 * Publishes segments of partitions in place of those of the same names, all in one commit. Parts are staged in their order: the
 * rows of a later one may be filled while those of an earlier one are read. A part that is made from an earlier one is made from
 * the version that this commit gives it. A part whose files have the bytes that are published costs no commit unless it was made
 * from other versions. Returns the files of each part; `changed` is false when its rows were published already.
 */
export async function publishUndated(root: Root, parts: readonly UndatedPart[], now_ms: number) {
  const versions: Record<string, number> = {};
  const published: { readonly changed: boolean; readonly files: readonly PublishedFile[] }[] = [];
  const edits: Edit[] = [];
  for (const { name, segments, brings_data = true } of parts) {
    const partition = name === 'static' ? layout.staticPartition : layout.collectionPartition(name);
    const previous = await root.manifest(partition);
    const staged = await stageSegments(root, name, segments);
    const known = new Set(previous?.files.map((file) => file.path));
    const fresh = staged.filter(({ entry }) => !known.has(entry.path));
    const made_from = inputsOf(segments, versions);
    const changed = fresh.length > 0 || previous === null;
    published.push({ changed, files: staged.map(({ entry }) => entry) });
    if (!changed && isDeepStrictEqual({ ...previous.made_from, ...made_from }, previous.made_from ?? {})) continue;
    const names = new Set(fresh.map(({ entry }) => entry.segment));
    const replaced = segments.filter(({ segment }) => names.has(segment));
    // The times for which reports were collected are no rows that came in.
    const isAsOld = !brings_data || replaced.every(({ segment }) => segment === COLLECTED_TIMES);
    const edit: Edit = {
      partition,
      provenance: changed ? await provenanceAfter(root, previous, replaced) : previous.source,
      storm_day_start_hour: root.storm_day_start_hour,
      closed: true,
      drop_segments: [...names],
      add_files: fresh,
      changed_tables: [...new Set(replaced.map(({ table }) => table.name))],
      made_from,
      ingested_at: previous !== null && isAsOld ? ingestedAt(previous) : null,
    };
    edits.push(edit);
    Object.assign(versions, nextManifest(previous, edit, now_ms).table_commits);
  }
  if (edits.length > 0) await commit(root, edits, now_ms);
  return published;
}

async function stageSegments(
  { engine, staging }: Root,
  name: UndatedPart['name'],
  segments: readonly UndatedSegment[],
): Promise<StagedFile[]> {
  const staged: StagedFile[] = [];
  for (const { segment, table, rows, provenance } of segments) {
    const covers = { segment, first_scan: null, last_scan: null };
    const folder = name === 'static' ? layout.staticTable(table.name) : layout.collectionTable(table.name, name);
    const destination = { folder, stem: segment };
    staged.push(await stageTable(engine, staging, table, { rows }, provenance, destination, covers));
  }
  return staged;
}

/** Versions of the inputs of the tables that state them; those of the same commit replace older ones. */
function inputsOf(segments: readonly UndatedSegment[], versions: InputVersions): Record<string, InputVersions> {
  const stated = segments.flatMap(({ table, made_from }) => (made_from === undefined ? [] : [{ table, made_from }]));
  const newest = (made_from: InputVersions) =>
    Object.fromEntries(Object.entries(made_from).map(([input, known]) => [input, versions[input] ?? known]));
  return Object.fromEntries(stated.map(({ table, made_from }) => [table.name, newest(made_from)]));
}

/**
 * Provenance of the manifest: that of its segments while they agree. The file of a static table states its own provenance;
 * of the segments of a collection that stay, it is known only as a whole.
 */
async function provenanceAfter(
  { engine, path }: Root,
  previous: Manifest | null,
  changed: readonly UndatedSegment[],
): Promise<MixedProvenance> {
  const replaced = new Set(changed.map(({ segment }) => segment));
  const staying = (previous?.files ?? []).filter(({ segment, table }) => table !== null && !replaced.has(segment));
  const provenances = changed.map(({ provenance }) => provenance);
  if (previous?.partition === layout.staticPartition)
    for (const file of staying) {
      const stated = (await readNotes(engine, join(path, file.path))).get('source');
      const { success, data } = MixedProvenance.safeParse(stated);
      const reason = `says that its source is ${stated}, expected a provenance`;
      if (!success) throw new PipelineError('publish', file.path, reason);
      provenances.push(data);
    }
  else if (previous !== null && staying.some(({ rows }) => rows > 0)) provenances.push(previous.source);
  return combineProvenances(provenances) ?? 'observed';
}
