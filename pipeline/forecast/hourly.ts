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
  publishedSize,
  riskCategory,
  riskScore,
  stormProbability,
} from './hail-law.ts';
import type { CellHour } from './model-cells.ts';

import { type CellLattice, gaussianMean } from './smooth.ts';

/** Runs that are blended. */
const MAX_RUNS = 3;
/** Largest age of a run relative to the newest that reaches an hour: the interval of three long HRRR runs. */
const MAX_LAG_MS = 12 * MS_PER_HOUR;
/** Standard deviation of the smoothing at the start and end of a run: position errors grow with the lead. */
const SIGMA_KM = { start: 40, end: 80, horizon_h: 48 } as const;
/** Weight of the climatology: growth per hour of lead, and maximum. */
const CLIMATOLOGY = { per_h: 1 / 60, most: 0.7 } as const;

/** Climatological probability of hail >= 25 mm within 40 km in the hour that ends at `valid_time`; null where unknown. */
export type HourlyClimatology = (cell: Geohash4Cell, valid_time: number) => number | null;

export interface ForecastRequest {
  readonly model: ForecastModel;
  /** Hours of one or more runs on `CONUS_CELLS`, in any order; all observed, or all simulated. */
  readonly hours: readonly CellHour[];
  /** The first row is of the full hour that ends after this instant. */
  readonly after: number;
  readonly count: number;
  readonly climatology: HourlyClimatology | null;
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
  const estimated_size_mm = publishedSize(hail_probability, model_size_mm);
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
interface RunHour {
  readonly at: CellHour;
  readonly around: readonly CellHour[];
}

/** The newest runs that reach an hour, newest first. */
function runsReaching(hours: readonly CellHour[], valid_time: number): RunHour[] {
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
  const probabilities = gaussianMean(raw.probability, raw.weight, LATTICE, sigma_km);
  // Sizes are weighted by their probability, so that the mean is over hail alone.
  const sizes = gaussianMean(
    raw.size_mm,
    raw.size_mm.map((size_mm, k) => (size_mm > 0 ? raw.probability[k] : 0)),
    LATTICE,
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

interface Blend {
  readonly probability: Float64Array;
  /** Size given hail; 0 where unknown. */
  readonly size_mm: Float64Array;
  /** 1 where at least one run has a probability. */
  readonly weight: Uint8Array;
}

/** Mean of the runs' probabilities of hail, and mean of their sizes weighted by probability. */
function blend(runs: readonly RunHour[]): Blend {
  const cells = CONUS_CELLS.length;
  const [probability, size_mm] = [new Float64Array(cells), new Float64Array(cells)];
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

/** `CONUS_CELLS` as a lattice for smoothing, rows from the south. */
const LATTICE: CellLattice = {
  rows: CONUS_CELL_ROWS,
  cols: CONUS_CELL_COLS,
  row_km: GEOHASH4_LAT_DEG * KM_PER_DEG,
  col_km: Array.from({ length: CONUS_CELL_ROWS }, (_, row) => {
    const { lat } = CONUS_CELLS[row * CONUS_CELL_COLS];
    return GEOHASH4_LON_DEG * KM_PER_DEG * Math.cos((lat * Math.PI) / 180);
  }),
};
