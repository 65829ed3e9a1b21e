import test from 'ava';
import fc from 'fast-check';
import { usStates } from '../../api/rules/geo/us-states.ts';
import { blendDay, type Components } from '../../pipeline/forecast/blend.ts';
import { climatologyRows } from '../../pipeline/forecast/climatology.ts';
import { dayProbabilityPct, hourProbability } from '../../pipeline/forecast/diurnal-climatology.ts';
import {
  ANY,
  countHail,
  dayOfYear,
  type HailDay,
  monthShares,
  SEVERE,
  SIGNIFICANT,
  YEAR_DAYS,
} from '../../pipeline/forecast/hail-counts.ts';
import {
  conditionalSizeMm,
  hailGivenStorm,
  riskCategory,
  riskScore,
  stormProbability,
} from '../../pipeline/forecast/hail-law.ts';
import {
  gaussianKernel,
  type HailRates,
  hailRates,
  hailRegion,
  priorRates,
  spread,
  sumsAround,
  weightSums,
} from '../../pipeline/forecast/hail-rates.ts';
import { gaussianMean, type HourColumns, hourlyForecast } from '../../pipeline/forecast/hourly.ts';
import { type CellHour, cellHour } from '../../pipeline/forecast/model-cells.ts';
import { coherentHours, contradiction, outlookMaker, spcDay, spcPct } from '../../pipeline/forecast/outlook.ts';
import {
  availableCells,
  cellReaches,
  conusCells,
  type RiskCell,
  type RiskGrid,
} from '../../pipeline/forecast/risk-grid.ts';
import { ship } from '../../pipeline/forecast/ship.ts';
import { type ModelGrid, readModelHour } from '../../pipeline/read/model-hour.ts';
import { detectionQuality } from '../../schemas/geo/beam.ts';
import { KM_PER_DEG } from '../../schemas/geo/constants.ts';
import { destination, distanceKm, roughDistanceKm } from '../../schemas/geo/distance.ts';
import { geohash } from '../../schemas/geo/geohash.ts';
import { CONUS_CELL_COLS, CONUS_CELLS, GEOHASH4_LAT_DEG } from '../../schemas/geo/geohash4.ts';
import { rowLat } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { type DayHours, diurnalShare, outlookDate } from '../../schemas/outlook-day.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import { hailDayFreezingLevelKm } from '../../schemas/reference/freezing-level.ts';
import { groundM } from '../../schemas/reference/terrain.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { riskTier } from '../../schemas/risk.ts';
import { ClimatologyCell } from '../../schemas/tables/derived.ts';
import type { SpcOutlook } from '../../schemas/tables/feeds.ts';
import { Forecast, OUTLOOK_DAYS, Outlook } from '../../schemas/tables/forecast.ts';
import { MS_PER_HOUR, scanTime } from '../../schemas/time.ts';
import { hourRows } from '../support/data/hour-rows.ts';
import { firstTable, readDocument, sectionOf } from '../support/data/markdown.ts';
import { modelFile } from '../support/data/model-file.ts';
import { realDay } from '../support/data/published-days.ts';
import { pluck } from '../support/data/rows.ts';
import { sharedTest } from '../support/data/shared-data.ts';
import { EVENING_MS } from '../support/data/small-evening.ts';

type OutlookInput = Parameters<typeof outlookMaker>[0];

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
  t.deepEqual(pluck(ROWS, 'geohash4'), ['9y68', '9y69', '9y6d']);
  t.deepEqual(pluck(ROWS, 'prior_share'), [0.1, 0.2, 0.3]);
  t.deepEqual(pluck(ROWS, 'storm_dates'), [1100, 1100, 1100]);
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

test('two expected days are a probability of 0.865 for at least one', (t) =>
  t.true(Math.abs(ROWS[0].annual_any - (1 - Math.exp(-2))) < 1e-12));

test('the score ranks cells by their year, and months among all months of all cells', (t) => {
  t.deepEqual(pluck(ROWS, 'annual_score'), [50, 17, 83]);
  for (const { annual_score, risk_tier } of ROWS) t.is(risk_tier, riskTier(annual_score));
  t.is(ROWS[2].score_05, Math.max(...ROWS.flatMap((row) => [row.score_01, row.score_05, row.score_06])));
  t.true(ROWS[2].score_05 > 95 && ROWS[1].score_01 < 5);
});

test('a cell has no tier while more than nine tenths of its rate are built in', (t) => {
  const prior_share = Float64Array.of(0.9, 0.91, 1);
  const tiers = pluck(climatologyRows(GRID, { rates: RATES, prior_share }, FACTS), 'risk_tier');
  t.deepEqual(tiers, [riskTier(50), null, null]);
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
  const yearly = Float64Array.of(0.5, 0.1, 0.5, 0.9);
  const rates = RATES.map(() => SEASON.map((share) => yearly.map((days) => share * days)));
  const grid = { ...GRID, cells: [...CELLS, CELLS[0]] };
  const rows = climatologyRows(grid, { rates, prior_share: new Float64Array(4) }, FACTS);
  t.deepEqual(pluck(rows, 'annual_score'), [50, 13, 50, 88]);
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
        if ((value === null && column !== 'risk_tier') || Number.isNaN(value))
          t.fail(`${row.geohash4} ${column} is ${value}`);
    const mean = (column: 'annual_any' | 'annual_severe' | 'any_02' | 'any_07', from_mm: number, to_mm = 200) => {
      const values = rows.flatMap((row, cell) => {
        const mm = maxima.get(cell) ?? 0;
        return mm >= from_mm && mm < to_mm ? [row[column]] : [];
      });
      return values.reduce((sum, value) => sum + value, 0) / values.length;
    };
    t.true(mean('annual_any', 19) > 3 * mean('annual_any', 0, 19));
    t.true(mean('annual_severe', 29) > mean('annual_severe', 19, 29));
    t.true(mean('any_02', 19) > 10 * mean('any_02', 0, 19));
    t.true(mean('any_02', 19) > 2 * mean('any_07', 19));
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

/** Event days a year with reported hail in squares of 49 km, mean of a county (National Risk Index of FEMA, December 2025). */
for (const [city, lat, lon, reported_days] of [
  ['Longview, Washington', 46.2, -122.7, 0.05],
  ['East Wenatchee, Washington', 47.7, -119.7, 0.111],
  ['Dayton, Washington', 46.3, -117.9, 0.343],
  ['San Rafael, California', 38.07, -122.7, 0.02],
  ['Los Angeles', 34.2, -118.2, 0.098],
  ['Salt Lake City', 40.67, -111.9, 0.272],
  ['Manti, Utah', 39.4, -111.6, 0.131],
  ['Grants, New Mexico', 34.9, -108.0, 0.181],
  ['Clovis, New Mexico', 34.6, -103.3, 2.913],
  ['Billings, Montana', 45.9, -108.3, 1.997],
  ['Idaho Springs, Colorado', 39.7, -105.6, 5.871],
  ['Cheyenne Wells, Colorado', 38.8, -102.6, 6.247],
  ['Hastings, Nebraska', 40.5, -98.5, 7.344],
  ['Stillwater, Oklahoma', 36.1, -97.0, 11.203],
  ['McAlester, Oklahoma', 34.9, -95.7, 6.808],
  ['Chicago', 41.8, -87.8, 3.953],
  ['Greenville, South Carolina', 34.9, -82.4, 4.8],
  ['Hampton, South Carolina', 32.8, -81.1, 2.965],
  ['Prattville, Alabama', 32.5, -86.6, 2.647],
  ['Fernandina Beach, Florida', 30.6, -81.8, 1.776],
  ['The Villages, Florida', 28.7, -82.1, 2.369],
  ['Key West, Florida', 25.2, -80.9, 0.43],
] as const)
  test(`the built-in rate of ${city} is within a factor of two of its reports, or as rare`, (t) => {
    const days = priorRates({ lat, lon }, ANY).reduce((sum, month) => sum + month);
    const published = 0.25 * reported_days;
    t.true(Math.abs(Math.log2(days / published)) < 1 || Math.abs(days - published) < 0.08, `${days} for ${published}`);
  });

test('the shares of the months sum to 1 at every place, and May and June have most of all hail', (t) => {
  const months = new Array<number>(12).fill(0);
  for (const cell of RISK_GRID.cells) {
    const season = hailRegion(cell).months;
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
  const dayOf = (n: number) => ({ cell: OKLAHOMA, day_of_year: 100 + (n % 60), mm: sizes_mm[n % sizes_mm.length] });
  const days = Array.from({ length: 200 }, (_, n) => dayOf(n));
  const found = ratesOf(10, days);
  const [significant, giant] = [yearly(found, 2, OKLAHOMA), yearly(found, 3, OKLAHOMA)];
  t.true(Math.abs(giant / significant - Math.exp(-37 / 13)) < 1e-9);
});

const hail = fc.record({
  cell: fc.integer({ min: 0, max: RATES_GRID.cells.length - 1 }),
  day_of_year: fc.integer({ min: 0, max: YEAR_DAYS - 1 }),
  mm: fc.double({ min: 10, max: 150, noNaN: true }),
});

test('whatever fell, rates are finite, positive and nested', (t) => {
  const property = fc.property(fc.array(hail, { maxLength: 200 }), fc.integer({ min: 0, max: 6 }), (days, years) => {
    const { rates, prior_share } = ratesOf(years, days);
    const isNested = (rate: number, k: number, m: number, cell: number) => k === 0 || rate <= rates[k - 1][m][cell];
    t.true(prior_share.every((share) => share >= 0 && share <= 1));
    for (const [k, byMonth] of rates.entries())
      for (const [m, month] of byMonth.entries())
        t.true(month.every((rate, cell) => rate > 0 && rate < 366 && isNested(rate, k, m, cell)));
  });
  fc.assert(property, { numRuns: 25, seed: 9 });
});

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
    const freezing_level_km = hailDayFreezingLevelKm(place.lat, 5);
    const { hdqi } = detectionQuality(place, { sites: WSR88D, freezing_level_km, ground_m: groundM(place, null) });
    t.is(found[index], hdqi >= 0.3 ? 1 : 0, `${place.geohash4} ${hdqi}`);
  }
});

const SITE = { id: 'KAAA', lat: 40, lon: -100, antenna_m: 500 };

test('a radar makes places available to about 210 km, and those behind a mountain not', (t) => {
  const at = (km: number) => destination(SITE, 90, km);
  t.deepEqual([...availableCells([at(60), at(180), at(225), at(300)], [SITE], null)], [1, 1, 0, 0]);
  const wall = { radars: new Set(['KAAA']), blocked: () => 1, groundM: () => null };
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
  for (const [month, days] of [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].entries())
    t.true(Math.abs(sum(shares.map((row) => row[month])) - days) < 1e-9, `month ${month}`);
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
const STORMY = CONUS_CELLS.findIndex(({ geohash4 }) => geohash4 === '9y6e');

interface EchoHour {
  readonly run_h: number;
  readonly valid_h: number;
  readonly dbz?: number | null;
  readonly ship?: number;
  readonly simulated?: boolean;
  /** True for the same echo in every cell. */
  readonly wide?: boolean;
}

/** An hour in which the air is the same everywhere and one cell has an echo; hours count from the evening. */
function hourOf({ run_h, valid_h, dbz = 70, ship = 1, simulated = false, wide = false }: EchoHour): CellHour {
  const everywhere = (value: number) => new Float32Array(CONUS_CELLS.length).fill(value);
  const reflectivity_dbz = dbz === null ? null : everywhere(wide ? dbz : -20);
  if (reflectivity_dbz !== null && dbz !== null) reflectivity_dbz[STORMY] = dbz;
  return {
    run_time: EVENING_MS + run_h * MS_PER_HOUR,
    valid_time: EVENING_MS + valid_h * MS_PER_HOUR,
    simulated,
    covered: new Uint8Array(CONUS_CELLS.length).fill(1),
    largest: {
      reflectivity_dbz,
      updraft_helicity_m2_s2: null,
      hail_mm: null,
      cape_j_kg: everywhere(2000),
      ship: everywhere(ship),
    },
  };
}

function rowsOf(hours: readonly CellHour[], ask: Partial<Parameters<typeof hourlyForecast>[0]> = {}) {
  return hourRows(hourlyForecast({ model: 'hrrr', hours, after: EVENING_MS, count: 1, climatology: null, ...ask }));
}

function stormy(hours: readonly CellHour[], ask: Partial<Parameters<typeof hourlyForecast>[0]> = {}) {
  const row = rowsOf(hours, ask)[0]?.[STORMY];
  if (row === undefined) throw new Error('no rows');
  return row;
}

test('a row tells its model, its runs and who made them', (t) => {
  const row = stormy([hourOf({ run_h: 0, valid_h: 1 }), hourOf({ run_h: -1, valid_h: 1 })]);
  t.like(row, { model: 'hrrr', run_time: EVENING_MS, runs: '20260501T220000Z 20260501T210000Z' });
  t.like(row, { data_source: 'observed', geohash4: '9y6e' });
  t.is(stormy([hourOf({ run_h: 0, valid_h: 1, simulated: true })]).data_source, 'simulated');
});

test('hours begin with the first full one that ends after the instant, and end where the runs end', (t) => {
  const hours = [1, 2, 3].map((valid_h) => hourOf({ run_h: 0, valid_h }));
  const times = (after: number, count: number) =>
    rowsOf(hours, { after, count }).map(([row]) => ((row?.valid_time ?? 0) - EVENING_MS) / MS_PER_HOUR);
  t.deepEqual(times(EVENING_MS, 48), [1, 2, 3]);
  t.deepEqual(times(EVENING_MS + 1, 48), [1, 2, 3]);
  t.deepEqual(times(EVENING_MS + MS_PER_HOUR, 48), [2, 3]);
  t.deepEqual(times(EVENING_MS, 2), [1, 2]);
});

test('a run says nothing of its own start', (t) => t.deepEqual(rowsOf([hourOf({ run_h: 1, valid_h: 1 })]), []));

test('the newest three runs within twelve hours are blended', (t) => {
  const runs = [-18, -13, -12, -6, -3, 0].map((run_h) => hourOf({ run_h, valid_h: 1 }));
  const lags = (hours: readonly CellHour[]) =>
    stormy(hours)
      .runs.split(' ')
      .map((run) => (scanTime(run) - EVENING_MS) / MS_PER_HOUR);
  t.deepEqual(lags(runs), [0, -3, -6]);
  t.deepEqual(lags(runs.filter(({ run_time }) => run_time !== EVENING_MS - 6 * MS_PER_HOUR)), [0, -3, -12]);
  t.deepEqual(lags([runs[0], runs[5]].filter((hour) => hour !== undefined)), [0]);
});

test('runs that disagree make hail less likely than runs that agree', (t) => {
  const both = stormy([hourOf({ run_h: 0, valid_h: 1 }), hourOf({ run_h: -1, valid_h: 1 })]);
  const one = stormy([hourOf({ run_h: 0, valid_h: 1 }), hourOf({ run_h: -1, valid_h: 1, dbz: -20 })]);
  t.true((one.hail_probability ?? 0) > 0.4 * (both.hail_probability ?? 0));
  t.true((one.hail_probability ?? 0) < 0.6 * (both.hail_probability ?? 0));
});

test('a storm an hour early or late in the model counts, two hours off does not', (t) => {
  const at = (storm_h: number) => {
    const hours = [0, 1, 2, 3].map((valid_h) => hourOf({ run_h: -1, valid_h, dbz: valid_h === storm_h ? 70 : -20 }));
    return stormy(hours).hail_probability ?? 0;
  };
  t.is(at(0), at(1));
  t.is(at(2), at(1));
  t.true(at(3) < 0.1 * at(1));
});

test('chances spread around a storm and fall with distance, and stay between 0 and 1', (t) => {
  const [rows = []] = rowsOf([hourOf({ run_h: 0, valid_h: 1 })]);
  const p = (steps: number) => rows[STORMY + steps]?.hail_probability ?? Number.NaN;
  t.true(p(0) > p(1) && p(1) > p(2) && p(2) > p(3), `${p(0)} ${p(1)} ${p(2)} ${p(3)}`);
  t.true(Math.abs(p(-1) - p(1)) < 1e-3);
  t.true(pluck(rows, 'hail_probability').every((p) => p !== null && p >= 0 && p <= 1));
});

test('a longer lead spreads the same storm wider', (t) => {
  const early = stormy([hourOf({ run_h: 0, valid_h: 1 })]).hail_probability ?? 0;
  const late = stormy([hourOf({ run_h: -11, valid_h: 1 })]).hail_probability ?? 0;
  t.true(late < 0.9 * early, `${late} ${early}`);
});

test('the climatology takes a share that grows by 1/60 an hour, to at most .7', (t) => {
  const share = (lead_h: number) => {
    const hours = [hourOf({ run_h: 1 - lead_h, valid_h: 1, dbz: -20 })];
    const without = stormy(hours).hail_probability ?? 0;
    const p = stormy(hours, { climatology: () => 0.5 }).hail_probability ?? 0;
    return (p - without) / (0.5 - without);
  };
  for (const [lead_h, expected] of [
    [1, 1 / 60],
    [12, 0.2],
    [42, 0.7],
    [48, 0.7],
  ] as const)
    t.true(Math.abs(share(lead_h) - expected) < 1e-3, `${lead_h} h: ${share(lead_h)}`);
});

test('where the climatology is not known the model stands alone', (t) => {
  const hours = [hourOf({ run_h: 0, valid_h: 1 })];
  t.deepEqual(stormy(hours, { climatology: () => null }), stormy(hours));
});

test('a model without echoes and helicity gives null, and still the parameter of the air', (t) => {
  const row = stormy([hourOf({ run_h: 0, valid_h: 1, dbz: null })]);
  const unknown = { hail_probability: null, estimated_size_mm: null, risk_category: null, risk_score: null };
  t.like(row, { ...unknown, ship: 1 });
});

test('cells that the model does not cover have no row', (t) => {
  const hour = hourOf({ run_h: 0, valid_h: 1 });
  const covered = hour.covered.map((_, k) => (k === STORMY ? 1 : 0));
  t.deepEqual(pluck(rowsOf([{ ...hour, covered }])[0] ?? [], 'geohash4'), ['9y6e']);
});

test('the air of significant hail lifts the category, not the chance', (t) => {
  const [plain, significant] = [1, 2].map((ship) =>
    stormy([hourOf({ run_h: 0, valid_h: 1, dbz: 64, wide: true, ship })]),
  );
  t.true((significant?.hail_probability ?? 0) > 0.1);
  t.true((significant?.risk_score ?? 0) >= (plain?.risk_score ?? 0));
  t.not(significant?.risk_category, plain?.risk_category);
});

test('every row of a model file fits the table', (t) => {
  const hours = [1, 2].map((lead_h) => {
    const { bytes, path } = modelFile(EVENING_MS, lead_h);
    const claim = { model: 'hrrr', run_time: EVENING_MS, valid_time: EVENING_MS + lead_h * MS_PER_HOUR };
    return cellHour(readModelHour([{ bytes, subject: path }], claim).hour, CONUS_CELLS);
  });
  const [rows = []] = rowsOf(hours);
  t.true(rows.length > 100);
  for (const row of rows) t.notThrows(() => Forecast.parse(row));
});

const known = (min: number, max: number) => fc.double({ min, max, noNaN: true });

for (const [helicity, ship, hail_mm, cape, expected] of [
  [0, 0, 0, 0, 0.154],
  [0, 0, 0, 1000, 0.25],
  [75, 1, 0, 2000, 0.502],
  [75, 1, 30, 2000, 0.692],
  [150, 2, 50, 3000, 0.853],
  [300, 4, 50, 4000, 0.929],
] as const)
  test(`helicity ${helicity}, SHIP ${ship}, stones of ${hail_mm} mm and CAPE ${cape} make hail from a storm ${expected} likely`, (t) => {
    const p = hailGivenStorm({ updraft_helicity_m2_s2: helicity, ship, hail_mm, cape_j_kg: cape });
    t.is(Math.round(p * 1000) / 1000, expected);
  });

for (const [hail_mm, ship, expected] of [
  [25, 0, 25],
  [25, 1, 29],
  [50, 2, 46.1],
  [75, 4, 67.1],
  [100, 4, 77.5],
] as const)
  test(`stones of ${hail_mm} mm in the model and SHIP ${ship} make a median of ${expected} mm`, (t) =>
    t.is(Math.round((conditionalSizeMm({ hail_mm, ship }) ?? 0) * 10) / 10, expected));

test('a size comes from what there is, null without both, and stays between 10 and 110 mm', (t) => {
  t.is(conditionalSizeMm({ hail_mm: 40, ship: null }), 40);
  t.is(conditionalSizeMm({ hail_mm: null, ship: 1 }), 33.75);
  t.is(conditionalSizeMm({ hail_mm: null, ship: null }), null);
  t.is(conditionalSizeMm({ hail_mm: 0, ship: 0 }), 10);
  t.is(conditionalSizeMm({ hail_mm: 300, ship: 40 }), 110);
});

test('without echoes and without helicity nothing is known of storms: null, not zero', (t) =>
  t.is(stormProbability({ reflectivity_dbz: null, updraft_helicity_m2_s2: null }), null));

test('more echo, rotation, stones or SHIP never lowers a chance or a size, and chances lie between 0 and 1', (t) => {
  const property = fc.property(
    fc.record({
      reflectivity_dbz: known(-30, 80),
      updraft_helicity_m2_s2: known(-500, 1000),
      hail_mm: known(0, 200),
      cape_j_kg: known(0, 6000),
      ship: known(0, 10),
    }),
    fc.constantFrom('reflectivity_dbz', 'updraft_helicity_m2_s2', 'hail_mm', 'cape_j_kg', 'ship'),
    known(0, 100),
    (low, name, more) => {
      const high = { ...low, [name]: low[name] + more };
      const chances = [low, high].map((each) => (stormProbability(each) ?? 0) * hailGivenStorm(each));
      const sizes = [low, high].map((each) => conditionalSizeMm(each) ?? 0);
      return chances[0] >= 0 && chances[1] <= 1 && chances[1] >= chances[0] && sizes[1] >= sizes[0];
    },
  );
  t.notThrows(() => fc.assert(property));
});

for (const [p, size_mm, score] of [
  [0.05, 25, 15],
  [0.15, 25, 38],
  [0.15, 50, 48],
  [0.3, 25, 62],
  [0.3, 50, 72],
  [0.45, 50, 86],
  [0.6, 75, 96],
  [0.3, null, 62],
  [0, null, 0],
] as const)
  test(`a chance of ${p} of ${size_mm === null ? 'an unknown size' : `${size_mm} mm`} scores ${score}`, (t) =>
    t.is(riskScore(p, size_mm), score));

for (const [p, word] of [
  [0, 'minimal'],
  [0.0199, 'minimal'],
  [0.02, 'low'],
  [0.05, 'moderate'],
  [0.15, 'elevated'],
  [0.3, 'high'],
  [0.45, 'severe'],
] as const)
  test(`a chance of ${p} in ordinary air is ${word}`, (t) => {
    t.is(riskCategory(p, null), word);
    t.is(riskCategory(p, 1.49), word);
  });

test('SHIP of 1.5 lifts the category by one from a chance of .10 on, never above severe', (t) => {
  t.is(riskCategory(0.0999, 1.5), 'moderate');
  t.is(riskCategory(0.1, 1.5), 'elevated');
  t.is(riskCategory(0.3, 2), 'severe');
  t.is(riskCategory(0.9, 9), 'severe');
});

/** A grid whose points are whole kilometres east and north of the origin; a degree is a kilometre. */
function kilometreGrid(rows: number, cols: number, step_km: number): ModelGrid {
  return {
    rows,
    cols,
    locate: ({ lat, lon }) => ({ row: lat / step_km, col: lon / step_km }),
    stepsAt: () => ({ row_km: step_km, col_km: step_km }),
  };
}

const placeAt = (lat: number, lon: number) => ({ lat, lon });

/** Hail of an hour at places, from the hail on the grid of a model. */
function largestAround(grid: ModelGrid, places: readonly Position[], hail_mm: Float32Array): number[] {
  const hour = { run_time: 0, valid_time: 0, simulated: false, grid, fields: { hail_mm } };
  return [...(cellHour(hour, places).largest.hail_mm ?? [])];
}

test('the largest value around a place is that of the points within 40 km', (t) => {
  const grid = kilometreGrid(30, 30, 5);
  const places = [placeAt(60, 60), placeAt(61.7, 58.2), placeAt(2, 3), placeAt(145, 0)];
  const values = Float32Array.from({ length: 900 }, (_, k) => (k * 7919) % 1009);
  const expected = places.map((place) => {
    let most = Number.NaN;
    for (const [k, value] of values.entries()) {
      const distance_km = Math.hypot(5 * Math.floor(k / 30) - place.lat, 5 * (k % 30) - place.lon);
      if (distance_km <= 40 && !(most >= value)) most = value;
    }
    return most;
  });
  t.deepEqual(largestAround(grid, places, values), expected);
});

test('on a grid coarser than the radius the nearest point counts', (t) => {
  const values = Float32Array.from([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  t.deepEqual(largestAround(kilometreGrid(3, 3, 100), [{ lat: 145, lon: 60 }], values), [4]);
});

test('places outside the grid have no value', (t) => {
  const places = [placeAt(-5, 50), placeAt(50, 500)];
  t.deepEqual(largestAround(kilometreGrid(20, 20, 5), places, new Float32Array(400)), [Number.NaN, Number.NaN]);
});

test('points without a value are passed over, and a place with none of them has none', (t) => {
  const grid = kilometreGrid(20, 20, 5);
  const values = new Float32Array(400).fill(Number.NaN);
  values[10 * 20 + 10] = -7;
  t.deepEqual(largestAround(grid, [placeAt(50, 50), placeAt(5, 5)], values), [-7, Number.NaN]);
});

const EVERYWHERE = new Uint8Array(CONUS_CELLS.length).fill(1);

test('a single value spreads as a Gaussian of the asked width', (t) => {
  const values = new Float64Array(CONUS_CELLS.length);
  values[STORMY] = 1;
  const mean = gaussianMean(values, EVERYWHERE, 40);
  for (const rows of [1, -2, 3]) {
    const km = rows * GEOHASH4_LAT_DEG * KM_PER_DEG;
    const share = mean[STORMY + rows * CONUS_CELL_COLS] / mean[STORMY];
    t.true(Math.abs(share - Math.exp(-0.5 * (km / 40) ** 2)) < 1e-9, `${rows}`);
  }
});

test('cells that do not count take no part, and where nothing counts the mean is 0', (t) => {
  const weights = EVERYWHERE.map((_, k) => (k % 3 === 0 ? 1 : 0));
  const values = Float64Array.from(weights, (weight, k) => (weight > 0 ? 0.2 + (k % 5) / 10 : 99));
  t.true(gaussianMean(values, weights, 40).every((mean) => mean >= 0.2 - 1e-12 && mean <= 0.6 + 1e-12));
  t.true(gaussianMean(values, new Uint8Array(values.length), 40).every((mean) => mean === 0));
});

/** Air with so much CAPE, mixing ratio, lapse rate, temperature at 500 hPa, shear and height of freezing. */
function air([cape_j_kg, mixing_ratio_g_kg, lapse_rate_c_km, ...rest]: readonly number[]) {
  const [temperature_500_c, shear_ms, freezing_level_m] = rest;
  return { cape_j_kg, mixing_ratio_g_kg, lapse_rate_c_km, temperature_500_c, shear_ms, freezing_level_m };
}

for (const [input, expected] of [
  [[3000, 14, 7.8, -12, 25, 3800], 2.273],
  [[1000, 10, 6.5, -15, 30, 2200], 0.486],
  [[2500, 15, 7, -10, 20, 4200], 1.133],
  [[500, 12, 5.5, -8, 10, 4500], 0.023],
  [[4500, 16, 8.5, -14, 30, 3900], 4.682],
] as const)
  test(`the significant hail parameter of ${input.join(', ')} is ${expected}`, (t) =>
    t.is(Math.round(ship(air(input)) * 1000) / 1000, expected));

const AIR = air([2000, 12, 7, -12, 20, 3500]);

test('moisture, shear and a warm 500 hPa level count within their bounds only', (t) => {
  t.is(ship({ ...AIR, mixing_ratio_g_kg: 5 }), ship({ ...AIR, mixing_ratio_g_kg: 11 }));
  t.is(ship({ ...AIR, mixing_ratio_g_kg: 20 }), ship({ ...AIR, mixing_ratio_g_kg: 13.6 }));
  t.is(ship({ ...AIR, shear_ms: 2 }), ship({ ...AIR, shear_ms: 7 }));
  t.is(ship({ ...AIR, shear_ms: 60 }), ship({ ...AIR, shear_ms: 27 }));
  t.is(ship({ ...AIR, temperature_500_c: 3 }), ship({ ...AIR, temperature_500_c: -5.5 }));
});

test('negative CAPE, a rising temperature or a frozen ground give 0, never less', (t) => {
  t.is(ship({ ...AIR, cape_j_kg: -50 }), 0);
  t.is(ship({ ...AIR, lapse_rate_c_km: -1 }), 0);
  t.is(ship({ ...AIR, freezing_level_m: -200 }), 0);
});

test('more of an input never lowers the significant hail parameter', (t) => {
  const name = fc.constantFrom('cape_j_kg', 'mixing_ratio_g_kg', 'lapse_rate_c_km', 'shear_ms', 'freezing_level_m');
  const holds = fc.property(name, known(0, 6000), known(0, 500), (of, low, more) => {
    return ship({ ...AIR, [of]: low + more }) >= ship({ ...AIR, [of]: low });
  });
  t.notThrows(() => fc.assert(holds, { numRuns: 500 }));
});

test('an unknown input makes the parameter unknown', (t) => {
  for (const name of Object.keys(AIR)) t.is(ship({ ...AIR, [name]: Number.NaN }), Number.NaN, name);
});

test('fields of rising strength expect the circles that the page says, from none to those of an outbreak', (t) => {
  const section = sectionOf(readDocument('pipeline/SCIENCE.md'), '## Hourly forecast');
  const rows = firstTable(section.slice(section.indexOf('| storms |'))).map((row) => row.map(Number));
  t.is(rows.length, 6);
  for (const [storms = 0, reflectivity_dbz = 0, rotation = 0, hail_mm = 0, cape_j_kg = 0, ship = 0, printed] of rows) {
    const predictors = { reflectivity_dbz, updraft_helicity_m2_s2: rotation, hail_mm, cape_j_kg, ship };
    const circles = storms * (stormProbability(predictors) ?? Number.NaN) * hailGivenStorm(predictors);
    t.is(Number(circles.toFixed(circles < 10 ? 2 : circles < 20 ? 1 : 0)), printed);
  }
});
const pct = fc.integer({ min: 0, max: 1000 }).map((tenths) => tenths / 10);
const day = fc.integer({ min: 1, max: 7 });
type Blended = NonNullable<ReturnType<typeof blendDay>>;
const NONE: Components = { spc: null, hrrr: null, climatology: null };

test('a blend lies between the forecasts it is made of, whatever the climatology says', (t) => {
  const property = fc.property(day, pct, pct, pct, (d, spc, hrrr, climatology) => {
    const blended = blendDay(d, { spc, hrrr, climatology });
    const parts = d <= 2 ? [spc, hrrr] : [spc];
    const p = blended?.probability_pct ?? Number.NaN;
    return p >= Math.min(...parts) && p <= Math.max(...parts);
  });
  t.notThrows(() => fc.assert(property));
});

test('the climatology has no vote beside a forecast, and the same SPC area means the same on every day', (t) => {
  for (let d = 1; d <= 7; d++) {
    t.is(blendDay(d, { ...NONE, spc: 15, climatology: 0.3 })?.probability_pct, 15);
    t.is(blendDay(d, { ...NONE, spc: 15, climatology: 30 })?.probability_pct, 15);
    t.is(blendDay(d, { ...NONE, climatology: 4.2 })?.probability_pct, 4.2);
  }
});

test('a larger component never lowers the blend', (t) => {
  const property = fc.property(
    day,
    fc.record({ spc: pct, hrrr: pct, climatology: pct }),
    fc.constantFrom('spc', 'hrrr', 'climatology'),
    pct,
    (d, low, name, other) => {
      const p = (components: Components) => blendDay(d, components)?.probability_pct ?? Number.NaN;
      const [less, more] = [Math.min(low[name], other), Math.max(low[name], other)];
      return p({ ...low, [name]: more }) >= p({ ...low, [name]: less });
    },
  );
  t.notThrows(() => fc.assert(property));
});

test('two forecasts are weighted by their logits, and one alone stands for itself', (t) => {
  // Logits of 10 and 30 % weighted .5 and .35 of .85 on day 1, .5 and .2 of .7 on day 2.
  t.is(blendDay(1, { ...NONE, spc: 10, hrrr: 30 })?.probability_pct, 16.2);
  t.is(blendDay(2, { ...NONE, spc: 10, hrrr: 30 })?.probability_pct, 14);
  t.is(blendDay(1, { ...NONE, hrrr: 12.3 })?.probability_pct, 12.3);
});

test('the model has no weight from day 3 on: alone it makes no outlook', (t) => {
  t.is(blendDay(3, { ...NONE, hrrr: 40 }), null);
  t.is(blendDay(3, { ...NONE, hrrr: 40, climatology: 2 })?.primary_source, 'climatology');
  t.deepEqual(blendDay(3, { spc: 10, hrrr: 90, climatology: 2 }), blendDay(3, { spc: 10, hrrr: null, climatology: 2 }));
});

test('without any component there is no outlook', (t) => t.is(blendDay(1, NONE), null));

test('the component that departs furthest from the usual, times its weight, is the primary source', (t) => {
  t.is(blendDay(1, { spc: 15, hrrr: 5, climatology: 2 })?.primary_source, 'spc');
  t.is(blendDay(1, { spc: 2, hrrr: 30, climatology: 2 })?.primary_source, 'hrrr');
  t.is(blendDay(1, { spc: 5, hrrr: 5, climatology: 5 })?.primary_source, 'spc');
  t.is(blendDay(5, { ...NONE, climatology: 4 })?.primary_source, 'climatology');
});

const scoreOf = (d: number, components: Partial<Components>) =>
  blendDay(d, { ...NONE, ...components })?.confidence_score ?? Number.NaN;

for (const [what, components, expected] of [
  ['SPC and the model agree', { spc: 30, hrrr: 30 }, [0.9, 0.8]],
  ['they lie one contour apart', { spc: 30, hrrr: 15 }, [0.9, 0.8]],
  ['they lie two contours apart', { spc: 30, hrrr: 5 }, [0.675, 0.6]],
  ['they lie three contours apart', { spc: 45, hrrr: 5 }, [0.45, 0.4]],
  ['they contradict each other', { spc: 60, hrrr: 0 }, [0.45, 0.4]],
  ['SPC speaks alone', { spc: 30 }, [0.675, 0.6, 0.525, 0.375, 0.3, 0.225, 0.188]],
  ['the model speaks alone', { hrrr: 30 }, [0.675, 0.6]],
  ['no forecast speaks', { climatology: 3 }, [0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2]],
] as const)
  test(`where ${what} the confidence of the days is ${expected.join(', ')}`, (t) => {
    for (const climatology of [null, 0.1, 3, 60]) {
      const known = { climatology, ...components };
      for (const [k, score] of expected.entries()) t.is(scoreOf(k + 1, known), score);
    }
  });

test('SPC alone is worth the same at every probability: 30 % is no reason to doubt it', (t) => {
  for (let d = 1; d <= 7; d++)
    t.is(new Set([1, 5, 15, 30, 45, 60].map((spc) => scoreOf(d, { spc, climatology: 2 }))).size, 1);
});

test('confidence is between 0 and 1, never higher on a later day, and above that of the climatology on days 1 to 6', (t) => {
  const early = fc.integer({ min: 1, max: 6 });
  const property = fc.property(early, pct, fc.option(pct, { nil: null }), pct, (d, spc, hrrr, climatology) => {
    const score = scoreOf(d, { spc, hrrr, climatology });
    const later = scoreOf(d + 1, { spc, hrrr, climatology });
    // On day 3 the model is left out: SPC is alone, and may be trusted more than beside a model that contradicts it.
    return score > 0.2 && score <= 0.9 && (score >= later || (d === 2 && hrrr !== null));
  });
  t.notThrows(() => fc.assert(property));
});

test('confidence and its word never fall as the two forecasts come closer, on any day', (t) => {
  const half_percents = Array.from({ length: 201 }, (_, k) => k / 2);
  const falls: string[] = [];
  for (let d = 1; d <= OUTLOOK_DAYS; d++)
    for (const fixed of half_percents)
      for (const moving of ['spc', 'hrrr'] as const) {
        const others = { ...NONE, climatology: 5, spc: fixed, hrrr: fixed };
        const scores = half_percents.map((pct) => {
          const { confidence_score: score, confidence_state } = blendDay(d, { ...others, [moving]: pct }) as Blended;
          if (confidence_state !== (score < 0.4 ? 'low' : score < 0.65 ? 'medium' : 'high'))
            falls.push(`day ${d}: ${score} is ${confidence_state}`);
          return score;
        });
        const best = half_percents.indexOf(fixed);
        for (let k = 1; k < scores.length; k++)
          if (k <= best ? scores[k] < scores[k - 1] : scores[k] > scores[k - 1])
            falls.push(`day ${d}: ${moving} at ${half_percents[k]} beside ${fixed}`);
      }
  t.deepEqual(falls, []);
});

test('the shares of the hours of a day sum to 1, and 12 to 15 UTC have least at 97.5 W', (t) => {
  const shares = Array.from({ length: 24 }, (_, hour) => diurnalShare(hour, -97.5));
  t.true(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 1) < 1e-6);
  const least = shares.indexOf(Math.min(...shares));
  t.true(least >= 11 && least <= 15, `${least}`);
});

test('the usual chance of a day grows with that of its month, and its hours lie within it', (t) => {
  t.is(dayProbabilityPct(0, 31), 0);
  t.true(dayProbabilityPct(0.2, 31) > dayProbabilityPct(0.1, 31));
  const hours = Array.from({ length: 24 }, (_, h) => hourProbability(0.3, Date.UTC(2026, 4, 1, h + 1), -97.5));
  const union = 1 - hours.reduce((product, p) => product * (1 - p), 1);
  t.true(Math.abs(100 * union - dayProbabilityPct(0.3, 31)) < 1e-6);
});

test('the days of a month together are never less likely than hail within 10 km in the month, but for rounding', (t) => {
  const property = fc.property(known(0, 0.995), fc.integer({ min: 28, max: 31 }), (month, days) => {
    const together = 1 - (1 - dayProbabilityPct(month, days) / 100) ** days;
    return together >= month - 1e-9;
  });
  t.notThrows(() => fc.assert(property));
});

test('the chance of a day from a model is at least that of its likeliest hour, and needs half of its hours', (t) => {
  const quiet: number[] = new Array(24).fill(0);
  const modelDayPct = (hours: readonly (number | null)[]) => {
    const rows = hours.map((p, hour) => modelRow(hour, p));
    return rowsAt('9y6e', rows)[0]?.hrrr_pct ?? null;
  };
  t.is(modelDayPct(quiet), 0);
  t.is(modelDayPct(quiet.map((_, k) => (k === 5 ? 0.3 : 0))), 30);
  t.true((modelDayPct(quiet.map((_, k) => (k < 12 ? 0.3 : 0))) ?? 0) > 70);
  t.is(modelDayPct(quiet.map((_, k) => (k < 13 ? null : 0.3))), null);
  t.not(modelDayPct(quiet.map((_, k) => (k < 12 ? null : 0.3))), null);
});

const SQUARE = (west: number, south: number, east: number, north: number) =>
  `MULTIPOLYGON (((${west} ${south}, ${east} ${south}, ${east} ${north}, ${west} ${north}, ${west} ${south})))`;

function layer(row: Partial<SpcOutlook>): SpcOutlook {
  const what = { forecast_date: '2026-05-01', day: 1, hazard: 'hail', part: 'all', data_source: 'observed' } as const;
  const area = { label: '0.15', probability_pct: 15, is_complete: true, geometry: SQUARE(-100, 34, -96, 38) };
  const times = { issue_time: 0, valid_time: 0, expire_time: 0, fetched_at: 0 };
  return { ...what, ...area, ...times, ...row };
}

/** An issue without any area. */
const QUIET = layer({ label: null, probability_pct: null, geometry: null });
const INSIDE = { lat: 36, lon: -98 };
const OUTSIDE = { lat: 45, lon: -80 };

function valueAt(rows: readonly SpcOutlook[], at = INSIDE, d = 1, date = '2026-05-01') {
  const found = spcDay(rows, date);
  return found === null ? 'not issued' : spcPct(found, d, at);
}

test('the highest area that holds a place counts', (t) => {
  const inner = layer({ label: '0.30', probability_pct: 30, geometry: SQUARE(-99, 35, -97, 37) });
  t.is(valueAt([layer({}), inner]), 30);
  t.is(valueAt([inner, layer({})], { lat: 34.5, lon: -98 }), 15);
});

test('outside all areas days 1 to 3 have a quiet value, and later days say nothing', (t) => {
  t.is(valueAt([layer({})], OUTSIDE, 1), 1);
  t.is(valueAt([layer({})], OUTSIDE, 2), 1.5);
  t.is(valueAt([layer({})], OUTSIDE, 3), 1.5);
  for (const d of [4, 5, 6, 7]) t.is(valueAt([layer({})], OUTSIDE, d), null);
});

test('a forecast issued without any area is quiet, one that was not issued is unknown', (t) => {
  t.is(valueAt([QUIET]), 1);
  t.is(valueAt([]), 'not issued');
  t.is(valueAt([layer({})], INSIDE, 2, '2026-05-02'), 'not issued');
});

test('areas of significant hail alone are no forecast of a probability', (t) =>
  t.is(valueAt([layer({ part: 'significant', label: null, probability_pct: null, geometry: null })]), 'not issued'));

test('where an area was refused, outside of the others nothing is known', (t) => {
  t.is(valueAt([layer({ is_complete: false })], OUTSIDE), null);
  t.is(valueAt([layer({ is_complete: false })], INSIDE), 15);
});

for (const [date, share] of [
  ['2026-05-04', 0.55],
  ['2026-07-04', 0.45],
  ['2026-11-04', 0.3],
] as const)
  test(`of a combined value on ${date} hail has a share of ${share}`, (t) =>
    t.is(valueAt([layer({ hazard: 'any_severe', day: 4, forecast_date: date })], INSIDE, 4, date), 15 * share));

test('hail itself comes before a combined value, and the shortest lead before an older forecast of the date', (t) => {
  t.is(valueAt([layer({ hazard: 'any_severe', probability_pct: 60 }), layer({})]), 15);
  t.is(valueAt([layer({ day: 2, probability_pct: 45 }), layer({})]), 15);
  t.is(valueAt([layer({ day: 2, probability_pct: 45 })]), 45);
});

const START = Date.parse('2026-05-01T12:00:00Z');

/** An hour of the model at one cell. */
function modelRow(
  hour: number,
  probability: number | null,
  data_source: Provenance = 'observed',
  cell = '9y6e',
): HourColumns {
  const valid_time = START + (hour + 1) * MS_PER_HOUR;
  const facts = { model: 'hrrr', run_time: START, runs: '', valid_time, data_source } as const;
  const at = CONUS_CELLS.findIndex(({ geohash4 }) => geohash4 === cell);
  const column = (value: number) => new Float64Array(CONUS_CELLS.length).fill(Number.NaN).fill(value, at, at + 1);
  const covered = new Uint8Array(CONUS_CELLS.length).fill(1, at, at + 1);
  return { facts, covered, probability: column(probability ?? Number.NaN), size_mm: column(30), ship: column(0.5) };
}

/** Rows of a cell, its model hours given. */
function outlookAt(geohash4: string, rows: readonly HourColumns[], input: Partial<OutlookInput> = {}) {
  const index = CONUS_CELLS.findIndex((cell) => cell.geohash4 === geohash4);
  const hours = rows.toSorted((a, b) => a.facts.valid_time - b.facts.valid_time);
  return outlookMaker({ now_ms: START, spc: [], hours, climatology: null, ...input })(index);
}

const rowsAt = (geohash4: string, rows: readonly HourColumns[], input: Partial<OutlookInput> = {}): Outlook[] =>
  outlookAt(geohash4, rows, input).days;

const CLIMATOLOGY = { monthly: () => 0.2, provenance: 'observed' } as const;
const DAY_OF_HOURS = Array.from({ length: 24 }, (_, hour) => modelRow(hour, hour === 10 ? 0.4 : 0.01, 'simulated'));

/** The published hours of a cell, by their place from 12 UTC on. */
const publishedAt = (rows: readonly HourColumns[], input: Partial<OutlookInput> = {}, geohash4 = '9y6e') =>
  outlookAt(geohash4, rows, input).hours;

const asProbability = (pct: number | null = null) => Math.round(10 * (pct ?? Number.NaN)) / 1000;

test('hours are shifted to agree with the day of all components, and keep what the model said', (t) => {
  const [day] = rowsAt('9y6e', DAY_OF_HOURS, { spc: [QUIET] });
  const hours = publishedAt(DAY_OF_HOURS, { spc: [QUIET] });
  t.like(hours[10], { model_probability: 0.4, hail_probability: asProbability(day?.hail_probability_pct) });
  t.true((day?.hail_probability_pct ?? 100) < 10);
  for (const row of hours) t.notThrows(() => Forecast.parse(row));
});

test('size, category and score follow from the shifted hour', (t) => {
  const likely = layer({ label: '0.60', probability_pct: 60 });
  const slight = DAY_OF_HOURS.map((_, k) => modelRow(k, k < 12 ? 0.019 : 0, 'simulated'));
  const [low] = publishedAt(slight, { spc: [QUIET] });
  const [high] = publishedAt(slight, { spc: [likely] });
  t.like(low, { model_size_mm: 30, estimated_size_mm: null, risk_category: 'minimal' });
  t.like(high, { model_size_mm: 30, estimated_size_mm: 30 });
  t.true((high?.risk_score ?? 0) > (low?.risk_score ?? 0));
});

test('late on a running day the model speaks with the hours that are left, and where they are too few others do', (t) => {
  const now_ms = START + 20 * MS_PER_HOUR;
  const left = [20, 21, 22, 23].map((hour) => modelRow(hour, 0.3, 'simulated'));
  const [day] = rowsAt('9y6e', left, { now_ms, spc: [QUIET] });
  t.true((day?.hrrr_pct ?? 0) >= 30);
  t.true((day?.hail_probability_pct ?? 0) > 4);
  t.is(rowsAt('9y6e', left.slice(3), { now_ms, spc: [QUIET] })[0]?.hrrr_pct, null);
});

test('hours are bounded by a day of SPC or of the climatology alone, and by none where no day is known', (t) => {
  const first = [0, 1, 2].map((hour) => modelRow(hour, 0.3, 'simulated'));
  t.is(publishedAt(first, { spc: [QUIET] })[0]?.hail_probability, 0.01);
  const [day] = rowsAt('9y6e', first, { climatology: CLIMATOLOGY });
  t.is(day?.primary_source, 'climatology');
  t.is(publishedAt(first, { climatology: CLIMATOLOGY })[0]?.hail_probability, asProbability(day?.climo_pct));
  t.is(publishedAt(first)[0]?.hail_probability, 0.3);
  const monterrey = geohash(25.7, -100.3, 4);
  const there = [0, 1, 2].map((hour) => modelRow(hour, 0.3, 'simulated', monterrey));
  t.is(publishedAt(there, { spc: [QUIET] }, monterrey)[0]?.hail_probability, 0.3);
});

test('an hour that is not known stays so, and hours outside the seven days are left alone', (t) => {
  const rows = [modelRow(0, null), modelRow(-3, 0.12345), modelRow(24 * 7, 0.5)];
  const likely = layer({ label: '0.60', probability_pct: 60 });
  t.deepEqual(pluck(publishedAt(rows, { spc: [likely] }), 'hail_probability'), [0.123, null, 0.5]);
});

test('a cell has seven days with their components', (t) => {
  const rows = rowsAt('9y6e', DAY_OF_HOURS, { spc: [layer({})], climatology: CLIMATOLOGY });
  t.deepEqual(pluck(rows, 'day'), [1, 2, 3, 4, 5, 6, 7]);
  for (const { day, forecast_date } of rows) t.is(forecast_date, `2026-05-0${day}`);
  const [first, second] = rows;
  t.deepEqual([first?.spc_pct, first?.hrrr_pct], [15, 40]);
  t.deepEqual([second?.spc_pct, second?.hrrr_pct], [null, null]);
  for (const row of rows) t.notThrows(() => Outlook.parse(row));
});

test('on days 4 to 7 a place outside all areas has the climatology, and no part of the outlook', (t) => {
  const empty = { label: null, probability_pct: null, geometry: null, hazard: 'any_severe' } as const;
  const spc = [4, 5, 6, 7].map((d) => layer({ ...empty, day: d, forecast_date: `2026-05-0${d}` }));
  const rows = rowsAt('9y6e', [], { spc, climatology: CLIMATOLOGY }).slice(3);
  t.is(rows.length, 4);
  const usual = {
    spc_pct: null,
    primary_source: 'climatology',
    confidence_score: 0.2,
    confidence_state: 'low',
  } as const;
  for (const row of rows) t.like(row, { ...usual, hail_probability_pct: row.climo_pct });
});

test('a row tells who made what it is blended from, and nobody else', (t) => {
  const [first, second] = rowsAt('9y6e', DAY_OF_HOURS, { spc: [layer({})], climatology: CLIMATOLOGY });
  t.deepEqual([first?.data_source, second?.data_source], ['mixed', 'observed']);
  const simulated = { ...CLIMATOLOGY, provenance: 'simulated' } as const;
  t.is(rowsAt('9y6e', DAY_OF_HOURS, { climatology: simulated })[0]?.data_source, 'simulated');
});

test('without any source there are no rows, and a day that only the model would speak for has none either', (t) => {
  t.deepEqual(rowsAt('9y6e', []), []);
  t.deepEqual(pluck(rowsAt('9y6e', DAY_OF_HOURS), 'day'), [1]);
});

test('where convective outlooks are not made for, their silence says nothing', (t) => {
  t.deepEqual(rowsAt(geohash(25.7, -100.3, 4), [], { spc: [QUIET] }), []);
  t.is(rowsAt('9y6e', [], { spc: [QUIET] })[0]?.spc_pct, 1);
});

test('day 1 is the day that began at the last 12 UTC', (t) => {
  t.is(outlookDate(Date.parse('2026-05-01T11:59:59Z')), '2026-04-30');
  t.is(outlookDate(Date.parse('2026-05-01T12:00:00Z')), '2026-05-01');
});

const DAY = 24;
const HOUR = fc.oneof(known(0, 1), known(0, 0.02));
const WHOLE = fc.array(HOUR, { minLength: DAY, maxLength: DAY });
const PARTIAL = fc.array(fc.option(HOUR, { nil: null }), { minLength: DAY, maxLength: DAY });
/** A day as it is published: a percent with one decimal. */
const PERCENT = fc.integer({ min: 0, max: 1000 }).map((tenths) => tenths / 10);

const rounded = (hours: DayHours) => hours.map((p) => (p === null ? null : Math.round(1000 * p) / 1000));
const hoursOf = (first: readonly (number | null)[], rest: number | null = 0.01) =>
  Array.from({ length: DAY }, (_, k) => first[k] ?? rest);
/** The shift and the rule before any hour is over. */
const coherent = (day: number, hours: DayHours) => coherentHours(day, -97.5, 0, hours);
const contradicts = (day: number, hours: DayHours) => contradiction(day, day, hours);
const holds = <Values>(property: fc.IProperty<Values>) => fc.assert(property, { numRuns: 1000 });

test('no hour is likelier than its day, and no whole day likelier than its hours together, after the shift', (t) => {
  const property = fc.property(PERCENT, fc.oneof(WHOLE, PARTIAL), (pct, hours) => {
    const shifted = coherent(pct / 100, hours);
    const told = shifted.filter((p) => p !== null);
    const none = told.reduce((product, p) => product * (1 - p), 1);
    return told.every((p) => p <= pct / 100 + 1e-9) && (told.length < DAY || 100 * (1 - none) >= pct - 1e-6);
  });
  t.notThrows(() => holds(property));
});

test('hours that agree with their day stay as the model has them, with three decimals', (t) => {
  const property = fc.property(PERCENT, PARTIAL, (pct, hours) => {
    const own = rounded(hours);
    if (contradicts(pct / 100, own) !== null) return true;
    return coherent(pct / 100, hours).every((p, k) => p === own[k]);
  });
  t.notThrows(() => holds(property));
});

test('the shift keeps the order of the hours, and what is not known stays unknown', (t) => {
  const property = fc.property(PERCENT, PARTIAL, (pct, hours) => {
    const shifted = coherent(pct / 100, hours);
    return hours.every((p, k) => {
      const s = shifted[k] ?? null;
      if (p === null || s === null) return p === null && s === null;
      return hours.every((other, j) => other === null || other > p || (shifted[j] ?? 0) <= s);
    });
  });
  t.notThrows(() => holds(property));
});

test('two hours that differ in the last bit of a floating-point number keep their order', (t) => {
  const hours = hoursOf([0.01999999999999996, 0.019999999999999962], 0);
  const shifted = coherent(0.991, hours);
  t.true((shifted[0] ?? 1) <= (shifted[1] ?? 0), `${shifted[0]} and ${shifted[1]}`);
});

test('hours are shifted no further than it takes: the likeliest hour comes to the day itself', (t) => {
  const shifted = coherent(0.171, hoursOf([0.05, 0.312, 0.2]));
  t.is(shifted[1], 0.171);
  // Log-odds of 31.2 % fall by .788 to those of 17.1 %; 20 % with them.
  t.is(shifted[2], 0.102);
});

test('hours that are together less likely than their day are lifted until they reach it', (t) => {
  const shifted = coherent(0.3, hoursOf([0.05]));
  const together = 1 - shifted.reduce((none: number, p) => none * (1 - (p ?? 0)), 1);
  t.true(together >= 0.3 && together < 0.32, `${together}`);
  t.true((shifted[0] ?? 0) > 0.05 && (shifted[1] ?? 0) > 0.01);
});

test('hours of which the model has nothing are lifted, too, when experts expect a day with hail', (t) => {
  const shifted = coherent(0.01, hoursOf([], 0));
  t.is(contradicts(0.01, shifted), null);
  t.is(new Set(shifted).size, 1);
});

test('a day of which not all hours are known bounds its hours from above alone: the hail may come in the others', (t) => {
  const some = hoursOf([0.05, 0.02], null);
  t.deepEqual(coherent(0.6, some), some);
  t.is(coherent(0.01, some)[0], 0.01);
  t.deepEqual(coherent(0.6, hoursOf([], null)), hoursOf([], null));
});

test('a contradiction is an hour above its day, or a day above its hours together', (t) => {
  t.is(contradicts(0.171, hoursOf([0.05, 0.312])), 'hour_above_day');
  t.is(contradicts(0.9, hoursOf([])), 'day_above_hours');
  t.is(contradicts(0.1, hoursOf([0.1])), null);
});

test('hours ahead that are together less likely than the usual rest of their day are lifted to it, and those that are over stay unknown', (t) => {
  const over = (hours: number) => Array.from({ length: DAY }, (_, k) => (k < hours ? null : 0.001));
  // At 97.5 W half of the hail of a day comes after 00 UTC, .0086 of it after 11: of 20 %, 10.56 % and .19 % remain.
  const evening = coherentHours(0.2, -97.5, 12, over(12));
  t.deepEqual(evening.slice(0, 12), new Array(12).fill(null));
  const together = 1 - evening.reduce((none: number, p) => none * (1 - (p ?? 0)), 1);
  t.true(together >= 0.1055 && together < 0.114, `${together}`);
  t.is(coherentHours(0.2, -97.5, 23, over(23))[23], 0.002);
  t.is(coherentHours(0.1, -97.5, 23, over(23))[23], 0.001);
});
