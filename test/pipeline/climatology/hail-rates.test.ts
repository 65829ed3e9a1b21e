import test from 'ava';
import fc from 'fast-check';
import { ANY, countHail, type HailDay, SEVERE, SIGNIFICANT } from '../../../pipeline/climatology/hail-counts.ts';
import { type HailRates, hailRates, makeNested, priorRates } from '../../../pipeline/climatology/hail-rates.ts';
import { hailSeason } from '../../../pipeline/climatology/hail-season.ts';
import { conusCells, type RiskCell, type RiskGrid } from '../../../pipeline/climatology/risk-cells.ts';
import { YEAR_DAYS } from '../../../pipeline/climatology/smoothing.ts';
import { roughDistanceKm } from '../../../schemas/geo/distance.ts';

/** The cells of the southern Plains, 600 by 700 km: what is tested here does not need the others. */
const GRID = part(conusCells(), ({ lat, lon }) => lat > 33 && lat < 38.5 && lon > -101 && lon < -93);
const SEEN = new Float64Array(GRID.cells.length).fill(1);
const OKLAHOMA = GRID.cells.findIndex(({ geohash4 }) => geohash4 === '9y68');

function part(grid: RiskGrid, isIn: (cell: RiskCell) => boolean): RiskGrid {
  const cells = grid.cells.filter(isIn);
  const index = new Int32Array(grid.index.length).fill(-1);
  for (const [number, { row, col }] of cells.entries()) index[row * grid.cols + col] = number;
  return { ...grid, cells, index };
}

/** Rates of so many whole years with these days of hail. */
function ratesOf(years: number, days: Iterable<HailDay>, available = SEEN): HailRates {
  const counts = countHail(GRID, available);
  for (let day_of_year = 0; day_of_year < YEAR_DAYS; day_of_year++) counts.observe({ day_of_year, share: years });
  for (const day of days) counts.add(day);
  return hailRates(GRID, counts, available);
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
  for (const cell of GRID.cells.keys())
    for (let at = wait(); at < rate * years; at += wait())
      yield { cell, day_of_year: dayAround(day, sd_days, random), mm: 35 };
}

const [YEARS, RATE, PEAK_DAY] = [20, 0.8, 196];
const simulated = ratesOf(YEARS, poisson(RATE, YEARS, PEAK_DAY, 25));

test('the rate of a Poisson process is recovered within two standard errors of the counts of a single cell', (t) => {
  const error = 2 * Math.sqrt(RATE / YEARS);
  for (const k of [ANY, SEVERE]) {
    const near = [...GRID.cells.keys()].filter((cell) => Math.abs(yearly(simulated, k, cell) - RATE) < error);
    t.true(near.length > 0.95 * GRID.cells.length, `${near.length} of ${GRID.cells.length}`);
  }
});

test('the season peaks in the month of the simulated peak, in July and not in the May of the built-in rates', (t) => {
  const peaks = [...GRID.cells.keys()].map((cell) => {
    const months = simulated.rates[SEVERE].map((month) => month[cell]);
    return months.indexOf(Math.max(...months));
  });
  t.true(peaks.filter((month) => month === 6).length > 0.99 * peaks.length);
});

test('without any storm date the rates are the built-in ones, all of them prior', (t) => {
  const none = ratesOf(0, []);
  for (const cell of [OKLAHOMA, 0, GRID.cells.length - 1]) {
    const expected = priorRates(GRID.cells[cell], ANY).reduce((sum, one) => sum + one);
    t.true(Math.abs(yearly(none, ANY, cell) - expected) < 1e-12);
    t.true(Math.abs(none.prior_share[cell] - 1) < 1e-12);
  }
});

test('one evening leaves the built-in rates in force, and years of data take over from them', (t) => {
  const evening = countHail(GRID, SEEN);
  evening.observe({ day_of_year: 325, share: 0.125 });
  evening.add({ cell: OKLAHOMA, day_of_year: 325, mm: 60 });
  t.true(hailRates(GRID, evening, SEEN).prior_share[OKLAHOMA] > 0.99);
  t.true(simulated.prior_share[OKLAHOMA] < 0.05);
  t.true(ratesOf(1, []).prior_share[OKLAHOMA] < 1);
});

test('a year without any hail lowers the rate, and where radar sees nothing it stays', (t) => {
  const blind = Float64Array.from(GRID.cells, (cell) => (roughDistanceKm(cell, GRID.cells[OKLAHOMA]) < 1500 ? 0 : 1));
  const [none, dry, unseen] = [ratesOf(0, []), ratesOf(5, []), ratesOf(5, [], blind)];
  t.true(yearly(dry, ANY, OKLAHOMA) < 0.3 * yearly(none, ANY, OKLAHOMA));
  t.is(yearly(unseen, ANY, OKLAHOMA), yearly(none, ANY, OKLAHOMA));
});

const totals = (rates: HailRates, k: number) =>
  [...GRID.cells.keys()].reduce((sum, cell) => sum + yearly(rates, k, cell), 0);

for (const [what, rate] of [
  ['much more', 3],
  ['much less', 0.2],
] as const)
  for (const years of [1, 2, 10])
    test(`${years} years with ${what} hail than is built in give a total within 10 % of what was counted`, (t) => {
      const days = [...poisson(rate, years, 150, 30)];
      const found = ratesOf(years, days);
      for (const k of [ANY, SEVERE]) {
        const share = (totals(found, k) * years) / days.length;
        t.true(Math.abs(share - 1) < 0.1, `${share}`);
      }
    });

test('an evening of hail hardly moves the total', (t) => {
  const evening = countHail(GRID, SEEN);
  evening.observe({ day_of_year: 150, share: 0.125 });
  for (const cell of GRID.cells.keys()) if (cell % 4 === 0) evening.add({ cell, day_of_year: 150, mm: 60 });
  const share = totals(hailRates(GRID, evening, SEEN), ANY) / totals(ratesOf(0, []), ANY);
  t.true(share > 1 && share < 3, `${share}`);
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
  for (const cell of conusCells().cells) {
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

test('classes that are not nested share their mean, and nested ones stay', (t) => {
  const classes = [4, 5, 1, 2].map((rate) => Float64Array.of(rate, 9 - rate));
  makeNested(classes);
  t.deepEqual(
    classes.map((rates) => [...rates]),
    [
      [4.5, 6],
      [4.5, 6],
      [1.5, 6],
      [1.5, 6],
    ],
  );
});

const hail = fc.record({
  cell: fc.integer({ min: 0, max: GRID.cells.length - 1 }),
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
