import { simulateScan } from '../../pipeline/simulate/fields.ts';
import { scanInput } from '../../pipeline/simulate/scan-input.ts';
import { scanTimes } from '../../pipeline/simulate/scan-times.ts';
import { type DayType, defaultScenario } from '../../pipeline/simulate/scenario.ts';
import { LATTICES } from '../../schemas/geo/lattice.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';
import { type BenchCase, casesOf } from './nowcast-cases.ts';
import { SCAN_AGE_MAX_MIN } from './nowcast-frames.ts';

const DAY_TYPES: readonly DayType[] = ['pulse', 'marginal', 'supercell', 'qlcs', 'outbreak'];
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
    ...defaultScenario(seed, WSR88D),
    day_type: DAY_TYPES[evening % DAY_TYPES.length] as DayType,
    window: { lattice: LATTICES.conus, row0: 1800, col0: 2900, rows: 400, cols: 500 },
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
