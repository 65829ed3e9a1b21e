import type { Companion, HailField, ScanInput } from '../../pipeline/grid.ts';
import { scanTimes } from '../../pipeline/simulate/evening.ts';
import {
  MISSING,
  SIMULATED_PRODUCTS,
  type SimulatedProduct,
  type SimulatedScan,
  simulateScan,
} from '../../pipeline/simulate/fields.ts';
import { plainsScenario, type Scenario } from '../../pipeline/simulate/weather.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';
import { type BenchCase, casesOf } from './nowcast-cases.ts';
import { SCAN_AGE_MAX_MIN } from './nowcast-frames.ts';

const DAY_TYPES: readonly Scenario['day_type'][] = ['pulse', 'marginal', 'supercell', 'qlcs', 'outbreak'];
/** An evening: storms gather a past, cases are taken, and the longest lead comes true. */
const PAST_MIN = 40;
const CASES_MIN = 65;
const CASE_EVERY_MIN = 10;
const TIMES_PER_EVENING = 1 + Math.floor(CASES_MIN / CASE_EVERY_MIN);
const LONGEST_LEAD_MIN = 45;
const FIRST_EVENING_MS = Date.UTC(2025, 4, 1, 21);
/** Golden ratio less one: its multiples spread over 0..1 evenly, whatever their number. */
const GOLDEN = 0.6180339887;

/** Cases of so many simulated evenings, with seeds from this one on; every evening is a block. */
export function simulatedCases(seed: number, evenings: number): BenchCase[] {
  return Array.from({ length: evenings }, (_, evening) => eveningCases(seed + evening, evening)).flat();
}

function eveningCases(seed: number, evening: number): BenchCase[] {
  const scenario = {
    ...plainsScenario(seed, WSR88D),
    day_type: DAY_TYPES[evening % DAY_TYPES.length],
    window: { row0: 1800, col0: 2900, rows: 400, cols: 500 },
  };
  const start_ms = FIRST_EVENING_MS + evening * 24 * 60 * MS_PER_MIN;
  const last_ms = start_ms + (PAST_MIN + CASES_MIN) * MS_PER_MIN;
  const end_ms = last_ms + (SCAN_AGE_MAX_MIN + LONGEST_LEAD_MIN + 3) * MS_PER_MIN;
  let times = 0;
  return casesOf({
    frames: scanTimes(scenario.seed, start_ms, end_ms)
      .values()
      .map((time_ms) => scanInput(simulateScan(scenario, time_ms)))
      .map((input) => ({ input, pattern: input.mesh })),
    evening: String(evening),
    ages_min: (time_ms) => {
      if (time_ms < start_ms + (PAST_MIN + times * CASE_EVERY_MIN) * MS_PER_MIN || time_ms > last_ms) return [];
      const age_min = SCAN_AGE_MAX_MIN * (((TIMES_PER_EVENING * evening + times) * GOLDEN) % 1);
      times += 1;
      return [age_min];
    },
    between: (now_ms) => scanInput(simulateScan(scenario, now_ms)),
    blockOf: () => String(evening),
  });
}

/** Product of each companion, and how many of its stored steps make one unit. */
const COMPANION_OF = {
  posh_pct: { product: 'POSH', per_unit: 10 },
  vil_kg_m2: { product: 'VIL', per_unit: 10 },
  echo_top_18_km: { product: 'EchoTop_18', per_unit: 1000 },
  echo_top_50_km: { product: 'EchoTop_50', per_unit: 1000 },
  max_reflectivity_dbz: { product: 'MergedReflectivityQCComposite', per_unit: 10 },
} satisfies Partial<Record<Companion, { product: SimulatedProduct; per_unit: number }>>;

/** Input of the pipeline for a simulated scan, equal to writing and reading its files. */
function scanInput(scan: SimulatedScan): ScanInput {
  const { scan_time, index, values } = scan;
  const withHail = Uint32Array.from(index.keys().filter((n) => values.MESH[n] > 0));
  const companion = (name: keyof typeof COMPANION_OF) => {
    const { product, per_unit }: { product: SimulatedProduct; per_unit: number } = COMPANION_OF[name];
    return Float32Array.from(withHail, (n) => {
      const value = values[product][n];
      return value === MISSING ? Number.NaN : value / per_unit;
    });
  };
  return {
    scan_time,
    simulated: true,
    mesh: hailField(scan, withHail),
    companions: {
      posh_pct: companion('posh_pct'),
      vil_kg_m2: companion('vil_kg_m2'),
      echo_top_18_km: companion('echo_top_18_km'),
      echo_top_50_km: companion('echo_top_50_km'),
      max_reflectivity_dbz: companion('max_reflectivity_dbz'),
    },
    uncovered: null,
    probsevere: null,
    products: SIMULATED_PRODUCTS,
  };
}

function hailField({ window, index, values }: SimulatedScan, withHail: Uint32Array): HailField {
  const rowStart = new Uint32Array(window.rows + 1);
  for (const n of withHail) rowStart[Math.floor(index[n] / window.cols) + 1]++;
  for (let row = 0; row < window.rows; row++) rowStart[row + 1] += rowStart[row];
  return {
    window,
    rowStart,
    col: Uint16Array.from(withHail, (n) => window.col0 + (index[n] % window.cols)),
    tenths: Uint16Array.from(withHail, (n) => values.MESH[n]),
    covered_px: window.rows * window.cols,
    uncovered_px: 0,
  };
}
