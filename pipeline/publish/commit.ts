import fs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { headOf } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import {
  type CommittedScan,
  type InputVersions,
  MANIFEST_VERSION,
  Manifest,
  type PublishedFile,
} from '../../schemas/manifest.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';
import { timestamp } from '../../schemas/time.ts';
import { readIfPresent, replaceFile, sync } from '../files.ts';
import { allOrFirstError } from '../sources/parallel.ts';

/** A file in staging, with its entry for the manifest. */
export interface StagedFile {
  readonly staged: string;
  readonly entry: PublishedFile;
}

/** Newest time of each product, epoch milliseconds. */
export type ProductTimes = Readonly<Record<string, number>>;

/** Changes of one commit to the manifest of one partition. */
export interface Edit {
  readonly partition: string;
  readonly provenance: MixedProvenance;
  readonly storm_day_start_hour: number;
  /** Segments whose scans and files are removed from the manifest. */
  readonly drop_segments: readonly string[];
  readonly add_scans: readonly CommittedScan[];
  readonly add_files: readonly StagedFile[];
  /** Newest time of each product that the added scans were made of, epoch milliseconds. */
  readonly feeds: ProductTimes;
  /** Entries of files that are already in place, for instance pictures whose segment changes. */
  readonly relist_files: readonly PublishedFile[];
  /** Tables whose rows this commit changes; compaction changes none. */
  readonly changed_tables: readonly string[];
  /** Versions of the inputs of derived tables in this edit, by table name. */
  readonly made_from: Readonly<Record<string, InputVersions>>;
  readonly closed: boolean;
  readonly dates: Manifest['dates'];
  /** For an edit without new data: when the newest data that it was made from came in; else null. */
  readonly ingested_at: string | null;
}

/** Fields of an edit that apply to its whole partition. */
type Partition = Pick<Edit, 'partition' | 'provenance' | 'storm_day_start_hour' | 'closed'>;

/** The partition of a manifest, for an edit that changes nothing of it as a whole. */
export function samePartition({ partition, source, storm_day_start_hour, closed }: Manifest): Partition {
  return { partition, provenance: source, storm_day_start_hour, closed };
}

/** An edit of a partition with the given changes only. */
export function editOf(partition: Partition, changes: Partial<Omit<Edit, 'partition'>>): Edit {
  return {
    ...partition,
    dates: null,
    ingested_at: null,
    feeds: {},
    drop_segments: [],
    add_scans: [],
    add_files: [],
    relist_files: [],
    changed_tables: [],
    made_from: {},
    ...changes,
  };
}

/** The manifest after an edit; a scan or file of the same name replaces the old entry. */
export function nextManifest(previous: Manifest | null, edit: Edit, now_ms: number): Manifest {
  const dropped = new Set(edit.drop_segments);
  const commit = (previous?.commit ?? 0) + 1;
  const entries = [...edit.relist_files, ...edit.add_files.map((file) => file.entry)];
  const added = new Set(entries.map((entry) => entry.path));
  const scanIds = new Set(edit.add_scans.map((scan) => scan.scan_id));
  const made_from = madeFrom(previous, edit);
  return {
    manifest_version: MANIFEST_VERSION,
    partition: edit.partition,
    commit,
    source: edit.provenance,
    storm_day_start_hour: edit.storm_day_start_hour,
    committed_at: timestamp(now_ms),
    ...(edit.ingested_at === null ? {} : { ingested_at: edit.ingested_at }),
    closed: edit.closed,
    table_commits: {
      ...previous?.table_commits,
      ...Object.fromEntries(edit.changed_tables.map((table) => [table, commit])),
    },
    ...(Object.keys(made_from).length === 0 ? {} : { made_from }),
    scans: [
      ...(previous?.scans ?? []).filter((scan) => !dropped.has(scan.segment) && !scanIds.has(scan.scan_id)),
      ...edit.add_scans,
    ].sort((a, b) => (a.scan_id < b.scan_id ? -1 : 1)),
    // Times of observed data say nothing about those of simulated data, nor the other way round.
    feeds: newestTimes(previous?.source === edit.provenance ? previous.feeds : {}, edit.feeds),
    files: [
      ...(previous?.files ?? []).filter((file) => !dropped.has(file.segment) && !added.has(file.path)),
      ...entries,
    ],
    dates: edit.dates,
  };
}

/** Input versions of derived tables after an edit; a table that changes without stating its inputs loses them. */
function madeFrom(previous: Manifest | null, edit: Edit): Record<string, InputVersions> {
  const known = Object.entries(previous?.made_from ?? {}).filter(([table]) => !edit.changed_tables.includes(table));
  return { ...Object.fromEntries(known), ...edit.made_from };
}

/** True when a manifest states that its tables were made from exactly these versions. */
export function isMadeFrom({ made_from }: Manifest, expected: Readonly<Record<string, InputVersions>>): boolean {
  return Object.entries(expected).every(([table, versions]) => isDeepStrictEqual(made_from?.[table], versions));
}

function newestTimes(known: Manifest['feeds'], added: ProductTimes): Manifest['feeds'] {
  const newer = Object.entries(added).filter(([product, time_ms]) => !(Date.parse(known[product] ?? '') >= time_ms));
  return { ...known, ...Object.fromEntries(newer.map(([product, time_ms]) => [product, timestamp(time_ms)])) };
}

/** An edit, and the newest manifest of its partition, which it applies to. */
export interface Change {
  readonly previous: Manifest | null;
  readonly edit: Edit;
}

/**
 * Publishes edits of different partitions together: data files to the disk and to their final names, then the manifests,
 * then the heads. A process killed in between leaves files that no manifest names, never a manifest that names a missing
 * file; after a kill between two heads, `finishHeads` moves the others. `check` throws when this process has lost the data root:
 * a manifest must not name files that were written to another root.
 */
export async function commitEdits(
  dataRoot: string,
  changes: readonly Change[],
  now_ms: number,
  check: () => void,
): Promise<Manifest[]> {
  const manifests = changes.map(({ previous, edit }) => nextManifest(previous, edit, now_ms));
  check();
  const added = changes.flatMap(({ edit }) => edit.add_files);
  const files = added.map(({ staged, entry }) => ({ staged, path: entry.path }));
  await placeFiles(dataRoot, files);
  check();
  const numbered = manifests.map(({ partition, commit }) => layout.manifest(partition, commit));
  for (const [index, path] of numbered.entries()) await replaceFile(join(dataRoot, path), jsonLine(manifests[index]));
  await syncFolders(dataRoot, numbered);
  check();
  const pending = join(dataRoot, layout.pending);
  if (manifests.length > 1) await replaceFile(pending, jsonLine(numbered));
  for (const manifest of manifests) await moveHead(dataRoot, manifest);
  if (manifests.length > 1) await fs.rm(pending);
  return manifests;
}

/** Moves the heads that a killed process did not move, so that partitions committed together stay consistent. */
export async function finishHeads(dataRoot: string): Promise<void> {
  const pending = join(dataRoot, layout.pending);
  const numbered = JSON.parse((await readIfPresent(pending)) ?? '[]') as string[];
  for (const path of numbered) {
    const manifest = Manifest.parse(JSON.parse(await fs.readFile(join(dataRoot, path), 'utf8')));
    await moveHead(dataRoot, manifest);
  }
  await fs.rm(pending, { force: true });
}

async function moveHead(dataRoot: string, manifest: Manifest): Promise<void> {
  await replaceFile(join(dataRoot, layout.head(manifest.partition)), jsonLine(headOf(manifest)));
}

export function jsonLine(content: unknown): string {
  return `${JSON.stringify(content)}\n`;
}

/** Moves staged files to their final names, synced. */
export async function placeFiles(dataRoot: string, files: readonly { staged: string; path: string }[]): Promise<void> {
  const place = async ({ staged, path }: { staged: string; path: string }) => {
    const target = join(dataRoot, path);
    await sync(staged);
    await fs.mkdir(dirname(target), { recursive: true });
    await fs.rename(staged, target);
  };
  await allOrFirstError(files.map(place));
  const paths = files.map((file) => file.path);
  await syncFolders(dataRoot, paths);
}

/** Syncs every folder above the given files: the entry of a new folder must survive a power failure, too. */
export async function syncFolders(dataRoot: string, paths: readonly string[]): Promise<void> {
  const folders = new Set<string>();
  for (const path of paths) {
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) folders.add(folder);
  }
  await allOrFirstError([...folders].map((folder) => sync(join(dataRoot, folder))));
}
