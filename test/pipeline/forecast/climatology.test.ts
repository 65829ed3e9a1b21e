import test from 'ava';
import fc from 'fast-check';
import { usStates } from '../../../api/rules/geo/us-states.ts';
import { climatologyRows, percentileRanks } from '../../../pipeline/forecast/climatology.ts';
import {
  ANY,
  countHail,
  dayOfYear,
  type HailDay,
  monthShares,
  SEVERE,
  SIGNIFICANT,
  YEAR_DAYS,
} from '../../../pipeline/forecast/hail-counts.ts';
import {
  gaussianKernel,
  type HailRates,
  hailRates,
  hailSeason,
  priorRates,
  spread,
  sumsAround,
  weightSums,
} from '../../../pipeline/forecast/hail-rates.ts';
import {
  availableCells,
  cellReaches,
  conusCells,
  type RiskCell,
  type RiskGrid,
} from '../../../pipeline/forecast/risk-grid.ts';
import { detectionQuality } from '../../../schemas/geo/beam.ts';
import { destination, distanceKm, roughDistanceKm } from '../../../schemas/geo/distance.ts';
import { geohash } from '../../../schemas/geo/geohash.ts';
import { rowLat } from '../../../schemas/geo/lattice.ts';
import { hailDayFreezingLevelKm } from '../../../schemas/reference/freezing-level.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';
import { riskTier } from '../../../schemas/risk.ts';
import { ClimatologyCell } from '../../../schemas/tables/derived.ts';
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
    const grid = RISK_GRID;
    const maxima = realMaxima(grid);
    t.true(maxima.size > 40, `${maxima.size} cells`);
    const seen = new Float64Array(grid.cells.length).fill(1);
    const counts = countHail(grid, seen);
    for (let day_of_year = 0; day_of_year < YEAR_DAYS; day_of_year++) counts.observe(day_of_year, 10);
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

const RISK_GRID = conusCells();

/** The cells of the southern Plains, 600 by 700 km: what is tested here does not need the others. */
const RATES_GRID = part(RISK_GRID, ({ lat, lon }) => lat > 33 && lat < 38.5 && lon > -101 && lon < -93);
const SEEN = new Float64Array(RATES_GRID.cells.length).fill(1);
const OKLAHOMA = RATES_GRID.cells.findIndex(({ geohash4 }) => geohash4 === '9y68');

function part(grid: RiskGrid, isIn: (cell: RiskCell) => boolean): RiskGrid {
  const cells = grid.cells.filter(isIn);
  const index = new Int32Array(grid.index.length).fill(-1);
  for (const [number, { row, col }] of cells.entries()) index[row * grid.cols + col] = number;
  return { ...grid, cells, index };
}

/** Rates of so many whole years with these days of hail. */
function ratesOf(years: number, days: Iterable<HailDay>, available = SEEN): HailRates {
  const counts = countHail(RATES_GRID, available);
  for (let day_of_year = 0; day_of_year < YEAR_DAYS; day_of_year++) counts.observe(day_of_year, years);
  for (const day of days) counts.add(day);
  return hailRates(RATES_GRID, counts, available);
}

const yearly = ({ rates }: HailRates, k: number, cell: number) => rates[k].reduce((sum, month) => sum + month[cell], 0);

/** The same uniform numbers in every run. */
function uniform(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
}

/** A bell around a day of the year, from twelve uniform numbers. */
function dayAround(day: number, sd_days: number, random: () => number): number {
  const bell = Array.from({ length: 12 }, random).reduce((sum, one) => sum + one, -6);
  return (Math.round(day + sd_days * bell) + YEAR_DAYS) % YEAR_DAYS;
}

/** Hail that falls on every cell as often, independently: a Poisson process. */
function* poisson(rate: number, years: number, day: number, sd_days: number): Generator<HailDay> {
  const random = uniform(20_260_501);
  const wait = () => -Math.log(random());
  for (const cell of RATES_GRID.cells.keys())
    for (let at = wait(); at < rate * years; at += wait())
      yield { cell, day_of_year: dayAround(day, sd_days, random), mm: 35 };
}

const [YEARS, RATE, PEAK_DAY] = [20, 0.8, 196];
const simulated = ratesOf(YEARS, poisson(RATE, YEARS, PEAK_DAY, 25));

test('the rate of a Poisson process is recovered within two standard errors of the counts of a single cell', (t) => {
  const error = 2 * Math.sqrt(RATE / YEARS);
  for (const k of [ANY, SEVERE]) {
    const near = [...RATES_GRID.cells.keys()].filter((cell) => Math.abs(yearly(simulated, k, cell) - RATE) < error);
    t.true(near.length > 0.95 * RATES_GRID.cells.length, `${near.length} of ${RATES_GRID.cells.length}`);
  }
});

test('the season peaks in the month of the simulated peak, in July and not in the May of the built-in rates', (t) => {
  const peaks = [...RATES_GRID.cells.keys()].map((cell) => {
    const months = simulated.rates[SEVERE].map((month) => month[cell]);
    return months.indexOf(Math.max(...months));
  });
  t.true(peaks.filter((month) => month === 6).length > 0.99 * peaks.length);
});

test('without any storm date the rates are the built-in ones, all of them prior', (t) => {
  const none = ratesOf(0, []);
  for (const cell of [OKLAHOMA, 0, RATES_GRID.cells.length - 1]) {
    const expected = priorRates(RATES_GRID.cells[cell], ANY).reduce((sum, one) => sum + one);
    t.true(Math.abs(yearly(none, ANY, cell) - expected) < 1e-12);
    t.true(Math.abs(none.prior_share[cell] - 1) < 1e-12);
  }
});

test('one evening leaves the built-in rates in force, and years of data take over from them', (t) => {
  const evening = countHail(RATES_GRID, SEEN);
  evening.observe(325, 0.125);
  evening.add({ cell: OKLAHOMA, day_of_year: 325, mm: 60 });
  t.true(hailRates(RATES_GRID, evening, SEEN).prior_share[OKLAHOMA] > 0.99);
  t.true(simulated.prior_share[OKLAHOMA] < 0.05);
  t.true(ratesOf(1, []).prior_share[OKLAHOMA] < 1);
});

test('a year without any hail lowers the rate, and where radar sees nothing it stays', (t) => {
  const blind = Float64Array.from(RATES_GRID.cells, (cell) =>
    roughDistanceKm(cell, RATES_GRID.cells[OKLAHOMA]) < 1500 ? 0 : 1,
  );
  const [none, dry, unseen] = [ratesOf(0, []), ratesOf(5, []), ratesOf(5, [], blind)];
  t.true(yearly(dry, ANY, OKLAHOMA) < 0.3 * yearly(none, ANY, OKLAHOMA));
  t.is(yearly(unseen, ANY, OKLAHOMA), yearly(none, ANY, OKLAHOMA));
});

const totals = (rates: HailRates, k: number) =>
  [...RATES_GRID.cells.keys()].reduce((sum, cell) => sum + yearly(rates, k, cell), 0);

for (const [what, rate] of [
  ['much more', 3],
  ['much less', 0.2],
] as const)
  for (const years of [1, 10])
    test(`${years} years with ${what} hail than is built in give a total within 10 % of what was counted`, (t) => {
      const days = [...poisson(rate, years, 150, 30)];
      const found = ratesOf(years, days);
      for (const k of [ANY, SEVERE]) {
        const share = (totals(found, k) * years) / days.length;
        t.true(Math.abs(share - 1) < 0.1, `${share}`);
      }
    });

/** A month of the year, from 1, with most hail of a class. */
const peakOf = (months: readonly number[]) => months.indexOf(Math.max(...months)) + 1;

for (const [region, at, expected] of [
  ['the Gulf coast', { lat: 31.5, lon: -90 }, [4, 5]],
  ['the southern Plains', { lat: 33, lon: -99 }, [4, 5]],
  ['the central Plains', { lat: 38.5, lon: -98 }, [5, 6]],
  ['the Front Range', { lat: 39.7, lon: -104.5 }, [6, 7]],
  ['the Dakotas', { lat: 46, lon: -100.5 }, [6, 7]],
  ['eastern Montana', { lat: 46.5, lon: -106 }, [6, 7]],
  ['Arizona', { lat: 33.4, lon: -111 }, [7, 8]],
] as const)
  test(`the built-in season of ${region} peaks in month ${expected.join(' or ')}`, (t) => {
    for (const k of [ANY, SEVERE, SIGNIFICANT])
      t.true((expected as readonly number[]).includes(peakOf(priorRates(at, k))));
  });

test('the shares of the months sum to 1 at every place, and May and June have most of all hail', (t) => {
  const months = new Array<number>(12).fill(0);
  for (const cell of RISK_GRID.cells) {
    const season = hailSeason(cell);
    t.true(Math.abs(season.reduce((sum, share) => sum + share, 0) - 1) < 1e-9 && season.every((share) => share > 0));
    for (const [month, rate] of priorRates(cell, ANY).entries()) months[month] += rate;
  }
  t.is(peakOf(months), 5);
  t.true(months[5] > months[6] && months[6] > months[3]);
});

test('hail that fell where radar sees too little counts no more than the days without it', (t) => {
  const blind = Float64Array.from(SEEN, (_, cell) => (cell === OKLAHOMA ? 0 : 1));
  const days = Array.from({ length: 50 }, (_, n) => ({ cell: OKLAHOMA, day_of_year: 100 + n, mm: 60 }));
  t.deepEqual(ratesOf(5, days, blind).rates, ratesOf(5, [], blind).rates);
});

test('giant hail that nobody saw follows from significant hail by the tail', (t) => {
  const sizes_mm = [60, 35, 35, 35, 22, 22, 22, 22, 22, 22];
  const days = Array.from({ length: 200 }, (_, n) => ({
    cell: OKLAHOMA,
    day_of_year: 100 + (n % 60),
    mm: sizes_mm[n % sizes_mm.length],
  }));
  const found = ratesOf(10, days);
  const [significant, giant] = [yearly(found, 2, OKLAHOMA), yearly(found, 3, OKLAHOMA)];
  t.true(Math.abs(giant / significant - Math.exp(-37 / 13)) < 1e-9);
});

const hail = fc.record({
  cell: fc.integer({ min: 0, max: RATES_GRID.cells.length - 1 }),
  day_of_year: fc.integer({ min: 0, max: YEAR_DAYS - 1 }),
  mm: fc.double({ min: 10, max: 150, noNaN: true }),
});

test('whatever fell, rates are finite, positive and nested', (t) =>
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.array(hail, { maxLength: 200 }), fc.integer({ min: 0, max: 6 }), (days, years) => {
        const { rates, prior_share } = ratesOf(years, days);
        return (
          prior_share.every((share) => share >= 0 && share <= 1) &&
          rates.every((byMonth, k) =>
            byMonth.every((month, m) =>
              month.every((rate, cell) => rate > 0 && rate < 366 && (k === 0 || rate <= rates[k - 1][m][cell])),
            ),
          )
        );
      }),
      { numRuns: 25, seed: 9 },
    ),
  ));

const NAMES = new Set(RISK_GRID.cells.map(({ geohash4 }) => geohash4));

test('every cell is there once, named as its centre is, at its place in the grid', (t) => {
  t.is(NAMES.size, RISK_GRID.cells.length);
  for (const [number, { geohash4, lat, lon, row, col }] of RISK_GRID.cells.entries()) {
    if (geohash(lat, lon, 4) !== geohash4 || RISK_GRID.index[row * RISK_GRID.cols + col] !== number)
      t.fail(`${geohash4} is at row ${row}, column ${col}`);
  }
  t.true(RISK_GRID.cells.length > 13_000 && RISK_GRID.cells.length < 16_000);
});

test('every vertex of the outline of the 48 states lies in a cell', (t) => {
  let vertices = 0;
  for (const [code, { polygons }] of usStates()) {
    if (['AK', 'HI', 'PR', 'GU', 'VI', 'AS', 'MP'].includes(code)) continue;
    for (const [lon, lat] of polygons.flat(2)) {
      vertices += 1;
      if (!NAMES.has(geohash(lat, lon, 4))) t.fail(`${code} ${lat} ${lon}`);
    }
  }
  t.true(vertices > 1000);
});

test('a pixel at the end of its reach lies 10 km from the centre, along the geodesic and to the metre', (t) => {
  for (const { row, centre_lat, reach_deg } of cellReaches().filter((_, index) => index % 40 === 0)) {
    const km = distanceKm({ lat: rowLat(row), lon: -97 + reach_deg }, { lat: centre_lat, lon: -97 });
    t.true(Math.abs(km - 10) < 1e-3, `row ${row}: ${km} km`);
  }
});

test('places that are taken for granted see as well as the quality says', (t) => {
  const places = RISK_GRID.cells.filter((_, index) => index % 97 === 0);
  const found = availableCells(places, WSR88D, null);
  for (const [index, place] of places.entries()) {
    const { hdqi } = detectionQuality(place, {
      sites: WSR88D,
      freezing_level_km: hailDayFreezingLevelKm(place.lat, 5),
    });
    t.is(found[index], hdqi >= 0.3 ? 1 : 0, `${place.geohash4} ${hdqi}`);
  }
});

const SITE = { id: 'KAAA', lat: 40, lon: -100, antenna_m: 500, ground_m: 470 };

test('a radar makes places available to about 210 km, and those behind a mountain not', (t) => {
  const at = (km: number) => destination(SITE, 90, km);
  t.deepEqual([...availableCells([at(60), at(180), at(225), at(300)], [SITE], null)], [1, 1, 0, 0]);
  const wall = { radars: new Set(['KAAA']), blocked: () => 1 };
  t.deepEqual([...availableCells([at(60), at(180)], [SITE], wall)], [0, 0]);
});

const cellAt = (geohash4: string) => RISK_GRID.cells.findIndex((cell) => cell.geohash4 === geohash4);
const SMOOTHED = cellAt('9y68');
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
    t.true(
      Math.abs(sum(shares.map((row) => row[month])) - [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month]) < 1e-9,
      `month ${month}`,
    );
});

test('the season is a circle: New Year is shared by December and January as its neighbours are', (t) => {
  const shares = monthShares(15);
  const [newYear, eve] = [shares[0], shares[364]];
  t.true(Math.abs(newYear[0] - eve[11]) < 1e-12);
  t.true(Math.abs(newYear[11] - eve[0]) < 1e-12);
  t.true(newYear[11] > 0.45);
});

test('spreading keeps the sum over the grid, at the coast as well as inland', (t) => {
  const kernels = [25, 120].map((sd_km) => gaussianKernel(RISK_GRID, sd_km));
  const masses = kernels.map((kernel) => weightSums(RISK_GRID, kernel));
  const values = Float64Array.from(RISK_GRID.cells, (_, cell) => (cell % 97 === 0 || cell < 5 ? cell % 7 : 0));
  const choice = Uint8Array.from(RISK_GRID.cells, (_, cell) => cell % 2);
  const after = spread(kernels, masses, choice, values);
  t.true(Math.abs(sum(after) / sum(values) - 1) < 1e-12);
  t.true(after.every((value) => value >= 0 && value <= 6));
});

test('a kernel weighs by distance alone, whatever the direction', (t) => {
  const one = new Float64Array(RISK_GRID.cells.length);
  one[SMOOTHED] = 1;
  const sd_km = 60;
  const around = sumsAround(RISK_GRID, gaussianKernel(RISK_GRID, sd_km), one);
  const centre = RISK_GRID.cells[SMOOTHED];
  let reached = 0;
  for (const [cell, weight] of around.entries()) {
    const km = roughDistanceKm(centre, RISK_GRID.cells[cell]);
    const expected = km <= 3 * sd_km ? Math.exp(-(km ** 2) / (2 * sd_km ** 2)) : 0;
    t.true(Math.abs(weight - expected) < 1e-9 || Math.abs(km - 3 * sd_km) < 1e-6, `${km} km`);
    if (weight > 0) reached += 1;
  }
  t.true(reached > 100);
});
