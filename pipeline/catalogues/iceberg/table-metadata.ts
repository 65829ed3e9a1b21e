import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Table } from '../../../schemas/columns.ts';
import { namesIn, orNull, readIfPresent, replaceFile } from '../../files.ts';
import { fieldsOf, IcebergSchema, nameMapping } from './schema.ts';

/** Most snapshots that a table keeps, and most earlier metadata files that it names. */
const SNAPSHOTS_MAX = 100;
const LOGGED_FILES_MAX = 20;

/** Name of the file that says which metadata are the newest, as Hadoop's catalogues write it. */
export const VERSION_HINT = 'version-hint.text';

const Snapshot = z.object({
  'snapshot-id': z.int().positive(),
  'parent-snapshot-id': z.int().positive().optional(),
  'sequence-number': z.int().positive(),
  'timestamp-ms': z.int(),
  'manifest-list': z.string(),
  summary: z.record(z.string(), z.string()),
  'schema-id': z.int(),
});
export type Snapshot = z.infer<typeof Snapshot>;

/** Metadata of a table by version 2 of the Iceberg specification, as this pipeline writes them. */
export const TableMetadata = z.object({
  'format-version': z.literal(2),
  'table-uuid': z.string(),
  location: z.string(),
  'last-sequence-number': z.int().nonnegative(),
  'last-updated-ms': z.int(),
  'last-column-id': z.int(),
  schemas: z.array(IcebergSchema).min(1),
  'current-schema-id': z.int(),
  'partition-specs': z.array(z.object({ 'spec-id': z.literal(0), fields: z.array(z.never()) })),
  'default-spec-id': z.literal(0),
  'last-partition-id': z.int(),
  'sort-orders': z.array(z.object({ 'order-id': z.literal(0), fields: z.array(z.never()) })),
  'default-sort-order-id': z.literal(0),
  properties: z.record(z.string(), z.string()),
  'current-snapshot-id': z.int(),
  refs: z.object({ main: z.object({ 'snapshot-id': z.int(), type: z.literal('branch') }) }),
  snapshots: z.array(Snapshot).min(1),
  'snapshot-log': z.array(z.object({ 'timestamp-ms': z.int(), 'snapshot-id': z.int() })),
  'metadata-log': z.array(z.object({ 'timestamp-ms': z.int(), 'metadata-file': z.string() })),
});
export type TableMetadata = z.infer<typeof TableMetadata>;

/** Metadata of a table and the number of their file. */
export interface NumberedMetadata {
  readonly version: number;
  /** Null where no metadata can be read: the table is made anew. */
  readonly metadata: TableMetadata | null;
}

const metadataName = (version: number) => `v${version}.metadata.json`;

/** Number of a metadata file by its name; null for any other file. */
export function versionIn(name: string): number | null {
  const [, digits] = /^v(\d+)\.metadata\.json$/.exec(name) ?? [];
  return digits === undefined ? null : Number(digits);
}

/**
 * The newest metadata in a folder: the file of the highest number. It is complete, even when a process was killed before the
 * hint named it, and readers take it then, too.
 */
export async function readNewestMetadata(folder: string): Promise<NumberedMetadata> {
  const version = (await namesIn(folder)).reduce((newest, name) => Math.max(newest, versionIn(name) ?? 0), 0);
  return { version, metadata: version === 0 ? null : await readMetadata(folder, version) };
}

/** Metadata by their number; null when they are missing or unreadable. */
export async function readMetadata(folder: string, version: number): Promise<TableMetadata | null> {
  const text = await readIfPresent(join(folder, metadataName(version)));
  try {
    return text === null ? null : TableMetadata.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** Puts metadata in their place, whole, then points readers to them. */
export async function writeMetadata(folder: string, version: number, metadata: TableMetadata): Promise<void> {
  await replaceFile(join(folder, metadataName(version)), `${JSON.stringify(metadata)}\n`);
  await writeHint(folder, version);
}

/** Points readers to the metadata of a number; writes nothing when the hint says so already. */
export async function writeHint(folder: string, version: number): Promise<void> {
  const path = join(folder, VERSION_HINT);
  if ((await readIfPresent(path)) !== String(version)) await replaceFile(path, String(version));
}

/** When metadata were replaced by those of the next number, epoch milliseconds; null for the newest. */
export async function replacedAt(folder: string, version: number): Promise<number | null> {
  return (await orNull(() => fs.stat(join(folder, metadataName(version + 1)))))?.mtimeMs ?? null;
}

/** A schema that is in force, and all schemas with it. */
export interface Schemas {
  readonly schemas: readonly IcebergSchema[];
  readonly current: IcebergSchema;
  readonly last_column_id: number;
}

/** The schemas of a table after its columns may have changed; the earlier ones stay, because snapshots name them. */
export function schemasOf(table: Table, before: TableMetadata | null): Schemas {
  const known = before?.schemas ?? [];
  const last_id = before?.['last-column-id'] ?? 0;
  const fields = fieldsOf(table, known, last_id);
  const last_column_id = fields.reduce((last, { id }) => Math.max(last, id), last_id);
  const same = known.find((schema) => isDeepStrictEqual(schema.fields, fields));
  if (same !== undefined) return { schemas: known, current: same, last_column_id };
  const current = { type: 'struct' as const, 'schema-id': known.length, fields };
  return { schemas: [...known, current], current, last_column_id };
}

/** A new snapshot of a table. */
export interface NewSnapshot {
  readonly snapshot: Snapshot;
  /** False once files were dropped: earlier snapshots would name files that are about to be deleted. */
  readonly keeps_earlier: boolean;
}

/** Where a table lies and what it is called. */
export interface TablePlace {
  readonly table: Table;
  /** Name of the data root; null for one without. */
  readonly root_id: string | null;
  readonly location: string;
}

/** The metadata of a table with a new snapshot. Their times never run backwards, whatever the clock of the machine does. */
export function nextMetadata(
  { table, root_id, location }: TablePlace,
  { version, metadata: before }: NumberedMetadata,
  { schemas, current, last_column_id }: Schemas,
  { snapshot, keeps_earlier }: NewSnapshot,
): TableMetadata {
  const earlier = keeps_earlier ? (before?.snapshots ?? []).slice(-(SNAPSHOTS_MAX - 1)) : [];
  const kept = new Set(earlier.map((one) => one['snapshot-id']));
  const id = snapshot['snapshot-id'];
  const time = snapshot['timestamp-ms'];
  const logged = before === null ? [] : [...before['metadata-log'], loggedFile(location, version, before)];
  return {
    'format-version': 2,
    'table-uuid': before?.['table-uuid'] ?? tableUuid(`${root_id} ${table.name}`),
    location,
    'last-sequence-number': snapshot['sequence-number'],
    'last-updated-ms': time,
    'last-column-id': last_column_id,
    schemas: [...schemas],
    'current-schema-id': current['schema-id'],
    'partition-specs': [{ 'spec-id': 0, fields: [] }],
    'default-spec-id': 0,
    'last-partition-id': 999,
    'sort-orders': [{ 'order-id': 0, fields: [] }],
    'default-sort-order-id': 0,
    properties: {
      comment: table.row.description ?? table.name,
      'hail.schema-version': String(table.schema_version),
      'schema.name-mapping.default': nameMapping(current.fields),
    },
    'current-snapshot-id': id,
    refs: { main: { 'snapshot-id': id, type: 'branch' } },
    snapshots: [...earlier, snapshot],
    'snapshot-log': [
      ...(before?.['snapshot-log'] ?? []).filter((one) => kept.has(one['snapshot-id'])),
      { 'timestamp-ms': time, 'snapshot-id': id },
    ],
    'metadata-log': logged.slice(-LOGGED_FILES_MAX),
  };
}

function loggedFile(location: string, version: number, metadata: TableMetadata) {
  const file = `${location}/metadata/${metadataName(version)}`;
  return { 'timestamp-ms': metadata['last-updated-ms'], 'metadata-file': file };
}

/** The same table of the same data root has the same name whenever its metadata are made anew. */
function tableUuid(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex');
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join('-');
}
