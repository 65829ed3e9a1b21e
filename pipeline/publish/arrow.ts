import {
  Bool,
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
import { type Column, columns, fileNotes, type Table } from '../../schemas/columns.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';

type Values = Readonly<Record<string, unknown>>;

/** Arrow schema of a table: the same names, order and meaning as its Parquet columns, with unit and description of each. */
function arrowSchema(table: Table, notes: Readonly<Record<string, string>> = {}): Schema {
  const fields = columns(table).map(
    (field) =>
      new Field(
        field.name,
        arrowType(field),
        field.nullable,
        new Map([
          ...(field.unit === null ? [] : ([['unit', field.unit]] as const)),
          ['description', field.description],
        ]),
      ),
  );
  return new Schema(fields, new Map(Object.entries(notes)));
}

function arrowType({ type }: Column) {
  switch (type) {
    case 'BOOLEAN':
      return new Bool();
    case 'USMALLINT':
      return new Uint16();
    case 'INTEGER':
      return new Int32();
    case 'BIGINT':
    case 'DOUBLE':
      return new Float64();
    case 'TIMESTAMP':
      return new TimestampMillisecond();
    case 'DATE':
    case 'VARCHAR':
    case 'GEOMETRY':
      return new Utf8();
  }
}

/** Rows of one scan as one Arrow record batch, which every snapshot with that scan writes again. */
export function recordBatch(table: Table, rows: readonly Values[]): RecordBatch {
  const schema = arrowSchema(table);
  const children = columns(table).map((field) => {
    const values = rows.map((row) => row[field.name] ?? null);
    return vectorFromArray(values, arrowType(field)).data[0] ?? makeData({ type: arrowType(field) });
  });
  return new RecordBatch(
    schema,
    makeData({ type: new Struct(schema.fields), length: rows.length, nullCount: 0, children }),
  );
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
