import { readFileSync } from 'node:fs';
import test from 'ava';
import { freezingLevelKm, hailDayFreezingLevelKm } from '../../../schemas/reference/freezing-level.ts';
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
