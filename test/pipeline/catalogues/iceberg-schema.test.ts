import test from 'ava';
import { z } from 'zod';
import { fieldsOf } from '../../../pipeline/catalogues/iceberg/schema.ts';
import { nextMetadata, schemasOf, type TableMetadata } from '../../../pipeline/catalogues/iceberg/table-metadata.ts';
import { table } from '../../../schemas/columns.ts';
import * as column from '../../../schemas/units.ts';

const first = table({
  name: 'hail',
  row: z.object({ lat: column.latitude('Latitude.'), size_mm: column.millimetres('Size.') }),
  schema_version: 1,
  order: 'lat',
});
const grown = table({
  ...first,
  row: z.object({
    lat: column.latitude('Latitude.'),
    echo_km: column.kilometres('Echo top.').nullable(),
    size_mm: column.millimetres('Size.'),
  }),
  schema_version: 2,
  older: { readable_from: 1, without: ['echo_km'] },
});
const ids = (fields: readonly { name: string; id: number }[]) => fields.map(({ name, id }) => `${name} ${id}`);

/** Metadata of a table after a snapshot at a time. */
function after(one: typeof first | typeof grown, before: TableMetadata | null, time_ms: number): TableMetadata {
  const sequence = (before?.['last-sequence-number'] ?? 0) + 1;
  return nextMetadata(
    { table: one, root_id: 'root_1', location: 'file:///hail' },
    { version: sequence - 1, metadata: before },
    schemasOf(one, before),
    {
      snapshot: {
        'snapshot-id': 100 + sequence,
        'sequence-number': sequence,
        'timestamp-ms': time_ms,
        'manifest-list': `file:///hail/metadata/snap-${sequence}.avro`,
        summary: { operation: 'append' },
        'schema-id': 0,
      },
      keeps_earlier: true,
    },
  );
}

test('a column that is added between others gets the next field id, and the others keep theirs', (t) => {
  const metadata = after(grown, after(first, null, 1), 2);
  t.deepEqual(ids(metadata.schemas.at(-1)?.fields ?? []), ['lat 1', 'echo_km 3', 'size_mm 2']);
  t.is(metadata.schemas.length, 2);
  t.is(metadata['current-schema-id'], 1);
  t.is(metadata['last-column-id'], 3);
});

test('a table that is made anew after it has grown has the field ids that it grew into', (t) => {
  t.deepEqual(fieldsOf(grown, [], 0), after(grown, after(first, null, 1), 2).schemas.at(-1)?.fields);
});

test('a column that was taken away and comes back has its old field id', (t) => {
  const metadata = after(grown, after(first, after(grown, null, 1), 2), 3);
  t.deepEqual(ids(metadata.schemas[metadata['current-schema-id']]?.fields ?? []), ['lat 1', 'echo_km 3', 'size_mm 2']);
});

test('a column of another type is another field', (t) => {
  const changed = table({ ...first, row: first.row.extend({ size_mm: column.count('Size.') }), schema_version: 2 });
  t.deepEqual(ids(fieldsOf(changed, schemasOf(first, null).schemas, 2)), ['lat 1', 'size_mm 3']);
});

test('at most 100 snapshots are kept, and 20 earlier metadata files are named', (t) => {
  let metadata: TableMetadata | null = null;
  for (let time_ms = 1; time_ms <= 130; time_ms++) metadata = after(first, metadata, time_ms);
  t.is(metadata?.snapshots.length, 100);
  t.is(metadata?.['snapshot-log'].length, 100);
  t.deepEqual(metadata?.['metadata-log'].length, 20);
  t.is(metadata?.['metadata-log'].at(-1)?.['metadata-file'], 'file:///hail/metadata/v129.metadata.json');
});
