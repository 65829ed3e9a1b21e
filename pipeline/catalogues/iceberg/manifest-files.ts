import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { PublishedFile } from '../../../schemas/manifest.ts';
import { writeSynced } from '../../files.ts';
import { type ManifestEntry, type ManifestFile, manifestBytes, readManifestEntries, STATUS } from './avro-files.ts';
import { boundBytes, type ColumnFacts } from './bounds.ts';
import type { IcebergField, IcebergSchema } from './schema.ts';

/** What a manifest lists, by its name: a part of a scope, and the hash of the paths of its files. */
export interface ManifestName {
  readonly scope: string;
  readonly part: string;
  readonly hash: string;
}

/** Hash in the name of a manifest that lists deleted files only. */
const NO_FILES = 'none';

/** Name of the manifest of a snapshot; no two snapshots share one, so that no reader's cache holds another content of it. */
function manifestName({ scope, part, hash }: ManifestName, snapshot_id: number): string {
  return `${scope}_${part}_${hash}_${snapshot_id.toString(16)}.avro`;
}

/** What a manifest lists; throws for a name that this pipeline did not give. */
export function manifestNameOf({ manifest_path }: ManifestFile): ManifestName {
  const [, scope, part, hash] = /\/([^/_]+)_([^/_]+)_([^/_]+)_[0-9a-f]+\.avro$/.exec(manifest_path) ?? [];
  if (scope === undefined || part === undefined || hash === undefined)
    throw new TypeError(`${manifest_path} is no name of a manifest, expected one that this pipeline gave`);
  return { scope, part, hash };
}

/** Published files never change, so that their paths say whether a manifest lists what it should. */
export function hashOfFiles(files: readonly PublishedFile[]): string {
  if (files.length === 0) return NO_FILES;
  const paths = files.map(({ path }) => path).sort();
  return createHash('sha256').update(paths.join('\n')).digest('hex').slice(0, 16);
}

/** Live entries of a manifest by the path of their file, with what they inherit from the manifest written out. */
export async function liveEntries(folder: string, file: ManifestFile): Promise<Map<string, ManifestEntry>> {
  const entries = await readManifestEntries(join(folder, fileName(file.manifest_path)));
  const live = entries.filter(({ status }) => status !== STATUS.deleted);
  return new Map(
    live.map((entry) => [
      entry.data_file.file_path,
      {
        ...entry,
        snapshot_id: entry.snapshot_id ?? file.added_snapshot_id,
        sequence_number: entry.sequence_number ?? file.sequence_number,
        file_sequence_number: entry.file_sequence_number ?? file.sequence_number,
      },
    ]),
  );
}

/** Last name of a path or an address. */
export function fileName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Entry of a file that a snapshot adds. `path`: its address. */
export function addedEntry(
  file: PublishedFile,
  path: string,
  fields: readonly IcebergField[],
  footer: ReadonlyMap<string, ColumnFacts>,
  snapshot_id: number,
): ManifestEntry {
  const counted = fields.flatMap((field) => {
    const facts = footer.get(field.name);
    return facts === undefined ? [] : [{ field, facts }];
  });
  const bounds = (side: 'least' | 'most') =>
    counted.flatMap(({ field: { id, type }, facts }) => {
      const value = facts[side] === null ? null : boundBytes(type, facts[side]);
      return value === null ? [] : [{ key: id, value }];
    });
  return {
    status: STATUS.added,
    snapshot_id,
    sequence_number: null,
    file_sequence_number: null,
    data_file: {
      content: 0,
      file_path: path,
      file_format: 'PARQUET',
      partition: {},
      record_count: file.rows,
      file_size_in_bytes: file.bytes,
      value_counts: counted.map(({ field, facts }) => ({ key: field.id, value: facts.values })),
      null_value_counts: counted.flatMap(({ field, facts }) =>
        facts.nulls === null ? [] : [{ key: field.id, value: facts.nulls }],
      ),
      lower_bounds: bounds('least'),
      upper_bounds: bounds('most'),
    },
  };
}

/** The snapshot that a manifest is written for. */
export interface ManifestOwner {
  /** Folder of the metadata on the disk, and its address. */
  readonly folder: string;
  readonly address: string;
  readonly schema: IcebergSchema;
  readonly snapshot_id: number;
  readonly sequence_number: number;
}

/** Writes a manifest, content synced but not its name, and returns how the manifest list names it. */
export async function writeManifest(
  { folder, address, schema, snapshot_id, sequence_number }: ManifestOwner,
  name: ManifestName,
  entries: readonly ManifestEntry[],
): Promise<ManifestFile> {
  const file = manifestName(name, snapshot_id);
  const bytes = await manifestBytes(entries, schema);
  await writeSynced(join(folder, file), bytes);
  const of = (status: number) => entries.filter((entry) => entry.status === status);
  const rows = (some: readonly ManifestEntry[]) => some.reduce((sum, { data_file }) => sum + data_file.record_count, 0);
  const [existing, added, deleted] = [of(STATUS.existing), of(STATUS.added), of(STATUS.deleted)];
  return {
    manifest_path: `${address}/${file}`,
    manifest_length: bytes.length,
    partition_spec_id: 0,
    content: 0,
    sequence_number,
    min_sequence_number: existing.reduce(
      (least, entry) => Math.min(least, entry.sequence_number ?? least),
      sequence_number,
    ),
    added_snapshot_id: snapshot_id,
    added_files_count: added.length,
    existing_files_count: existing.length,
    deleted_files_count: deleted.length,
    added_rows_count: rows(added),
    existing_rows_count: rows(existing),
    deleted_rows_count: rows(deleted),
  };
}
