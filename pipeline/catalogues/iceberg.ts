import { createHash, randomBytes } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import avsc, { type Schema } from 'avsc';
import { columns, type Table } from '../../schemas/columns.ts';
import { MS_PER_DAY, scanTime } from '../../schemas/time.ts';
import type { ColumnType } from '../../schemas/units.ts';
import { type Edition, filesOf, isDate, type ListedFile } from './edition.ts';

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

interface Field {
  readonly id: number;
  readonly name: string;
  readonly required: boolean;
  readonly type: (typeof TYPES)[ColumnType];
  readonly doc: string;
}

/** Addresses without a slash at the end, and names. */
export interface IcebergPlace {
  /** Address of the data root. */
  readonly root: string;
  /** Address of the table. */
  readonly table: string;
  /** Address of the folder with the manifest and the manifest list. */
  readonly snapshot: string;
  /** Number of the catalogue: version of the metadata and sequence number. */
  readonly number: number;
  /** Name of the data root, from which the UUID of the table is made. */
  readonly root_id: string;
}

export const manifestName = ({ name }: Table) => `${name}-files.avro`;
export const listName = ({ name }: Table) => `${name}-snapshot.avro`;

/** Metadata, manifest list and manifest of a table by version 2 of the Iceberg specification: one snapshot, the edition. */
export async function icebergFiles(edition: Edition, table: Table, place: IcebergPlace) {
  const files = filesOf(edition, table);
  const fields = columns(table).map(
    ({ name, type, nullable, description, unit }, index): Field => ({
      id: index + 1,
      name,
      required: !nullable,
      type: TYPES[type],
      doc: unit === null ? description : `${description} Unit: ${type.startsWith('TIMESTAMPTZ') ? 'UTC' : unit}.`,
    }),
  );
  const schema = { type: 'struct', 'schema-id': 0, fields };
  // Below 2^48, which every reader takes for a whole number.
  const snapshot_id = Number.parseInt(hashOf(`${edition.name} ${place.number}`).slice(0, 12), 16) + 1;
  const format = { 'format-version': '2' };
  const manifest = await avro(
    MANIFEST,
    files.map((listed) => entryOf(listed, fields, snapshot_id, place.root)),
    {
      ...format,
      schema: JSON.stringify(schema),
      'schema-id': '0',
      'partition-spec': '[]',
      'partition-spec-id': '0',
      content: 'data',
    },
  );
  const rows = files.reduce((sum, { file }) => sum + file.rows, 0);
  const listed = {
    manifest_path: `${place.snapshot}/${manifestName(table)}`,
    manifest_length: manifest.length,
    sequence_number: place.number,
    min_sequence_number: place.number,
    added_snapshot_id: snapshot_id,
    added_files_count: files.length,
    added_rows_count: rows,
  };
  const list = await avro(MANIFEST_LIST, files.length === 0 ? [] : [listed], {
    ...format,
    'snapshot-id': String(snapshot_id),
    'parent-snapshot-id': 'null',
    'sequence-number': String(place.number),
  });
  const time_ms = edition.committed_at === null ? 0 : Date.parse(edition.committed_at);
  const snapshot = {
    'snapshot-id': snapshot_id,
    'sequence-number': place.number,
    'timestamp-ms': time_ms,
    'manifest-list': `${place.snapshot}/${listName(table)}`,
    summary: {
      operation: 'append',
      'total-data-files': String(files.length),
      'total-records': String(rows),
      'total-delete-files': '0',
      'hail.edition': edition.name,
    },
    'schema-id': 0,
  };
  const metadata = {
    'format-version': 2,
    'table-uuid': uuidOf(`${place.root_id} ${table.name}`),
    location: place.table,
    'last-sequence-number': place.number,
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
    'snapshot-log': [{ 'timestamp-ms': time_ms, 'snapshot-id': snapshot_id }],
    'metadata-log': [],
  };
  return { metadata, list, manifest };
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');

/** The same table of the same data root has the same UUID in every catalogue. */
function uuidOf(text: string): string {
  const hex = hashOf(text);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

function entryOf(listed: ListedFile, fields: readonly Field[], snapshot_id: number, root: string): object {
  const { file } = listed;
  const bounds = fields.flatMap(({ id, name, type }) => {
    const range = rangeOf(name, listed);
    return range === null ? [] : [{ id, least: boundBytes(type, range[0]), most: boundBytes(type, range[1]) }];
  });
  return {
    snapshot_id,
    data_file: {
      file_path: `${root}/${file.path}`,
      file_format: 'PARQUET',
      partition: {},
      record_count: file.rows,
      file_size_in_bytes: file.bytes,
      lower_bounds: bounds.map(({ id, least }) => ({ key: id, value: least })),
      upper_bounds: bounds.map(({ id, most }) => ({ key: id, value: most })),
    },
  };
}

/** Least and largest value of a column in the head: dates in days, times in microseconds since 1970; null without any. */
function rangeOf(column: string, { head, file }: ListedFile): readonly [number, number] | null {
  const { first_scan, last_scan, bbox } = file;
  if (column === 'lat' && bbox !== null) return [bbox[1], bbox[3]];
  if (column === 'lon' && bbox !== null) return [bbox[0], bbox[2]];
  if (column === 'scan_time' && first_scan !== null && last_scan !== null)
    return [scanTime(first_scan) * 1000, scanTime(last_scan) * 1000];
  if (column !== 'storm_date') return null;
  const dates = isDate(head.partition) ? [head.partition] : Object.keys(head.dates ?? {}).sort();
  return dates.length === 0 ? null : [dayNumber(dates[0]), dayNumber(dates[dates.length - 1])];
}

function dayNumber(date: string): number {
  return Date.parse(date) / MS_PER_DAY;
}

/** The single-value serialisation of a bound by the Iceberg specification. */
function boundBytes(type: Field['type'], value: number): Buffer {
  const bytes = Buffer.alloc(type === 'date' ? 4 : 8);
  if (type === 'date') bytes.writeInt32LE(value);
  else if (type === 'double') bytes.writeDoubleLE(value);
  else bytes.writeBigInt64LE(BigInt(value));
  return bytes;
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

/** A map with whole numbers as keys: Avro's own maps have texts. */
const bytesByField = (id: number, name: string, key: number, value: number) => ({
  name,
  'field-id': id,
  type: {
    type: 'array',
    logicalType: 'map',
    items: { type: 'record', name: `k${key}_v${value}`, fields: avroFields(`${key} key int, ${value} value bytes`) },
  },
});

const DATA_FILE = {
  type: 'record',
  name: 'r2',
  fields: [
    ...avroFields('134 content int = 0, 100 file_path string, 101 file_format string'),
    { name: 'partition', 'field-id': 102, type: { type: 'record', name: 'r102', fields: [] } },
    ...avroFields('103 record_count long, 104 file_size_in_bytes long'),
    bytesByField(125, 'lower_bounds', 126, 127),
    bytesByField(128, 'upper_bounds', 129, 130),
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
