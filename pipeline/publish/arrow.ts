import {
  Bool,
  type DataType,
  Field,
  Float64,
  Int32,
  makeData,
  RecordBatch,
  RecordBatchFileWriter,
  Schema,
  Struct,
  TimestampMillisecond,
  Uint16,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { columns, fileNotes, type Table } from '../../schemas/columns.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';
import type { ColumnType } from '../../schemas/units.ts';

type Values = Readonly<Record<string, unknown>>;

/** Arrow schema of a table: the same names, order and meaning as its Parquet columns, with unit and description of each. */
function arrowSchema(table: Table, notes: Readonly<Record<string, string>> = {}): Schema {
  const fields = columns(table).map((field) => {
    const unit = field.unit === null ? {} : { unit: field.unit };
    const metadata = new Map(Object.entries({ ...unit, description: field.description }));
    return new Field(field.name, ARROW_TYPES[field.type](), field.nullable, metadata);
  });
  return new Schema(fields, new Map(Object.entries(notes)));
}

const ARROW_TYPES: Readonly<Record<ColumnType, () => DataType>> = {
  BOOLEAN: () => new Bool(),
  USMALLINT: () => new Uint16(),
  INTEGER: () => new Int32(),
  BIGINT: () => new Float64(),
  DOUBLE: () => new Float64(),
  TIMESTAMPTZ: () => new TimestampMillisecond('UTC'),
  DATE: () => new Utf8(),
  VARCHAR: () => new Utf8(),
  GEOMETRY: () => new Utf8(),
};

/** Rows of one scan as one Arrow record batch, which every snapshot with that scan writes again. */
export function recordBatch(table: Table, rows: readonly Values[]): RecordBatch {
  const schema = arrowSchema(table);
  const children = schema.fields.map(({ name, type }) => {
    const values = rows.map((row) => row[name] ?? null);
    return vectorFromArray(values, type).data[0] ?? makeData({ type });
  });
  const data = makeData({ type: new Struct(schema.fields), length: rows.length, nullCount: 0, children });
  return new RecordBatch(schema, data);
}

/** Arrow IPC file of some scans' batches; a file without rows still carries the schema. */
export async function arrowFile(
  table: Table,
  batches: readonly RecordBatch[],
  provenance: MixedProvenance,
): Promise<Uint8Array> {
  const writer = new RecordBatchFileWriter();
  writer.reset(undefined, arrowSchema(table, fileNotes(table, provenance, 'arrow')));
  for (const batch of batches) writer.write(batch);
  writer.finish();
  return writer.toUint8Array();
}
