import { COLLECTED_TIMES, type CollectionName } from '../../schemas/collections.ts';
import type { Table } from '../../schemas/columns.ts';
import { layout } from '../../schemas/layout.ts';
import { type InputVersions, ingestedAt, type Manifest } from '../../schemas/manifest.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';
import type { Engine } from '../duckdb.ts';
import { commitEdits, editOf, isMadeFrom, type StagedFile } from './commit.ts';
import { readNewest } from './manifests.ts';
import { stageState, stageTable } from './stage.ts';

/** Rows of a collection that are replaced as one, such as those of a month, and what they were made from. */
export interface CollectionSegment {
  readonly segment: string;
  readonly table: Table;
  /** May be made as they are asked for. */
  readonly rows: Iterable<Record<string, unknown>>;
  readonly provenance: MixedProvenance;
  /** What later files are joined with; null for rows that are complete as they come. */
  readonly state: Uint8Array | null;
  /** Published tables that the rows are made of, as `readInputVersions` gave them before they were read. */
  readonly made_from?: InputVersions;
}

/** What publishing a collection works with. */
export interface CollectionPlace {
  readonly engine: Engine;
  readonly path: string;
  readonly staging: string;
  readonly storm_day_start_hour: number;
  /** Throws when the data root is no longer ours. */
  readonly check: () => void;
}

/**
 * Publishes segments of a collection in place of those of the same names, and takes others off the list, in one commit. A
 * segment whose files have the bytes that are published costs no commit unless it was made from other versions. Returns whether
 * anything but those changed.
 */
export async function publishCollection(
  { engine, path, staging, storm_day_start_hour, check }: CollectionPlace,
  name: CollectionName,
  segments: readonly CollectionSegment[],
  drop_segments: readonly string[],
  now_ms: number,
): Promise<boolean> {
  const previous = await readNewest(path, layout.collectionPartition(name));
  const published = new Set(previous?.files.map((file) => file.path));
  const add_files: StagedFile[] = [];
  const changed: CollectionSegment[] = [];
  const changed_tables = new Set<string>();
  for (const content of segments) {
    const files = await stageSegment(engine, staging, name, content);
    if (files.every(({ entry }) => published.has(entry.path))) continue;
    if (files.some(({ entry }) => entry.table !== null && !published.has(entry.path)))
      changed_tables.add(content.table.name);
    changed.push(content);
    add_files.push(...files);
  }
  const listed = new Set(previous?.files.map(({ segment }) => segment));
  const dropped = drop_segments.filter((segment) => listed.has(segment));
  const made_from = Object.fromEntries(
    segments.flatMap((content) => (content.made_from === undefined ? [] : [[content.table.name, content.made_from]])),
  );
  const isChanged = changed.length > 0 || dropped.length > 0 || previous === null;
  if (!isChanged && isMadeFrom(previous, made_from)) return false;
  for (const { segment, table } of previous?.files ?? [])
    if (table !== null && dropped.includes(segment)) changed_tables.add(table);
  const edit = editOf(
    {
      partition: layout.collectionPartition(name),
      provenance: isChanged ? provenanceAfter(previous, changed, dropped) : previous.source,
      storm_day_start_hour,
      closed: true,
    },
    {
      drop_segments: [...changed.map(({ segment }) => segment), ...dropped],
      add_files,
      changed_tables: [...changed_tables],
      made_from,
      // Of which times reports were collected is no row of theirs.
      ingested_at:
        previous !== null && dropped.length === 0 && changed.every(({ segment }) => segment === COLLECTED_TIMES)
          ? ingestedAt(previous)
          : null,
    },
  );
  await commitEdits(path, [{ previous, edit }], now_ms, check);
  return isChanged;
}

async function stageSegment(
  engine: Engine,
  staging: string,
  name: CollectionName,
  { segment, table, rows, provenance, state }: CollectionSegment,
): Promise<StagedFile[]> {
  const covers = { segment, first_scan: null, last_scan: null };
  const destination = { folder: layout.collectionTable(table.name, name), stem: segment };
  const files = [await stageTable(engine, staging, table, { rows }, provenance, destination, covers)];
  if (state !== null)
    files.push(await stageState(staging, state, { folder: layout.collectionState(name), stem: segment }, covers));
  return files;
}

/** Provenance of the list: that of its segments while they agree. What other segments hold is known only as a whole. */
function provenanceAfter(
  previous: Manifest | null,
  changed: readonly CollectionSegment[],
  dropped: readonly string[],
): MixedProvenance {
  const gone = new Set([...changed.map(({ segment }) => segment), ...dropped]);
  const stays = previous?.files.some(({ segment, rows, table }) => table !== null && rows > 0 && !gone.has(segment));
  const parts = changed.map(({ provenance }) => provenance);
  const [first = 'observed', ...others] = new Set(stays && previous !== null ? [previous.source, ...parts] : parts);
  return others.length === 0 ? first : 'mixed';
}
