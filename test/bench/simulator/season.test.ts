import test from 'ava';
import { conusScenario } from '../../../pipeline/simulate/scenario.ts';
import { dailyCycle, dayTypeAt, freezingLevelKm } from '../../../pipeline/simulate/weather.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';
import { MS_PER_HOUR } from '../../../schemas/time.ts';
import { SMALL } from '../../support/data/small-evening.ts';
import { isAccepted, seasonRows } from './acceptance-table.ts';
import { measureSeasons } from './season-statistics.ts';

const climate = conusScenario(1, 'climate', WSR88D);

test('hail has its hour of the day, and each region its season', (t) => {
  const rows = seasonRows(measureSeasons(climate, 2024, 3));
  t.deepEqual(
    rows.filter((row) => !isAccepted(row)).map((row) => `${row.what}: ${row.simulated}`),
    [],
  );
});

test('a convective day has one type, from 12 to 12 UTC', (t) => {
  for (let day = 0; day < 40; day += 1) {
    const noon = Date.parse('2025-04-01T12:00:00Z') + day * 24 * MS_PER_HOUR;
    t.is(dayTypeAt(climate, noon), dayTypeAt(climate, noon + 24 * MS_PER_HOUR - 1));
  }
});

test('January is mostly quiet, May is not', (t) => {
  const quiet = (month: number) =>
    Array.from({ length: 28 * 5 }, (_, n) =>
      dayTypeAt(climate, Date.UTC(2020 + (n % 5), month, 1 + Math.floor(n / 5), 20)),
    ).filter((type) => type === 'quiet').length / 140;
  t.true(quiet(0) > 0.65 && quiet(4) < 0.15, `${quiet(0)} ${quiet(4)}`);
});

test('the daily cycle averages one', (t) => {
  const hours = Array.from({ length: 240 }, (_, n) => dailyCycle(n * MS_PER_HOUR * 0.1));
  t.true(Math.abs(hours.reduce((sum, one) => sum + one, 0) / 240 - 1) < 1e-4);
});

// The table of data/reference/freezing-level.json plus 0.2 km in the warm months and 0.4 in the cold ones.
for (const [lat, month, expected] of [
  [30, 4, 4.6],
  [35, 4, 4.3],
  [40, 4, 3.7],
  [35, 6, 4.9],
  [45, 6, 4.2],
  [35, 0, 3.0],
  [40, 9, 3.5],
] as const)
  test(`0 C lies near ${expected} km at ${lat} N in month ${month + 1}`, (t) => {
    const found = freezingLevelKm(climate, Date.UTC(2025, month, 15), lat);
    t.true(Math.abs(found - expected) <= 0.5, `${found}`);
  });

test('a steady scenario breathes May air at any date', (t) => {
  t.is(freezingLevelKm(SMALL, Date.UTC(2025, 0, 15), 36), freezingLevelKm(SMALL, Date.UTC(2025, 6, 15), 36));
});
