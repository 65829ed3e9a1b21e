import { createHash, randomBytes } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import avsc, { type Schema } from 'avsc';
import { columns, type Table } from '../../schemas/columns.ts';
import { layout } from '../../schemas/layout.ts';
import type { ColumnType } from '../../schemas/units.ts';
import { type Edition, filesOf } from './edition.ts';

/** Iceberg has no unsigned numbers: every 16-bit one fits an `int`. Geometries are well-known binary (WKB), as in GeoParquet. */
const TYPES = {
  BOOLEAN: 'boolean',
  USMALLINT: 'int',
  INTEGER: 'int',
  BIGINT: 'long',
  DOUBLE: 'double',
  VARCHAR: 'string',
  DATE: 'date',
  TIMESTAMPTZ: 'timestamptz',
  GEOMETRY: 'binary',
} as const satisfies Record<ColumnType, string>;

/**
 * Metadata of a table by version 2 of the Iceberg specification with one snapshot, the edition, and the Avro files that it names, by path
 * below the folder of the catalogue. `root` and `folder`: addresses of the data root and of that folder, without a slash at the end. The
 * same table of the same data root has the same UUID in every catalogue.
 */
export async function icebergFiles(
  edition: Edition,
  table: Table,
  { root, folder, number, root_id }: { root: string; folder: string; number: number; root_id: string },
) {
  const files = filesOf(edition, table).map(({ file }) => file);
  const manifest_path = `iceberg/${table.name}-files.avro`;
  const list_path = `iceberg/${table.name}-snapshot.avro`;
  const fields = columns(table).map(({ name, type, nullable, description, unit }, index) => ({
    id: index + 1,
    name,
    required: !nullable,
    type: TYPES[type],
    doc: unit === null ? description : `${description} Unit: ${type.startsWith('TIMESTAMPTZ') ? 'UTC' : unit}.`,
  }));
  const schema = { type: 'struct', 'schema-id': 0, fields };
  // Below 2^48, which every reader takes for a whole number.
  const snapshot_id = Number.parseInt(hashOf(`${edition.name} ${number}`).slice(0, 12), 16) + 1;
  const entries = files.map(({ path, rows, bytes }) => ({
    snapshot_id,
    data_file: {
      file_path: `${root}/${path}`,
      file_format: 'PARQUET',
      partition: {},
      record_count: rows,
      file_size_in_bytes: bytes,
    },
  }));
  const manifest = await avro(MANIFEST, entries, {
    'format-version': '2',
    schema: JSON.stringify(schema),
    'schema-id': '0',
    'partition-spec': '[]',
    'partition-spec-id': '0',
    content: 'data',
  });
  const rows = files.reduce((sum, file) => sum + file.rows, 0);
  const listed = {
    manifest_path: `${folder}/${manifest_path}`,
    manifest_length: manifest.length,
    sequence_number: number,
    min_sequence_number: number,
    added_snapshot_id: snapshot_id,
    added_files_count: files.length,
    added_rows_count: rows,
  };
  const list = await avro(MANIFEST_LIST, files.length === 0 ? [] : [listed], {
    'format-version': '2',
    'snapshot-id': String(snapshot_id),
    'parent-snapshot-id': 'null',
    'sequence-number': String(number),
  });
  const time_ms = edition.committed_at === null ? 0 : Date.parse(edition.committed_at);
  const snapshot = {
    'snapshot-id': snapshot_id,
    'sequence-number': number,
    'timestamp-ms': time_ms,
    'manifest-list': `${folder}/${list_path}`,
    summary: {
      operation: 'append',
      'total-data-files': String(files.length),
      'total-records': String(rows),
      'hail.edition': edition.name,
    },
    'schema-id': 0,
  };
  const metadata = {
    'format-version': 2,
    'table-uuid': uuidOf(`${root_id} ${table.name}`),
    location: `${root}/${layout.iceberg}/${table.name}`,
    'last-sequence-number': number,
    'last-updated-ms': time_ms,
    'last-column-id': fields.length,
    schemas: [schema],
    'current-schema-id': 0,
    'partition-specs': [{ 'spec-id': 0, fields: [] }],
    'default-spec-id': 0,
    'last-partition-id': 999,
    'sort-orders': [{ 'order-id': 0, fields: [] }],
    'default-sort-order-id': 0,
    properties: {
      comment: table.row.description ?? table.name,
      'hail.schema-version': String(table.schema_version),
      // The published files carry names, not ids.
      'schema.name-mapping.default': JSON.stringify(fields.map(({ id, name }) => ({ 'field-id': id, names: [name] }))),
    },
    'current-snapshot-id': snapshot_id,
    refs: { main: { 'snapshot-id': snapshot_id, type: 'branch' } },
    snapshots: [snapshot],
  };
  return {
    metadata,
    avro: [
      [list_path, list],
      [manifest_path, manifest],
    ] as const,
  };
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');

function uuidOf(text: string): string {
  const hex = hashOf(text);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Fields of an Avro record with their Iceberg ids, from `id name type` separated by commas; `= value` is the default. */
function avroFields(text: string): object[] {
  return text.split(', ').map((words) => {
    const [id, name, type, , value] = words.split(' ');
    const optional = { type: ['null', type.slice(0, -1)], default: null };
    const own = type.endsWith('?') ? optional : { type, ...(value === undefined ? {} : { default: Number(value) }) };
    return { name, 'field-id': Number(id), ...own };
  });
}

const DATA_FILE = {
  type: 'record',
  name: 'r2',
  fields: [
    ...avroFields('134 content int = 0, 100 file_path string, 101 file_format string'),
    { name: 'partition', 'field-id': 102, type: { type: 'record', name: 'r102', fields: [] } },
    ...avroFields('103 record_count long, 104 file_size_in_bytes long'),
  ],
};
/** `status` 1: added. */
const MANIFEST = {
  type: 'record',
  name: 'manifest_entry',
  fields: [
    ...avroFields('0 status int = 1, 1 snapshot_id long?, 3 sequence_number long?, 4 file_sequence_number long?'),
    { name: 'data_file', 'field-id': 2, type: DATA_FILE },
  ],
} as Schema;
const MANIFEST_LIST = {
  type: 'record',
  name: 'manifest_file',
  fields: avroFields(
    '500 manifest_path string, 501 manifest_length long, 502 partition_spec_id int = 0, 517 content int = 0, ' +
      '515 sequence_number long, 516 min_sequence_number long, 503 added_snapshot_id long, 504 added_files_count int, ' +
      '505 existing_files_count int = 0, 506 deleted_files_count int = 0, 512 added_rows_count long, ' +
      '513 existing_rows_count long = 0, 514 deleted_rows_count long = 0',
  ),
} as Schema;

/** An Avro file. The encoder writes the schema unchanged: a parsed type of avsc loses the field ids. */
async function avro(schema: Schema, records: readonly object[], header: Record<string, string>): Promise<Buffer> {
  const metadata = Object.fromEntries(Object.entries(header).map(([key, text]) => [key, Buffer.from(text)]));
  const options = { codec: 'deflate', metadata, writeHeader: true, syncMarker: randomBytes(16) };
  const chunks: Buffer[] = [];
  await pipeline(records, new avsc.streams.BlockEncoder(schema, options), async (source: AsyncIterable<Buffer>) => {
    for await (const chunk of source) chunks.push(chunk);
  });
  return Buffer.concat(chunks);
}
