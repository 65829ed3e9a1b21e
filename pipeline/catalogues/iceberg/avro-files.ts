import { randomBytes } from 'node:crypto';
import fs from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import avsc, { type Schema } from 'avsc';
import { z } from 'zod';
import type { IcebergSchema } from './schema.ts';

/** An Avro field with the id by which the Iceberg specification knows it. */
const field = (id: number, name: string, type: Schema) => ({ name, type, 'field-id': id });
const optional = (id: number, name: string, type: 'long' | ArrayOfRecords) => ({
  ...field(id, name, ['null', type]),
  default: null,
});

interface ArrayOfRecords {
  readonly type: 'array';
  readonly logicalType: 'map';
  readonly items: Schema;
}

/** A map with whole numbers as keys: Avro's own maps have texts. */
const byField = (id: number, name: string, key: number, value: number, type: string) =>
  optional(id, name, {
    type: 'array',
    logicalType: 'map',
    items: {
      type: 'record',
      name: `k${key}_v${value}`,
      fields: [field(key, 'key', 'int'), field(value, 'value', type)],
    },
  });

const MANIFEST_SCHEMA: Schema = {
  type: 'record',
  name: 'manifest_entry',
  fields: [
    field(0, 'status', 'int'),
    optional(1, 'snapshot_id', 'long'),
    optional(3, 'sequence_number', 'long'),
    optional(4, 'file_sequence_number', 'long'),
    field(2, 'data_file', {
      type: 'record',
      name: 'r2',
      fields: [
        field(134, 'content', 'int'),
        field(100, 'file_path', 'string'),
        field(101, 'file_format', 'string'),
        field(102, 'partition', { type: 'record', name: 'r102', fields: [] }),
        field(103, 'record_count', 'long'),
        field(104, 'file_size_in_bytes', 'long'),
        byField(109, 'value_counts', 119, 120, 'long'),
        byField(110, 'null_value_counts', 121, 122, 'long'),
        byField(125, 'lower_bounds', 126, 127, 'bytes'),
        byField(128, 'upper_bounds', 129, 130, 'bytes'),
      ],
    }),
  ],
};

const MANIFEST_LIST_SCHEMA: Schema = {
  type: 'record',
  name: 'manifest_file',
  fields: [
    field(500, 'manifest_path', 'string'),
    field(501, 'manifest_length', 'long'),
    field(502, 'partition_spec_id', 'int'),
    field(517, 'content', 'int'),
    field(515, 'sequence_number', 'long'),
    field(516, 'min_sequence_number', 'long'),
    field(503, 'added_snapshot_id', 'long'),
    field(504, 'added_files_count', 'int'),
    field(505, 'existing_files_count', 'int'),
    field(506, 'deleted_files_count', 'int'),
    field(512, 'added_rows_count', 'long'),
    field(513, 'existing_rows_count', 'long'),
    field(514, 'deleted_rows_count', 'long'),
  ],
};

/** State of a file in a manifest. */
export const STATUS = { existing: 0, added: 1, deleted: 2 } as const;

const perField = <Value extends z.ZodType>(value: Value) => z.array(z.object({ key: z.int(), value })).nullable();

const ManifestEntry = z.object({
  status: z.int().min(STATUS.existing).max(STATUS.deleted),
  snapshot_id: z.number().nullable(),
  /** Null in an entry that its own snapshot added: it inherits the number of its manifest. */
  sequence_number: z.number().nullable(),
  file_sequence_number: z.number().nullable(),
  data_file: z.object({
    content: z.literal(0),
    file_path: z.string(),
    file_format: z.literal('PARQUET'),
    partition: z.object({}),
    record_count: z.number(),
    file_size_in_bytes: z.number(),
    value_counts: perField(z.number()),
    null_value_counts: perField(z.number()),
    lower_bounds: perField(z.instanceof(Buffer)),
    upper_bounds: perField(z.instanceof(Buffer)),
  }),
});
export type ManifestEntry = z.infer<typeof ManifestEntry>;

const ManifestFile = z.object({
  manifest_path: z.string(),
  manifest_length: z.number(),
  partition_spec_id: z.number(),
  content: z.literal(0),
  sequence_number: z.number(),
  min_sequence_number: z.number(),
  added_snapshot_id: z.number(),
  added_files_count: z.number(),
  existing_files_count: z.number(),
  deleted_files_count: z.number(),
  added_rows_count: z.number(),
  existing_rows_count: z.number(),
  deleted_rows_count: z.number(),
});
/** A manifest, as a manifest list names it. */
export type ManifestFile = z.infer<typeof ManifestFile>;

/** Content of a manifest: an Avro file of entries. */
export function manifestBytes(entries: readonly ManifestEntry[], schema: IcebergSchema): Promise<Buffer> {
  return encode(MANIFEST_SCHEMA, entries, {
    schema: JSON.stringify(schema),
    'schema-id': String(schema['schema-id']),
    'partition-spec': '[]',
    'partition-spec-id': '0',
    'format-version': '2',
    content: 'data',
  });
}

/** Snapshot that a manifest list belongs to. */
export interface ListOwner {
  readonly snapshot_id: number;
  readonly parent_id: number | null;
  readonly sequence_number: number;
}

/** Content of a manifest list: an Avro file that names the manifests of a snapshot. */
export function manifestListBytes(files: readonly ManifestFile[], owner: ListOwner): Promise<Buffer> {
  return encode(MANIFEST_LIST_SCHEMA, files, {
    'snapshot-id': String(owner.snapshot_id),
    'parent-snapshot-id': String(owner.parent_id),
    'sequence-number': String(owner.sequence_number),
    'format-version': '2',
  });
}

/** Entries of a manifest; throws when the file cannot be read. */
export async function readManifestEntries(path: string): Promise<ManifestEntry[]> {
  return z.array(ManifestEntry).parse(await decode(path));
}

/** The manifests that a manifest list names; throws when the file cannot be read. */
export async function readManifestList(path: string): Promise<ManifestFile[]> {
  return z.array(ManifestFile).parse(await decode(path));
}

/** The schema goes into the file as it stands here: avsc itself knows nothing of field ids, and would drop them. */
async function encode(schema: Schema, records: readonly object[], header: Record<string, string>): Promise<Buffer> {
  const metadata = Object.fromEntries(Object.entries(header).map(([key, text]) => [key, Buffer.from(text)]));
  const options = { codec: 'deflate', metadata, writeHeader: true, syncMarker: randomBytes(16) };
  const chunks: Buffer[] = [];
  await pipeline(records, new avsc.streams.BlockEncoder(schema, options), async (source: AsyncIterable<Buffer>) => {
    for await (const chunk of source) chunks.push(chunk);
  });
  return Buffer.concat(chunks);
}

/** Length of the marker that ends the header of an Avro file and each of its blocks, bytes. */
const MARKER_BYTES = 16;

async function decode(path: string): Promise<unknown[]> {
  const bytes = await fs.readFile(path);
  const records: unknown[] = [];
  let marker: Buffer | null = null;
  const decoder = new avsc.streams.BlockDecoder();
  decoder.on('metadata', (_type: unknown, _codec: string, { sync }: { sync: Buffer }) => {
    marker = sync;
  });
  await pipeline([bytes], decoder, async (source: AsyncIterable<unknown>) => {
    for await (const record of source) records.push(record);
  });
  // The decoder takes the end of its input for the end of the file.
  if (marker === null || bytes.subarray(-MARKER_BYTES).compare(marker) !== 0)
    throw new TypeError(`${path} is cut off after ${bytes.length} bytes, expected a whole Avro file`);
  return records;
}
