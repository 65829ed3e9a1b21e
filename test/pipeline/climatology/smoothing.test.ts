import test from 'ava';
import { conusCells } from '../../../pipeline/climatology/risk-cells.ts';
import {
  dayOfYear,
  daysOfMonth,
  gaussianKernel,
  monthShares,
  spread,
  sumsAround,
  weightsAround,
} from '../../../pipeline/climatology/smoothing.ts';
import { roughDistanceKm } from '../../../schemas/geo/distance.ts';

const GRID = conusCells();
const cellAt = (geohash4: string) => GRID.cells.findIndex((cell) => cell.geohash4 === geohash4);
const OKLAHOMA = cellAt('9y68');
const sum = (values: Iterable<number>) => [...values].reduce((all, value) => all + value, 0);

for (const [date, day] of [
  ['2026-01-01', 0],
  ['2026-03-01', 59],
  ['2024-02-29', 58],
  ['2024-12-31', 364],
] as const)
  test(`${date} is day ${day} of a year of 365`, (t) => t.is(dayOfYear(date), day));

test('a day is shared among months to exactly 1, and each month gets as much as it has days', (t) => {
  const shares = monthShares(15);
  for (const row of shares) t.true(Math.abs(sum(row) - 1) < 1e-12);
  for (let month = 0; month < 12; month++)
    t.true(Math.abs(sum(shares.map((row) => row[month])) - daysOfMonth(month)) < 1e-9, `month ${month}`);
});

test('the season is a circle: New Year is shared by December and January as its neighbours are', (t) => {
  const shares = monthShares(15);
  const [newYear, eve] = [shares[0], shares[364]];
  t.true(Math.abs(newYear[0] - eve[11]) < 1e-12);
  t.true(Math.abs(newYear[11] - eve[0]) < 1e-12);
  t.true(newYear[11] > 0.45);
});

test('spreading keeps the sum over the grid, at the coast as well as inland', (t) => {
  const kernels = [25, 120].map((sd_km) => gaussianKernel(GRID, sd_km));
  const masses = kernels.map((kernel) => weightsAround(GRID, kernel));
  const values = Float64Array.from(GRID.cells, (_, cell) => (cell % 97 === 0 || cell < 5 ? cell % 7 : 0));
  const choice = Uint8Array.from(GRID.cells, (_, cell) => cell % 2);
  const after = spread(GRID, kernels, masses, choice, values);
  t.true(Math.abs(sum(after) / sum(values) - 1) < 1e-12);
  t.true(after.every((value) => value >= 0 && value <= 6));
});

test('a kernel weighs by distance alone, whatever the direction', (t) => {
  const one = new Float64Array(GRID.cells.length);
  one[OKLAHOMA] = 1;
  const sd_km = 60;
  const around = sumsAround(GRID, gaussianKernel(GRID, sd_km), one);
  const centre = GRID.cells[OKLAHOMA];
  let reached = 0;
  for (const [cell, weight] of around.entries()) {
    const km = roughDistanceKm(centre, GRID.cells[cell]);
    const expected = km <= 3 * sd_km ? Math.exp(-(km ** 2) / (2 * sd_km ** 2)) : 0;
    t.true(Math.abs(weight - expected) < 1e-9 || Math.abs(km - 3 * sd_km) < 1e-6, `${km} km`);
    if (weight > 0) reached += 1;
  }
  t.true(reached > 100);
});
