import test from 'ava';
import { climatologyRows, percentileRanks } from '../../../pipeline/climatology/climatology-rows.ts';
import { countHail } from '../../../pipeline/climatology/hail-counts.ts';
import { hailRates } from '../../../pipeline/climatology/hail-rates.ts';
import { conusCells, type RiskGrid } from '../../../pipeline/climatology/risk-cells.ts';
import { YEAR_DAYS } from '../../../pipeline/climatology/smoothing.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';
import { geohash } from '../../../schemas/geo/geohash.ts';
import { riskTier } from '../../../schemas/risk.ts';
import { ClimatologyCell } from '../../../schemas/tables/climatology.ts';
import { realDay } from '../../support/data/published-days.ts';
import { sharedTest } from '../../support/data/shared-data.ts';

/** Three cells side by side: rates by class, month and cell. */
const CELLS = ['9y68', '9y69', '9y6d'].map((geohash4, col) => ({ geohash4, lat: 35, lon: -97 + col / 3, row: 0, col }));
const GRID = { cells: CELLS, rows: 1, cols: 3, index: Int32Array.of(0, 1, 2) };
const SEASON = [0.01, 0.02, 0.08, 0.15, 0.25, 0.2, 0.12, 0.08, 0.05, 0.02, 0.01, 0.01];
const RATES = [2, 0.8, 0.1, 0.006].map((yearly) =>
  SEASON.map((share) => Float64Array.of(yearly * share, (yearly * share) / 2, 2 * yearly * share)),
);
const FACTS = {
  years_of_data: 3,
  storm_dates: 1100,
  first_date: '2023-04-28',
  last_date: '2026-05-01',
  data_as_of: Date.parse('2026-05-02T01:00:00Z'),
  data_source: 'observed',
} as const;
const ROWS = climatologyRows(GRID, { rates: RATES, prior_share: Float64Array.of(0.1, 0.2, 0.3) }, FACTS);

const months = (row: ClimatologyCell, name: 'any' | 'severe') =>
  Object.entries(row).flatMap(([column, value]) => (column.startsWith(`${name}_`) ? [value as number] : []));

test('rows are rows of the table', (t) => {
  for (const row of ROWS) t.notThrows(() => ClimatologyCell.parse(row));
  t.deepEqual(
    ROWS.map(({ geohash4, prior_share, storm_dates }) => [geohash4, prior_share, storm_dates]),
    [
      ['9y68', 0.1, 1100],
      ['9y69', 0.2, 1100],
      ['9y6d', 0.3, 1100],
    ],
  );
});

test('the months make the year: one minus the product of their complements', (t) => {
  for (const row of ROWS)
    for (const name of ['any', 'severe'] as const) {
      const complement = months(row, name).reduce((product, probability) => product * (1 - probability), 1);
      t.true(Math.abs(1 - complement - row[`annual_${name}`]) < 1e-12);
    }
});

const daily = (days: readonly number[]) => days.map((yearly) => SEASON.map((share) => Float64Array.of(yearly * share)));
const ONE_CELL = { ...GRID, cells: CELLS.slice(0, 1) };

test('no probability is certain however much hail there is, and the months still make the year', (t) => {
  for (const days of [
    [400, 40, 9, 6],
    [60, 60, 60, 60],
    [12, 5.2, 0.4, 0.01],
    [5.2, 0.8, 0.1, 0.006],
  ]) {
    const rates = daily(days);
    const [row] = climatologyRows(ONE_CELL, { rates, prior_share: Float64Array.of(0) }, FACTS);
    t.true(row.annual_any <= 0.995 + 1e-12, `${row.annual_any}`);
    for (const name of ['any', 'severe'] as const) {
      const complement = months(row, name).reduce((product, probability) => product * (1 - probability), 1);
      t.true(Math.abs(1 - complement - row[`annual_${name}`]) < 1e-12);
    }
    for (const [month, any] of months(row, 'any').entries()) t.true(any >= months(row, 'severe')[month]);
    t.true(row.annual_any >= row.annual_severe && row.annual_severe >= row.annual_significant);
    t.true(row.annual_significant >= row.annual_giant);
  }
});

test('two expected days are a probability of 0.865 for at least one', (t) => {
  t.true(Math.abs(ROWS[0].annual_any - (1 - Math.exp(-2))) < 1e-12);
});

test('larger hail is never likelier than smaller hail', (t) => {
  for (const { annual_any, annual_severe, annual_significant, annual_giant } of ROWS)
    t.true(annual_any > annual_severe && annual_severe > annual_significant && annual_significant > annual_giant);
});

test('the score ranks cells by their year, and months among all months of all cells', (t) => {
  t.deepEqual(
    ROWS.map(({ annual_score }) => annual_score),
    [50, 17, 83],
  );
  for (const { annual_score, risk_tier } of ROWS) t.is(risk_tier, riskTier(annual_score));
  t.is(ROWS[2].score_05, Math.max(...ROWS.flatMap((row) => [row.score_01, row.score_05, row.score_06])));
  t.true(ROWS[2].score_05 > 95 && ROWS[1].score_01 < 5);
});

test('the peak is the month with most severe hail, of equal ones that with more hail, then the first', (t) => {
  const month = (severe: number, any: number) => ({ severe, any });
  const peakMonth = (given: readonly ReturnType<typeof month>[]) => {
    const months = SEASON.map((_, k) => given[k] ?? month(0, 0));
    const rates = [months.map(({ any }) => any), months.map(({ severe }) => severe), SEASON, SEASON];
    const byCell = rates.map((byMonth) => byMonth.map((rate) => Float64Array.of(rate)));
    return climatologyRows(ONE_CELL, { rates: byCell, prior_share: Float64Array.of(0) }, FACTS)[0].peak_month;
  };
  t.is(peakMonth([month(1, 9), month(3, 3), month(2, 9)]), 2);
  t.is(peakMonth([month(1, 9), month(3, 3), month(3, 4)]), 3);
  t.is(peakMonth([month(3, 4), month(1, 9), month(3, 4)]), 1);
  t.true(ROWS.every(({ peak_month }) => peak_month === 5));
});

test('equal values share the middle of their ranks', (t) => {
  t.deepEqual([...percentileRanks(Float64Array.of(5, 1, 5, 9))], [0.5, 0.125, 0.5, 0.875]);
});

/** Largest MESH of the real day within 10 km of each cell that has 19 mm there. */
function realMaxima(grid: RiskGrid): Map<number, number> {
  const numbers = new Map(grid.cells.map(({ geohash4 }, number) => [geohash4, number]));
  const maxima = new Map<number, number>();
  for (const { lat, lon, max_mm } of realDay().rows.day_max) {
    const cell = numbers.get(geohash(lat, lon, 4));
    if (max_mm < 19 || cell === undefined || distanceKm(grid.cells[cell], { lat, lon }) > 10) continue;
    maxima.set(cell, Math.max(maxima.get(cell) ?? 0, max_mm));
  }
  return maxima;
}

sharedTest(
  'risk is higher where the hail of 28 February 2024 fell, most where it was largest, and in its season',
  (t) => {
    const grid = conusCells();
    const maxima = realMaxima(grid);
    t.true(maxima.size > 40, `${maxima.size} cells`);
    const seen = new Float64Array(grid.cells.length).fill(1);
    const counts = countHail(grid, seen);
    for (let day_of_year = 0; day_of_year < YEAR_DAYS; day_of_year++) counts.observe({ day_of_year, share: 10 });
    // The same texture on forty dates around its own: enough for the counts to speak.
    for (let day_of_year = 38; day_of_year < 78; day_of_year++)
      for (const [cell, mm] of maxima) counts.add({ cell, day_of_year, mm });
    const rows = climatologyRows(grid, hailRates(grid, counts, seen), FACTS);
    for (const row of rows)
      for (const [column, value] of Object.entries(row))
        if (value === null || Number.isNaN(value)) t.fail(`${row.geohash4} ${column} is ${value}`);
    const mean = (
      column: 'annual_any' | 'annual_severe' | 'any_02' | 'any_07',
      [from_mm, to_mm]: readonly [number, number],
    ) => {
      const values = rows.flatMap((row, cell) => {
        const mm = maxima.get(cell) ?? 0;
        return mm >= from_mm && mm < to_mm ? [row[column]] : [];
      });
      return values.reduce((sum, value) => sum + value, 0) / values.length;
    };
    const [DRY, HIT, SMALL, LARGE] = [
      [0, 19],
      [19, 200],
      [19, 29],
      [29, 200],
    ] as const;
    t.true(
      mean('annual_any', HIT) > 3 * mean('annual_any', DRY),
      `${mean('annual_any', HIT)} ${mean('annual_any', DRY)}`,
    );
    t.true(mean('annual_severe', LARGE) > mean('annual_severe', SMALL));
    t.true(mean('any_02', HIT) > 10 * mean('any_02', DRY), `${mean('any_02', HIT)} ${mean('any_02', DRY)}`);
    t.true(mean('any_02', HIT) > 2 * mean('any_07', HIT), `${mean('any_07', HIT)}`);
  },
);
