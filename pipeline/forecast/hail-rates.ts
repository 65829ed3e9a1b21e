import regions from '../../data/reference/hail-regions.json' with { type: 'json' };
import { roughDistanceKm } from '../../schemas/geo/distance.ts';
import { GEOHASH4_LON_DEG } from '../../schemas/geo/geohash4.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { MONTHS } from '../../schemas/risk.ts';
import { ANY, CLASS_MIN_MM, GIANT, type HailCounts, SIGNIFICANT } from './hail-counts.ts';
import type { RiskCell, RiskGrid } from './risk-grid.ts';

/** Smoothing over cells: the first standard deviation that finds enough event days around a cell, else the last, km. */
const SPREAD_SD_KM = [25, 60, 120];
/** Event days around a cell that count as enough. */
const ENOUGH_EVENT_DAYS = 30;
/** Radius of the neighbourhood to whose rate a cell is shrunk, km. */
const NEIGHBOURHOOD_KM = 200;
/** Shape of both gamma priors: the rate of the neighbourhood for a cell, and the built-in one for the neighbourhood. */
const PRIOR_SHAPE = 4;
/** Independent places of a neighbourhood: its counts weigh this many times those of one place. */
const NEIGHBOURHOOD_PLACES = 20;
/** Years of data at which counts and priors weigh the same in the total of all cells: thousands of event days outweigh judgement. */
const TOTAL_PRIOR_YEARS = 0.02;
/** With fewer days of giant hail around a cell its rate follows from significant hail by an exponential tail. */
const GIANT_EVENT_DAYS_MIN = 3;
/** Length of that tail, mm: 5 on a marginal day, longer on the days that bring giant hail. */
const TAIL_MM = 13;
/** Days with giant hail for one with significant hail by that tail. */
const GIANT_SHARE = Math.exp(-(CLASS_MIN_MM[GIANT] - CLASS_MIN_MM[SIGNIFICANT]) / TAIL_MM);

/**
 * Days with hail >= 19 mm by radar within 10 km for a day with reported hail in a square of 49 km. Judgement: such a square meets
 * about five times as many storms, and radar sees more of them than are reported.
 */
const DAYS_PER_REPORTED_DAY = 0.25;
/** Days with any, severe and significant hail for one with hail >= 19 mm. 6.6 % of reports are of 2 inches and more. */
const CLASS_SHARES = [1, 0.4, 0.05];

/** Expected days with hail in a year. */
export interface HailRates {
  /** By class, month and cell. */
  readonly rates: readonly (readonly Float64Array[])[];
  /** Share of the built-in rate in the yearly rate of the first class, 0..1, by cell. */
  readonly prior_share: Float64Array;
}

/**
 * Rates of days with hail from the counts.
 *
 * The neighbourhood of 200 km gives a rate for each month, shrunk to the built-in rate where little was observed. The counts
 * around the cell scale that rate by (k + n) / (k + expected); the product is the mean of the gamma posterior,
 * (k + n) / (k / rate + years). Rates are smoothed, never probabilities.
 */
export function hailRates(grid: RiskGrid, counts: HailCounts, available: Float64Array): HailRates {
  const years = counts.years();
  const smooth = smoother(grid, available);
  const classes = CLASS_MIN_MM.map((_, k) => {
    const smoothed = smooth(counts.days[k], counts.monthly[k]);
    const posterior = posteriorRates(grid.cells, years, smoothed, k);
    scaleToTotal(posterior.rates, years, available, counts.days[k]);
    return { ...smoothed, ...posterior };
  });
  const [significant, giant] = [classes[SIGNIFICANT], classes[GIANT]];
  for (const [cell, days] of giant.found.entries())
    if (days < GIANT_EVENT_DAYS_MIN)
      for (const [month, rates] of giant.rates.entries()) rates[cell] = GIANT_SHARE * significant.rates[month][cell];
  const rates = classes.map((one) => one.rates);
  for (const month of MONTHS.keys()) makeNested(rates.map((byMonth) => byMonth[month]));
  return { rates, prior_share: classes[ANY].prior_share };
}

/** Built-in days with hail of a class in each month at a place, used while little was observed. */
export function priorRates(place: Position, hail_class: number): number[] {
  const { reported_days, months } = hailRegion(place);
  const [share, tail] = hail_class === GIANT ? [CLASS_SHARES[SIGNIFICANT], GIANT_SHARE] : [CLASS_SHARES[hail_class], 1];
  return months.map((month) => tail * share * DAYS_PER_REPORTED_DAY * reported_days * month);
}

/** Function that smooths the counts of a class. Kernels and weights are computed once for all classes. */
function smoother(grid: RiskGrid, available: Float64Array) {
  const disk = kernelOf(grid, NEIGHBOURHOOD_KM, () => 1);
  const neighbours = weightSums(grid, disk);
  const meanAround = (values: Float64Array) =>
    sumsAround(grid, disk, values).map((sum, cell) => sum / neighbours[cell]);
  const seen = meanAround(available);
  const kernels = SPREAD_SD_KM.map((sd_km) => gaussianKernel(grid, sd_km));
  const masses = kernels.map((kernel) => weightSums(grid, kernel));
  return (days: Float64Array, monthly: readonly Float64Array[]) => {
    const choice = chooseKernels(grid, kernels, days);
    return {
      /** Event days around each cell, and the share of the cells there with radar coverage. */
      found: spread(kernels, masses, choice, days),
      exposed: spread(kernels, masses, choice, available),
      /** Mean event days of the cells of the neighbourhood by month, and the share of these cells with radar coverage. */
      monthly: monthly.map(meanAround),
      seen,
    };
  };
}

/** Index of the first kernel that finds enough event days around each cell; else of the last. */
function chooseKernels(grid: RiskGrid, kernels: readonly Kernel[], days: Float64Array): Uint8Array {
  const last = kernels.length - 1;
  const choice = new Uint8Array(grid.cells.length).fill(last);
  for (let k = last - 1; k >= 0; k--)
    for (const [cell, found] of sumsAround(grid, kernels[k], days).entries())
      if (found >= ENOUGH_EVENT_DAYS) choice[cell] = k;
  return choice;
}

function posteriorRates(
  cells: readonly RiskCell[],
  years: Float64Array,
  { found, exposed, monthly, seen }: ReturnType<ReturnType<typeof smoother>>,
  hail_class: number,
) {
  const rates = MONTHS.map(() => new Float64Array(cells.length));
  const prior_share = new Float64Array(cells.length);
  for (const [index, cell] of cells.entries()) {
    let [expected, all, ofPrior] = [0, 0, 0];
    for (const [month, prior] of priorRates(cell, hail_class).entries()) {
      const prior_years = PRIOR_SHAPE / prior;
      const data_years = NEIGHBOURHOOD_PLACES * years[month] * seen[index];
      const data_days = NEIGHBOURHOOD_PLACES * monthly[month][index];
      const rate = (PRIOR_SHAPE + data_days) / (prior_years + data_years);
      rates[month][index] = rate;
      expected += rate * years[month] * exposed[index];
      all += rate;
      ofPrior += (rate * prior_years) / (prior_years + data_years);
    }
    const local = (PRIOR_SHAPE + found[index]) / (PRIOR_SHAPE + expected);
    for (const byCell of rates) byCell[index] *= local;
    prior_share[index] = (ofPrior / all) * (PRIOR_SHAPE / (PRIOR_SHAPE + expected));
  }
  return { rates, prior_share };
}

/**
 * Scales all rates by one factor so that the event days they expect in covered cells are as many as were counted: priors may
 * move days between places and months, but not change their number. With little data the factor stays near 1.
 */
function scaleToTotal(
  rates: readonly Float64Array[],
  years: Float64Array,
  available: Float64Array,
  days: Float64Array,
): void {
  const counted = days.reduce((sum, one) => sum + one, 0);
  let expected = 0;
  for (const [month, byCell] of rates.entries())
    for (const [cell, rate] of byCell.entries()) expected += rate * years[month] * available[cell];
  const data_years = years.reduce((sum, one) => sum + one, 0) / MONTHS.length;
  const trust = data_years / (data_years + TOTAL_PRIOR_YEARS);
  // One event day is added on both sides, so that a year without hail does not make the rates 0.
  const factor = ((counted + 1) / (expected + 1)) ** trust;
  for (const byCell of rates) for (const cell of byCell.keys()) byCell[cell] *= factor;
}

/** Makes each class at most as frequent as the one before it: violators get their mean (isotonic regression). */
function makeNested(classes: readonly Float64Array[]): void {
  for (const cell of classes[0].keys()) {
    if (classes.every((rates, k) => k === 0 || rates[cell] <= classes[k - 1][cell])) continue;
    const pools: { mean: number; size: number }[] = [];
    for (const rates of classes) {
      let pool = { mean: rates[cell], size: 1 };
      for (let before = pools.at(-1); before !== undefined && before.mean < pool.mean; before = pools.at(-1)) {
        const size = before.size + pool.size;
        pool = { mean: (before.mean * before.size + pool.mean * pool.size) / size, size };
        pools.pop();
      }
      pools.push(pool);
    }
    const means = pools.flatMap(({ mean, size }) => Array.from({ length: size }, () => mean));
    for (const [k, rates] of classes.entries()) rates[cell] = means[k];
  }
}

/** Standard deviation of the Gaussian by which regions are weighted around a place, km: their middles lie 200 to 900 km apart. */
const REGION_SD_KM = 200;

/**
 * Days with reported hail in a year at a place of the contiguous United States, and the share of each month in them, January first; the
 * twelve sum to 1. A mean of the regions of the table, weighted by how near their middles are.
 */
export function hailRegion(place: Position) {
  const distances2 = regions.map((region) => (roughDistanceKm(place, region) / REGION_SD_KM) ** 2);
  // Relative to the nearest, so that a place far from all of them has the values of that one, and not 0 / 0.
  const nearest2 = Math.min(...distances2);
  const weights = distances2.map((distance2) => Math.exp((nearest2 - distance2) / 2));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const mean = (take: (region: (typeof regions)[number]) => number) =>
    regions.reduce((sum, region, k) => sum + weights[k] * take(region), 0) / total;
  return {
    reported_days: mean((region) => region.reported_days),
    months: MONTHS.map((_, month) => mean(({ months }) => months[month])),
  };
}

/** Standard deviations at which a Gaussian is cut off; its weight there is 1 %. */
const CUT_SD = 3;

/** Calls `weigh` for every cell within reach of a cell, itself included, with a weight by distance. */
type Kernel = (cell: number, weigh: (other: number, weight: number) => void) => void;

/** Gaussian kernel of weight 1 at the centre. */
export function gaussianKernel(grid: RiskGrid, sd_km: number): Kernel {
  return kernelOf(grid, CUT_SD * sd_km, (km) => Math.exp(-(km ** 2) / (2 * sd_km ** 2)));
}

function kernelOf({ cells, cols, index }: RiskGrid, reach_km: number, weightAt: (km: number) => number): Kernel {
  const lats = new Map(cells.map(({ row, lat }) => [row, lat]));
  // Weights between two rows, by distance in columns.
  const weightsBetween = (lat: number, other_lat: number) => {
    const weights: number[] = [];
    for (let apart = 0; ; apart++) {
      const km = roughDistanceKm({ lat, lon: 0 }, { lat: other_lat, lon: apart * GEOHASH4_LON_DEG });
      if (km > reach_km) return weights;
      weights.push(weightAt(km));
    }
  };
  const lines = new Map(
    Array.from(lats, ([row, lat]) => {
      const all = Array.from(lats, ([other_row, other]) => ({ other_row, weights: weightsBetween(lat, other) }));
      return [row, all.filter(({ weights }) => weights.length > 0)] as const;
    }),
  );
  return (cell, weigh) => {
    const { row, col } = cells[cell];
    for (const { other_row, weights } of lines.get(row) ?? []) {
      const last = Math.min(cols - 1, col + weights.length - 1);
      for (let at = Math.max(0, col - weights.length + 1); at <= last; at++) {
        const other = index[other_row * cols + at];
        if (other >= 0) weigh(other, weights[Math.abs(at - col)]);
      }
    }
  };
}

/** Weighted sum of the values around each cell. */
export function sumsAround({ cells }: RiskGrid, kernel: Kernel, values: Float64Array): Float64Array {
  const sums = new Float64Array(cells.length);
  for (const [cell, value] of values.entries())
    if (value !== 0)
      kernel(cell, (other, weight) => {
        sums[other] += weight * value;
      });
  return sums;
}

/** Sum of the weights around each cell. */
export function weightSums(grid: RiskGrid, kernel: Kernel): Float64Array {
  return sumsAround(grid, kernel, new Float64Array(grid.cells.length).fill(1));
}

/**
 * Values spread over the surrounding cells, those of each cell with its own kernel: `choice` is the index of the kernel in
 * `kernels`, whose `weightSums` are `masses`. Conserves the sum over the grid.
 */
export function spread(
  kernels: readonly Kernel[],
  masses: readonly Float64Array[],
  choice: Uint8Array,
  values: Float64Array,
): Float64Array {
  const spreadOut = new Float64Array(values.length);
  for (const [cell, value] of values.entries()) {
    if (value === 0) continue;
    const chosen = choice[cell];
    const share = value / masses[chosen][cell];
    kernels[chosen](cell, (other, weight) => {
      spreadOut[other] += weight * share;
    });
  }
  return spreadOut;
}
