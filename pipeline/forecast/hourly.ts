import { KM_PER_DEG } from '../../schemas/geo/constants.ts';
import {
  CONUS_CELL_COLS,
  CONUS_CELL_ROWS,
  CONUS_CELLS,
  GEOHASH4_LAT_DEG,
  GEOHASH4_LON_DEG,
  type Geohash4Cell,
} from '../../schemas/geo/geohash4.ts';
import type { Forecast, ForecastModel } from '../../schemas/tables/forecast.ts';
import { MS_PER_HOUR, scanId } from '../../schemas/time.ts';
import {
  conditionalSizeMm,
  hailGivenStorm,
  type Predictors,
  riskCategory,
  riskScore,
  SIZE_FROM,
  stormProbability,
} from './hail-law.ts';
import type { CellHour } from './model-cells.ts';

/** Runs that are blended. */
const MAX_RUNS = 3;
/** Largest age of a run relative to the newest that reaches an hour: the interval of three long HRRR runs. */
const MAX_LAG_MS = 12 * MS_PER_HOUR;
/** Standard deviation of the smoothing at the start and end of a run: position errors grow with the lead. */
const SIGMA_KM = { start: 40, end: 80, horizon_h: 48 } as const;
/** Weight of the climatology: growth per hour of lead, and maximum. */
const CLIMATOLOGY = { per_h: 1 / 60, most: 0.7 } as const;

interface ForecastRequest {
  readonly model: ForecastModel;
  /** Hours of one or more runs on `CONUS_CELLS`, in any order; all observed, or all simulated. */
  readonly hours: readonly CellHour[];
  /** The first row is of the full hour that ends after this instant. */
  readonly after: number;
  readonly count: number;
  /** Probability of hail >= 25 mm within 40 km in the hour that ends at `valid_time`; null where unknown. */
  readonly climatology: ((cell: Geohash4Cell, valid_time: number) => number | null) | null;
}

/**
 * One hour of the forecast at `CONUS_CELLS`, before the shift that makes it agree with its day. NaN where a value is null. Columns
 * take a tenth of the memory of rows, of which long runs have a million.
 */
export interface HourColumns {
  /** Columns that all cells share. */
  readonly facts: Pick<Forecast, 'model' | 'run_time' | 'runs' | 'valid_time' | 'data_source'>;
  /** 1 for cells that have a row. */
  readonly covered: Uint8Array;
  readonly probability: Float64Array;
  readonly size_mm: Float64Array;
  readonly ship: Float64Array;
}

/** The full hours that end after an instant. An hour that no run reaches is left out: nothing is extrapolated. */
export function* hourlyForecast(request: ForecastRequest): Generator<HourColumns> {
  const { hours, after, count } = request;
  const first = (Math.floor(after / MS_PER_HOUR) + 1) * MS_PER_HOUR;
  for (let k = 0; k < count; k++) {
    const runs = runsReaching(hours, first + k * MS_PER_HOUR);
    if (runs.length > 0) yield columnsOfHour(request, runs);
  }
}

/** Row of cell k with the probability to publish; the other columns follow from it. */
export function forecastRow(hour: HourColumns, k: number, hail_probability: number | null): Forecast {
  const { geohash4, lat, lon } = CONUS_CELLS[k];
  const model_size_mm = numberOrNull(hour.size_mm[k]);
  const ship = numberOrNull(hour.ship[k]);
  const row = { ...hour.facts, geohash4, lat, lon, ship, model_probability: modelProbability(hour, k), model_size_mm };
  if (hail_probability === null)
    return { ...row, hail_probability, estimated_size_mm: null, risk_category: null, risk_score: null };
  const estimated_size_mm = hail_probability < SIZE_FROM ? null : model_size_mm;
  return {
    ...row,
    hail_probability,
    estimated_size_mm,
    risk_category: riskCategory(hail_probability, ship),
    risk_score: riskScore(hail_probability, estimated_size_mm),
  };
}

/** The model's own probability at cell k; null where it has none. */
export function modelProbability({ probability }: HourColumns, k: number): number | null {
  return numberOrNull(probability[k]);
}

function numberOrNull(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}

/** An hour of one run with its neighbours in time. */
type RunHour = ReturnType<typeof runsReaching>[number];

/** The newest runs that reach an hour, newest first. */
function runsReaching(hours: readonly CellHour[], valid_time: number) {
  const reaching = hours
    .filter((hour) => hour.valid_time === valid_time && hour.run_time < valid_time)
    .sort((a, b) => b.run_time - a.run_time);
  const newest = reaching[0]?.run_time ?? 0;
  return reaching
    .filter(({ run_time }) => newest - run_time <= MAX_LAG_MS)
    .slice(0, MAX_RUNS)
    .map((at) => ({
      at,
      around: hours.filter(
        (hour) => hour.run_time === at.run_time && Math.abs(hour.valid_time - valid_time) <= MS_PER_HOUR,
      ),
    }));
}

function columnsOfHour({ model, climatology }: ForecastRequest, runs: readonly RunHour[]): HourColumns {
  const { run_time, valid_time, simulated, covered, largest } = runs[0].at;
  const lead_h = (valid_time - run_time) / MS_PER_HOUR;
  const raw = blend(runs);
  const sigma_km = SIGMA_KM.start + (SIGMA_KM.end - SIGMA_KM.start) * Math.min(1, lead_h / SIGMA_KM.horizon_h);
  const probabilities = gaussianMean(raw.probability, raw.weight, sigma_km);
  // Sizes are weighted by their probability, so that the mean is over hail alone.
  const sizes = gaussianMean(
    raw.size_mm,
    raw.size_mm.map((size_mm, k) => (size_mm > 0 ? raw.probability[k] : 0)),
    sigma_km,
  );
  const weight = Math.min(CLIMATOLOGY.most, lead_h * CLIMATOLOGY.per_h);
  const unknown = () => new Float64Array(CONUS_CELLS.length).fill(Number.NaN);
  const columns = { covered, probability: unknown(), size_mm: unknown(), ship: unknown() };
  for (const [k, cell] of CONUS_CELLS.entries()) {
    if (covered[k] === 0) continue;
    if (sizes[k] > 0) columns.size_mm[k] = rounded(sizes[k], 1);
    columns.ship[k] = rounded(knownAt(largest.ship, k) ?? Number.NaN, 2);
    if (raw.weight[k] === 0) continue;
    const forecast = probabilities[k];
    const climatological = climatology?.(cell, valid_time) ?? forecast;
    columns.probability[k] = rounded(forecast + weight * (climatological - forecast), 4);
  }
  const list = runs.map(({ at }) => scanId(at.run_time)).join(' ');
  const data_source = simulated ? 'simulated' : 'observed';
  return { facts: { model, run_time, runs: list, valid_time, data_source }, ...columns };
}

/** Mean of the runs' probabilities of hail, and mean of their sizes weighted by probability. */
function blend(runs: readonly RunHour[]) {
  const cells = CONUS_CELLS.length;
  const [probability, size_mm] = [new Float64Array(cells), new Float64Array(cells)];
  // 1 where at least one run has a probability. A size is 0 where it is unknown.
  const weight = new Uint8Array(cells);
  for (let k = 0; k < cells; k++) {
    let [count, sum, sized, sum_mm] = [0, 0, 0, 0];
    for (const run of runs) {
      const predictors = predictorsAt(run, k);
      const storm = stormProbability(predictors);
      if (storm === null) continue;
      const hail = storm * hailGivenStorm(predictors);
      const mm = conditionalSizeMm(predictors);
      count++;
      sum += hail;
      if (mm === null) continue;
      sized += hail;
      sum_mm += hail * mm;
    }
    if (count === 0) continue;
    weight[k] = 1;
    probability[k] = sum / count;
    size_mm[k] = sized > 0 ? sum_mm / sized : 0;
  }
  return { probability, size_mm, weight };
}

/** Predictors at cell k. Storms of the hours before and after count too, because models are early or late; CAPE and SHIP do not. */
function predictorsAt({ at, around }: RunHour, k: number): Predictors {
  const most = (name: 'reflectivity_dbz' | 'updraft_helicity_m2_s2' | 'hail_mm') => {
    let largest: number | null = null;
    for (const hour of around) {
      const value = knownAt(hour.largest[name], k);
      if (value !== null && (largest === null || value > largest)) largest = value;
    }
    return largest;
  };
  return {
    reflectivity_dbz: most('reflectivity_dbz'),
    updraft_helicity_m2_s2: most('updraft_helicity_m2_s2'),
    hail_mm: most('hail_mm'),
    cape_j_kg: knownAt(at.largest.cape_j_kg, k),
    ship: knownAt(at.largest.ship, k),
  };
}

function knownAt(values: Float32Array | null, k: number): number | null {
  return values === null || Number.isNaN(values[k]) ? null : values[k];
}

function rounded(value: number, decimals: number): number {
  return Math.round(value * 10 ** decimals) / 10 ** decimals;
}

/** Steps between `CONUS_CELLS`: between their rows, and along each row from the south. */
const ROW_KM = GEOHASH4_LAT_DEG * KM_PER_DEG;
const COL_KM = Array.from({ length: CONUS_CELL_ROWS }, (_, row) => {
  const { lat } = CONUS_CELLS[row * CONUS_CELL_COLS];
  return GEOHASH4_LON_DEG * KM_PER_DEG * Math.cos((lat * Math.PI) / 180);
});
/** Standard deviations at which a Gaussian is cut off. */
const REACH = 3;

/**
 * Gaussian mean of `values` around each of `CONUS_CELLS` with a standard deviation of `sigma_km`, along rows, then along columns.
 * `weights` are the weights of the cells, 0 for one without a value; the result is 0 where all weights are 0, and else
 * within the range of the values with a weight.
 */
export function gaussianMean(values: Float64Array, weights: ArrayLike<number>, sigma_km: number): Float64Array {
  const [rows, cols] = [CONUS_CELL_ROWS, CONUS_CELL_COLS];
  const kernels = COL_KM.map((col_km) => smoothingKernel(sigma_km / col_km));
  const down = smoothingKernel(sigma_km / ROW_KM);
  const spreadOut = (valueAt: (k: number) => number) => {
    const along = new Float64Array(values.length);
    const result = new Float64Array(values.length);
    for (const k of values.keys()) {
      const [value, row] = [valueAt(k), Math.floor(k / cols)];
      // Most cells are 0.
      if (value !== 0) spread(along, row * cols, 1, cols, k % cols, value, kernels[row]);
    }
    for (const [k, value] of along.entries())
      if (value !== 0) spread(result, k % cols, cols, rows, Math.floor(k / cols), value, down);
    return result;
  };
  const sums = spreadOut((k) => (weights[k] > 0 ? values[k] * weights[k] : 0));
  const masses = spreadOut((k) => weights[k]);
  return sums.map((sum, k) => (masses[k] > 0 ? sum / masses[k] : 0));
}

/** Weights of the centre and of its neighbours at 1, 2, ... steps on one side; both sides together sum to 1. */
function smoothingKernel(sigma_steps: number): Float64Array {
  const reach = Math.ceil(REACH * sigma_steps);
  const weights = Float64Array.from({ length: reach + 1 }, (_, step) => Math.exp(-0.5 * (step / sigma_steps) ** 2));
  const sum = weights.reduce((total, weight) => total + 2 * weight, -1);
  return weights.map((weight) => weight / sum);
}

/** Adds a value, weighted, to the cells around it on a line of `length` cells from `origin` in steps of `stride`. */
function spread(
  result: Float64Array,
  origin: number,
  stride: number,
  length: number,
  at: number,
  value: number,
  weights: Float64Array,
): void {
  const reach = weights.length - 1;
  for (let k = Math.max(0, at - reach); k <= Math.min(length - 1, at + reach); k++)
    result[origin + k * stride] += value * weights[Math.abs(k - at)];
}
