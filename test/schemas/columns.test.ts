import test from 'ava';
import { z } from 'zod';
import { columns, table } from '../../schemas/columns.ts';
import { collectedReports, groundReports } from '../../schemas/tables/feeds.ts';
import { COLLECTION_TABLES, STATIC_TABLES, TABLES } from '../../schemas/tables/index.ts';
import { millimetres, text } from '../../schemas/units.ts';

test('columns come in the order of the schema, with type, unit and whether they may be missing', (t) => {
  const row = z.object({ name: text('Who.'), size_mm: millimetres('How large.').nullable() });
  t.deepEqual(columns(table({ name: 'x', row, schema_version: 1, order: 'name' })), [
    { name: 'name', type: 'VARCHAR', nullable: false, description: 'Who.', unit: null },
    { name: 'size_mm', type: 'DOUBLE', nullable: true, description: 'How large.', unit: 'mm' },
  ]);
});

test('a field without a column type is refused by name', (t) => {
  const broken = table({ name: 'x', row: z.object({ size: z.number() }), schema_version: 1, order: 'size' });
  t.throws(() => columns(broken), { message: 'table x: field size has no column type' });
});

for (const definition of TABLES)
  test(`table ${definition.name} describes every column and sorts by columns it has`, (t) => {
    const fields = columns(definition);
    for (const field of fields) t.not(field.description, '', field.name);
    const names = fields.map((field) => field.name);
    for (const word of definition.order.match(/[a-z_]\w*/gi) ?? [])
      t.true(names.includes(word) || /^(desc|asc)$/i.test(word), word);
  });

/** Tables whose rows belong to no storm date: static ones, and what is forecast, warned of or watched. Reports fell on one. */
const UNDATED = new Set<string>(
  [...STATIC_TABLES, ...COLLECTION_TABLES]
    .map(({ name }) => name)
    .filter((name) => name !== groundReports.name && name !== collectedReports.name),
);
for (const definition of TABLES)
  test(`table ${definition.name} carries ${UNDATED.has(definition.name) ? 'no' : 'its'} storm date`, (t) => {
    const dates = columns(definition).filter(({ name, type }) => name === 'storm_date' && type === 'DATE');
    t.is(dates.length, UNDATED.has(definition.name) ? 0 : 1);
  });

test('table names are unique', (t) => {
  t.is(new Set(TABLES.map(({ name }) => name)).size, TABLES.length);
});
