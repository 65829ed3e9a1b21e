import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import type { PublishedFile } from '../../../schemas/manifest.ts';
import { writeSynced } from '../../files.ts';
import { type ManifestEntry, type ManifestFile, manifestListBytes, readManifestList, STATUS } from './avro-files.ts';
import type { Footers } from './footers.ts';
import {
  addedEntry,
  fileName,
  hashOfFiles,
  liveEntries,
  type ManifestOwner,
  manifestNameOf,
  writeManifest,
} from './manifest-files.ts';
import {
  type NumberedMetadata,
  nextMetadata,
  readNewestMetadata,
  type Schemas,
  type Snapshot,
  schemasOf,
  type TablePlace,
  writeHint,
  writeMetadata,
} from './table-metadata.ts';

/** Numbers of snapshots are below this, so that they are exact in every reader of JSON. */
const SNAPSHOT_IDS = 2 ** 47;

/** A table whose next snapshot is being made. */
export interface TableChange extends TablePlace, ManifestOwner {
  readonly newest: NumberedMetadata;
  readonly schemas: Schemas;
  /** Manifests of the newest snapshot, then of the next one. */
  manifests: readonly ManifestFile[];
  /** Counts of files and rows that the next snapshot adds and drops. */
  readonly added: { files: number; rows: number };
  readonly dropped: { files: number; rows: number };
  isChanged: boolean;
}

/** Files that a scope should list and does not yet, in the place of what it lists. */
export interface ScopeChange {
  readonly scope: string;
  /** Parts whose manifest lists something else, with the files that it should list. */
  readonly parts: ReadonlyMap<string, readonly PublishedFile[]>;
  /** Manifests that are replaced. */
  readonly replaced: readonly ManifestFile[];
  /** Live entries of those, by the address of the file, and the part that lists it. */
  readonly listed: ReadonlyMap<string, { readonly entry: ManifestEntry; readonly part: string }>;
}

/** Reads what a table shows now; throws when its metadata are there and cannot be read. `place.location`: its address. */
export async function openTableChange(place: TablePlace, folder: string): Promise<TableChange> {
  const newest = await readNewestMetadata(folder);
  const { version, metadata } = newest;
  if (version > 0 && metadata === null)
    throw new TypeError(`${folder}: metadata ${version} cannot be read, expected metadata of version 2`);
  const snapshot = metadata?.snapshots.at(-1);
  const schemas = schemasOf(place.table, metadata);
  return {
    ...place,
    folder,
    address: `${place.location}/metadata`,
    newest,
    schemas,
    schema: schemas.current,
    snapshot_id: randomInt(1, SNAPSHOT_IDS),
    sequence_number: (metadata?.['last-sequence-number'] ?? 0) + 1,
    manifests: snapshot === undefined ? [] : await readManifestList(join(folder, fileName(snapshot['manifest-list']))),
    added: { files: 0, rows: 0 },
    dropped: { files: 0, rows: 0 },
    isChanged: metadata === null || schemas.current['schema-id'] !== metadata['current-schema-id'],
  };
}

/** What has to be rewritten so that a scope lists the files given by part; null when it lists them. */
export async function scopeChange(
  change: TableChange,
  scope: string,
  wanted: ReadonlyMap<string, readonly PublishedFile[]>,
): Promise<ScopeChange | null> {
  const parts = new Map(wanted);
  const replaced: ManifestFile[] = [];
  for (const manifest of change.manifests) {
    const name = manifestNameOf(manifest);
    if (name.scope !== scope) continue;
    const files = wanted.get(name.part);
    if (files !== undefined && hashOfFiles(files) === name.hash) parts.delete(name.part);
    else replaced.push(manifest);
  }
  if (parts.size === 0 && replaced.length === 0) return null;
  const listed = new Map<string, { entry: ManifestEntry; part: string }>();
  for (const manifest of replaced) {
    const { part } = manifestNameOf(manifest);
    for (const [path, entry] of await liveEntries(change.folder, manifest)) listed.set(path, { entry, part });
  }
  return { scope, parts, replaced, listed };
}

/** Files of a change that the table does not list yet. `address`: that of a published file. */
export function newFiles({ parts, listed }: ScopeChange, address: (file: PublishedFile) => string): PublishedFile[] {
  return [...parts.values()].flat().filter((file) => !listed.has(address(file)));
}

/**
 * Writes the manifests of a change. A file that another part listed stays the file that it was; one that is listed no more is named
 * as deleted by this snapshot.
 */
export async function writeScope(
  change: TableChange,
  { scope, parts, replaced, listed }: ScopeChange,
  footers: Footers,
  data_root: string,
  address: (file: PublishedFile) => string,
): Promise<void> {
  const wanted = new Set([...parts.values()].flat().map(address));
  const deleted = Map.groupBy(
    [...listed.values()].filter(({ entry }) => !wanted.has(entry.data_file.file_path)),
    ({ part }) => part,
  );
  const { snapshot_id } = change;
  const written: ManifestFile[] = [];
  for (const part of new Set([...parts.keys(), ...deleted.keys()])) {
    const files = parts.get(part) ?? [];
    const entries: ManifestEntry[] = [];
    for (const file of files) {
      const path = address(file);
      const known = listed.get(path)?.entry;
      if (known !== undefined) {
        entries.push({ ...known, status: STATUS.existing });
        continue;
      }
      const footer = footers.get(join(data_root, file.path)) ?? new Map();
      entries.push(addedEntry(file, path, change.schema.fields, footer, snapshot_id));
      count(change.added, file.rows);
    }
    for (const { entry } of deleted.get(part) ?? []) {
      entries.push({ ...entry, status: STATUS.deleted, snapshot_id });
      count(change.dropped, entry.data_file.record_count);
    }
    if (entries.length > 0)
      written.push(await writeManifest(change, { scope, part, hash: hashOfFiles(files) }, entries));
  }
  change.manifests = [...change.manifests.filter((manifest) => !replaced.includes(manifest)), ...written];
  change.isChanged = true;
}

function count(sum: { files: number; rows: number }, rows: number): void {
  sum.files += 1;
  sum.rows += rows;
}

/**
 * Points readers to the next snapshot of a table. Before the last step they see the one before, whole. `summary`: what the snapshot
 * says of the edition that it is; `time_ms`: time of its newest commit.
 */
export async function commitTable(
  change: TableChange,
  summary: Readonly<Record<string, string>>,
  time_ms: number,
): Promise<void> {
  const { folder, address, newest, snapshot_id, sequence_number, added, dropped } = change;
  if (!change.isChanged) {
    // A process that was killed before it had moved the hint left it behind.
    await writeHint(folder, newest.version);
    return;
  }
  const parent_id = newest.metadata?.['current-snapshot-id'] ?? null;
  const list = `snap-${snapshot_id.toString(16)}.avro`;
  const owner = { snapshot_id, parent_id, sequence_number };
  // A manifest that lists nothing but deleted files counts for its own snapshot only.
  const manifests = change.manifests.filter(
    (one) => one.added_snapshot_id === snapshot_id || one.added_files_count + one.existing_files_count > 0,
  );
  await writeSynced(join(folder, list), await manifestListBytes(manifests, owner));
  const sum = (counts: (manifest: ManifestFile) => number) =>
    String(manifests.reduce((total, manifest) => total + counts(manifest), 0));
  const snapshot: Snapshot = {
    'snapshot-id': snapshot_id,
    ...(parent_id === null ? {} : { 'parent-snapshot-id': parent_id }),
    'sequence-number': sequence_number,
    'timestamp-ms': Math.max(time_ms, newest.metadata?.['last-updated-ms'] ?? 0),
    'manifest-list': `${address}/${list}`,
    summary: {
      operation: operationOf(change),
      'added-data-files': String(added.files),
      'added-records': String(added.rows),
      'deleted-data-files': String(dropped.files),
      'deleted-records': String(dropped.rows),
      'total-data-files': sum((manifest) => manifest.added_files_count + manifest.existing_files_count),
      'total-records': sum((manifest) => manifest.added_rows_count + manifest.existing_rows_count),
      'total-delete-files': '0',
      ...summary,
    },
    'schema-id': change.schema['schema-id'],
  };
  const next = nextMetadata(change, newest, change.schemas, { snapshot, keeps_earlier: dropped.files === 0 });
  await writeMetadata(folder, newest.version + 1, next);
}

function operationOf({ added, dropped }: TableChange): string {
  if (dropped.files === 0) return 'append';
  return added.files === 0 ? 'delete' : 'overwrite';
}
