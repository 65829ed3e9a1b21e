import { MONTHS } from '../../schemas/risk.ts';
import { priorRates } from './climatology-prior.ts';
import { ANY, CLASS_MIN_MM, GIANT, type HailCounts, SIGNIFICANT } from './hail-counts.ts';
import type { RiskCell, RiskGrid } from './risk-cells.ts';
import { diskKernel, gaussianKernel, type Kernel, spread, sumsAround, weightsAround } from './smoothing.ts';

/** Smoothing over cells: the first standard deviation that finds enough event days around a cell, else the last, km. */
const SPREAD_SD_KM = [25, 60, 120];
/** Event days that are enough. */
const ENOUGH_EVENT_DAYS = 30;
/** Neighbourhood whose rate a cell is drawn to, km. */
const NEIGHBOURHOOD_KM = 200;
/** Shape of both gamma priors: the rate of the neighbourhood for a cell, and the built-in one for the neighbourhood. */
const PRIOR_SHAPE = 4;
/** Places of a neighbourhood that see different storms: so much more is known of it than of one place. */
const NEIGHBOURHOOD_PLACES = 20;
/** Years of data that say as much about the total of all cells as the priors do: thousands of event days outweigh any judgement. */
const TOTAL_PRIOR_YEARS = 0.02;
/** With fewer days of giant hail around a cell its rate follows from significant hail by an exponential tail. */
const GIANT_EVENT_DAYS_MIN = 3;
/** Length of that tail, mm: 5 on a marginal day, longer on the days that bring giant hail. */
const TAIL_MM = 13;
/** Days with giant hail for one with significant hail by that tail. */
const GIANT_SHARE = Math.exp(-(CLASS_MIN_MM[GIANT] - CLASS_MIN_MM[SIGNIFICANT]) / TAIL_MM);

/** Expected days with hail. */
export interface HailRates {
  /** By class, month and cell. */
  readonly rates: readonly (readonly Float64Array[])[];
  /** Share of the built-in rate in the yearly rate of the first class, 0..1, by cell. */
  readonly prior_share: Float64Array;
}

/** Counts of one class, smoothed: what each cell sees of its own surroundings and of its neighbourhood. */
interface Smoothed {
  /** Event days around each cell, and the share of the cells there that radar sees. */
  readonly found: Float64Array;
  readonly exposed: Float64Array;
  /** Event days of a cell of the neighbourhood in each month of the year, and the share of its cells that radar sees. */
  readonly monthly: readonly Float64Array[];
  readonly seen: Float64Array;
}

/**
 * Rates of days with hail from what was counted.
 *
 * The neighbourhood of 200 km says how often it hails and in which months, drawn to the built-in rate where little was observed.
 * What was counted around the cell itself says by how much it differs: (k + n) / (k + expected), which times the neighbourhood's
 * rate is the mean of the gamma posterior, (k + n) / (k / rate + years). Rates are smoothed, never probabilities.
 */
export function hailRates(grid: RiskGrid, counts: HailCounts, available: Float64Array): HailRates {
  const years = counts.years();
  const smooth = smoother(grid, available);
  const classes = CLASS_MIN_MM.map((_, k) => {
    const smoothed = smooth(counts.days[k], counts.monthly[k]);
    const posterior = posteriorRates(grid.cells, years, smoothed, (cell) => builtIn(cell, k));
    keepTotal(posterior.rates, years, available, counts.days[k]);
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

function builtIn(cell: RiskCell, k: number): number[] {
  return k === GIANT ? priorRates(cell, SIGNIFICANT).map((rate) => GIANT_SHARE * rate) : priorRates(cell, k);
}

/** Smooths the counts of a class; what does not depend on the class is worked out once. */
function smoother(grid: RiskGrid, available: Float64Array) {
  const disk = diskKernel(grid, NEIGHBOURHOOD_KM);
  const neighbours = weightsAround(grid, disk);
  const meanAround = (values: Float64Array) =>
    sumsAround(grid, disk, values).map((sum, cell) => sum / neighbours[cell]);
  const seen = meanAround(available);
  const kernels = SPREAD_SD_KM.map((sd_km) => gaussianKernel(grid, sd_km));
  const masses = kernels.map((kernel) => weightsAround(grid, kernel));
  return (days: Float64Array, monthly: readonly Float64Array[]): Smoothed => {
    const choice = chooseKernels(grid, kernels, days);
    return {
      found: spread(grid, kernels, masses, choice, days),
      exposed: spread(grid, kernels, masses, choice, available),
      monthly: monthly.map(meanAround),
      seen,
    };
  };
}

/** For each cell the first kernel that finds enough event days around it; else the last. */
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
  { found, exposed, monthly, seen }: Smoothed,
  priorOf: (cell: RiskCell) => readonly number[],
) {
  const rates = MONTHS.map(() => new Float64Array(cells.length));
  const prior_share = new Float64Array(cells.length);
  for (const [index, cell] of cells.entries()) {
    let [expected, all, ofPrior] = [0, 0, 0];
    for (const [month, prior] of priorOf(cell).entries()) {
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
 * Brings the event days that the rates expect where radar sees to those that were counted, all by one factor: priors move days
 * between places and months, and must not add or take any. With little data the total is not known either, and nearly stays.
 */
function keepTotal(
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
  // One event day more on both sides: a year without any hail makes no rate 0.
  const factor = ((counted + 1) / (expected + 1)) ** trust;
  for (const byCell of rates) for (const cell of byCell.keys()) byCell[cell] *= factor;
}

/** Makes each class at most as frequent as the one before: those that are not share their mean (isotonic regression). */
export function makeNested(classes: readonly Float64Array[]): void {
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
