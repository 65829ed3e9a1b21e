import { readFileSync } from 'node:fs';
import test from 'ava';
import { MRMS_PRODUCTS, PRODUCTS } from '../../../pipeline/read/products.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

test('every MRMS product has its number alone, a name and a unit', (t) => {
  const numbers = MRMS_PRODUCTS.map(({ category, number }) => `${category}/${number}`);
  t.deepEqual([...new Set(numbers)], numbers);
  t.true(MRMS_PRODUCTS.every(({ name, unit }) => /^\S+$/.test(name) && unit !== ''));
});

sharedTest('MRMS products are those of the table by NOAA, the first row of each number', (t) => {
  const [, ...lines] = readFileSync(sharedData('sites', 'UserTable_MRMS_v12.2.csv'), 'utf8').trim().split(/\r?\n/);
  t.is(lines.length, 151);
  const rows = new Map<string, readonly string[]>();
  for (const line of lines) {
    const [discipline, category, number, name, , unit, missing, , no_coverage] = line.split(',') as string[];
    const key = `${category}/${number}`;
    if (discipline === '209' && !rows.has(key)) rows.set(key, [key, name, unit, missing, no_coverage] as string[]);
  }
  t.deepEqual(
    MRMS_PRODUCTS.map(({ category, number, name, unit, missing, no_coverage }) => [
      `${category}/${number}`,
      name,
      unit,
      String(missing),
      String(no_coverage),
    ]),
    [...rows.values()] as string[][],
  );
});

test('what no measurement is in the products we read is that of the table, but for rain, which has no other value than 0', (t) => {
  for (const { name, category, number, no_coverage, missing } of PRODUCTS) {
    const row = MRMS_PRODUCTS.find((one) => one.category === category && one.number === number);
    t.is<number | undefined, number | undefined>(no_coverage, row?.no_coverage, name);
    t.is(missing, category === 6 ? null : (row?.missing ?? null), name);
  }
});
