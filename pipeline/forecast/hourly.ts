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
import { PipelineError } from '../error.ts';
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
/** Runs this much older than the newest that reaches an hour take no part: between them lie three long runs of HRRR. */
const MAX_LAG_MS = 12 * MS_PER_HOUR;
/** Standard deviation of the smoothing, from the start of the run to its end: forecasts lose their places with time. */
const SIGMA_KM = { start: 40, end: 80, horizon_h: 48 } as const;
/** Weight of the climatology grows by 1/60 an hour, to at most this. */
const CLIMATOLOGY = { per_h: 1 / 60, most: 0.7 } as const;

/** Usual probability of hail >= 25 mm within 40 km in the hour that ends at `valid_time`; null where it is not known. */
export type HourlyClimatology = (cell: Geohash4Cell, valid_time: number) => number | null;

export interface HourlyForecast {
  readonly model: ForecastModel;
  /** Hours of one or more runs on `CONUS_CELLS`, in any order; all observed, or all simulated. */
  readonly hours: readonly CellHour[];
  /** The first hour wanted is the one that ends after this instant. */
  readonly after: number;
  readonly count: number;
  readonly climatology: HourlyClimatology | null;
}

/**
 * Rows of each hour from the first full hour that ends after `after`, hour by hour, for cells the model covers.
 * An hour that no run reaches has no rows: nothing is extrapolated. Throws PipelineError when observed and simulated runs
 * are mixed.
 */
export function* hourlyForecast(ask: HourlyForecast): Generator<Forecast[]> {
  const { hours, after, count } = ask;
  if (new Set(hours.map(({ simulated }) => simulated)).size > 1)
    throw new PipelineError('forecast', ask.model, 'observed and simulated runs together, expected one kind');
  const first = (Math.floor(after / MS_PER_HOUR) + 1) * MS_PER_HOUR;
  for (let k = 0; k < count; k++) {
    const runs = runsReaching(hours, first + k * MS_PER_HOUR);
    if (runs.length > 0) yield rowsOfHour(ask, runs);
  }
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

function rowsOfHour({ model, climatology }: HourlyForecast, runs: readonly RunHour[]): Forecast[] {
  const [newest] = runs as readonly [RunHour];
  const { run_time, valid_time, simulated, covered, largest } = newest.at;
  const lead_h = (valid_time - run_time) / MS_PER_HOUR;
  const raw = blend(runs);
  const sigma_km = SIGMA_KM.start + (SIGMA_KM.end - SIGMA_KM.start) * Math.min(1, lead_h / SIGMA_KM.horizon_h);
  const probabilities = gaussianMean(raw.probability, raw.weight, LATTICE, sigma_km);
  // Sizes spread with the probability that they belong to, so that a mean is taken over hail alone.
  const sizes = gaussianMean(
    raw.size_mm,
    raw.size_mm.map((size_mm, k) => (size_mm > 0 ? raw.probability[k] : 0)),
    LATTICE,
    sigma_km,
  );
  const weight = Math.min(CLIMATOLOGY.most, lead_h * CLIMATOLOGY.per_h);
  const shared = {
    model,
    run_time,
    runs: runs.map(({ at }) => scanId(at.run_time)).join(' '),
    valid_time,
    data_source: simulated ? 'simulated' : 'observed',
  } as const;
  return CONUS_CELLS.flatMap((cell, k): Forecast[] => {
    if (covered[k] === 0) return [];
    const ship = knownAt(largest.ship, k);
    const usual = climatology?.(cell, valid_time) ?? null;
    const forecast = raw.weight[k] === 0 ? null : probabilities[k];
    const hail_probability =
      forecast === null ? null : rounded(usual === null ? forecast : forecast + weight * (usual - forecast), 4);
    const { geohash4, lat, lon } = cell;
    return [
      {
        ...shared,
        geohash4,
        lat,
        lon,
        ship: ship === null ? null : rounded(ship, 2),
        ...riskOf(hail_probability, sizes[k] > 0 ? rounded(sizes[k], 1) : null, ship),
      },
    ];
  });
}

type Risk = Pick<Forecast, 'hail_probability' | 'estimated_size_mm' | 'risk_category' | 'risk_score'>;

function riskOf(hail_probability: number | null, size_mm: number | null, ship: number | null): Risk {
  if (hail_probability === null)
    return { hail_probability, estimated_size_mm: null, risk_category: null, risk_score: null };
  const estimated_size_mm = publishedSize(hail_probability, size_mm);
  return {
    hail_probability,
    estimated_size_mm,
    risk_category: riskCategory(hail_probability, ship),
    risk_score: riskScore(hail_probability, estimated_size_mm),
  };
}

interface Blend {
  readonly probability: Float64Array;
  /** Size given hail; 0 where there is none. */
  readonly size_mm: Float64Array;
  /** 1 where at least one run says something. */
  readonly weight: Uint8Array;
}

/** Mean over the runs of each one's own chance of hail, and the mean of their sizes, each counted by its chance. */
function blend(runs: readonly RunHour[]): Blend {
  const cells = CONUS_CELLS.length;
  const result = {
    probability: new Float64Array(cells),
    size_mm: new Float64Array(cells),
    weight: new Uint8Array(cells),
  };
  for (let k = 0; k < cells; k++) {
    let saying = 0;
    let sum = 0;
    let sized = 0;
    let sum_mm = 0;
    for (const run of runs) {
      const predictors = predictorsAt(run, k);
      const storm = stormProbability(predictors);
      if (storm === null) continue;
      const hail = storm * hailGivenStorm(predictors);
      const size_mm = conditionalSizeMm(predictors);
      saying++;
      sum += hail;
      if (size_mm === null) continue;
      sized += hail;
      sum_mm += hail * size_mm;
    }
    if (saying === 0) continue;
    result.weight[k] = 1;
    result.probability[k] = sum / saying;
    result.size_mm[k] = sized > 0 ? sum_mm / sized : 0;
  }
  return result;
}

/** Storms are looked for an hour before and after, because models are early or late; the air is that of the hour itself. */
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

const KM_PER_DEG = 111.2;

/** The cells as a lattice for smoothing, rows from south. */
const LATTICE: CellLattice = {
  rows: CONUS_CELL_ROWS,
  cols: CONUS_CELL_COLS,
  row_km: GEOHASH4_LAT_DEG * KM_PER_DEG,
  col_km: Array.from({ length: CONUS_CELL_ROWS }, (_, row) => {
    const lat = CONUS_CELLS[row * CONUS_CELL_COLS]?.lat ?? 0;
    return GEOHASH4_LON_DEG * KM_PER_DEG * Math.cos((lat * Math.PI) / 180);
  }),
};
