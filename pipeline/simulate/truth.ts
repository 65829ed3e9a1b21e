import { MS_PER_MIN, timestamp } from '../../schemas/time.ts';
import type { Scenario } from './scenario.ts';
import { type StormState, stormAt, stormsBetween } from './storms.ts';

/** True state of a storm at one instant, before the radar's effects. */
export type StormTruth = ReturnType<typeof truthOf>;

/** Storms at an instant, also outside the window, in the order of their birth slots. */
export function truthAt(scenario: Scenario, time_ms: number): StormTruth[] {
  return stormsBetween(scenario, time_ms, time_ms)
    .map((storm) => stormAt(storm, time_ms))
    .filter((state) => state.peak_mm > 0)
    .map((state) => truthOf(state, time_ms));
}

function truthOf(state: StormState, time_ms: number) {
  const { storm, lat, lon, direction_deg, speed_ms, peak_mm, age_min } = state;
  const { storm_id, kind, split_from, merges_into, core_km } = storm;
  return {
    storm_id,
    kind,
    split_from,
    merges_into,
    lat,
    lon,
    /** Direction towards which it moves, 0 north, clockwise. */
    direction_deg,
    speed_kmh: speed_ms * 3.6,
    /** MESH in its core before the radar's texture and range effects, mm. */
    peak_mm,
    core_km,
    age_min,
    remaining_min: (storm.birth_ms + storm.life_ms - time_ms) / MS_PER_MIN,
  };
}

const NAMES = ['storm_id', 'kind', 'split_from', 'merges_into'] as const;
/** Decimals of the numbers in the CSV. */
const DECIMALS = {
  lat: 4,
  lon: 4,
  direction_deg: 1,
  speed_kmh: 1,
  peak_mm: 1,
  core_km: 2,
  age_min: 1,
  remaining_min: 1,
} as const;

/** The truth of many scans as CSV, one row per scan and storm. */
export function truthCsv(scenario: Scenario, scan_times: readonly number[]): string {
  const numbers = Object.entries(DECIMALS) as [keyof typeof DECIMALS, number][];
  const rows = scan_times.flatMap((time_ms) =>
    truthAt(scenario, time_ms).map((storm) => [
      timestamp(time_ms),
      ...NAMES.map((name) => storm[name] ?? ''),
      ...numbers.map(([name, decimals]) => storm[name].toFixed(decimals)),
    ]),
  );
  const header = ['scan_time', ...NAMES, ...Object.keys(DECIMALS)];
  return `${[header, ...rows].map((row) => row.join(',')).join('\n')}\n`;
}
