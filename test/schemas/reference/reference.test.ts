import { readFileSync } from 'node:fs';
import test from 'ava';
import { PRODUCTS } from '../../../pipeline/read/products.ts';
import { freezingLevelKm, hailDayFreezingLevelKm } from '../../../schemas/reference/freezing-level.ts';
import { MRMS_PRODUCTS } from '../../../schemas/reference/mrms-products.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';
import { METRES_PER_FOOT } from '../../../schemas/units.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

test('radars are sorted by id, each once', (t) => {
  const ids = WSR88D.map(({ id }) => id);
  t.deepEqual(ids, [...new Set(ids)].sort());
});

test('every antenna stands at most 60 m above its ground', (t) => {
  t.deepEqual(
    WSR88D.filter(({ antenna_m, ground_m }) => antenna_m < ground_m || antenna_m > ground_m + 60),
    [],
  );
});

sharedTest('positions and antennas are those of the public site list', (t) => {
  const list = JSON.parse(readFileSync(sharedData('sites', 'supercell-wx_radar_sites.json'), 'utf8')) as {
    type: string;
    id: string;
    lat: number;
    lon: number;
    elevation: number;
  }[];
  const expected = list
    .filter(({ type }) => type === 'wsr88d')
    .map(({ id, lat, lon, elevation }) => [id, lat, lon, Math.round(elevation * METRES_PER_FOOT * 10) / 10]);
  t.deepEqual(
    WSR88D.map(({ id, lat, lon, antenna_m }) => [id, lat, lon, antenna_m]),
    expected.sort((a, b) => ((a[0] as string) < (b[0] as string) ? -1 : 1)),
  );
});

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

for (const [lat, month, km] of [
  [25, 1, 4.1],
  [40, 6, 4.2],
  [49, 12, 0.7],
  [37.5, 6, 4.4],
  [47, 7, 3.85],
  [20, 1, 4.1],
  [55, 12, 0.7],
] as const)
  test(`the freezing level at ${lat} N in month ${month} is ${km} km`, (t) => {
    t.true(Math.abs(freezingLevelKm(lat, month) - km) < 1e-9);
  });

test('a hail day is 0.4 km warmer from November to April and 0.2 km in the other months', (t) => {
  const warmth = (month: number) =>
    Math.round(10 * (hailDayFreezingLevelKm(40, month) - freezingLevelKm(40, month))) / 10;
  t.deepEqual(
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map(warmth),
    [0.4, 0.4, 0.4, 0.4, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.4, 0.4],
  );
});

test('a month that does not exist is refused', (t) => {
  t.throws(() => freezingLevelKm(40, 13), { message: 'month is 13, expected 1 to 12' });
});

test('what no measurement is in the products we read is that of the table, but for rain, which has no other value than 0', (t) => {
  for (const { name, category, number, no_coverage, nothing } of PRODUCTS) {
    const row = MRMS_PRODUCTS.find((one) => one.category === category && one.number === number);
    t.is<number | undefined, number | undefined>(no_coverage, row?.no_coverage, name);
    t.is(nothing, category === 6 ? null : (row?.missing ?? null), name);
  }
});
