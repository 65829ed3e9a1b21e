import { MS_PER_MIN, timestamp } from '../../schemas/time.ts';
import type { Scenario } from './scenario.ts';
import { type StormKind, type StormState, stormAt, stormsBetween } from './storms.ts';

/** True state of a storm at one instant, before the radar's effects. */
export interface StormTruth {
  readonly storm_id: string;
  readonly kind: StormKind;
  readonly split_from: string | null;
  readonly merges_into: string | null;
  readonly lat: number;
  readonly lon: number;
  /** Direction towards which it moves, 0 north, clockwise. */
  readonly direction_deg: number;
  readonly speed_kmh: number;
  /** MESH in its core before the radar's texture and range effects, mm. */
  readonly peak_mm: number;
  readonly core_km: number;
  readonly age_min: number;
  readonly remaining_min: number;
}

/** Storms at an instant, also outside the window, in the order of their birth slots. */
export function truthAt(scenario: Scenario, time_ms: number): StormTruth[] {
  return stormsBetween(scenario, time_ms, time_ms)
    .map((storm) => stormAt(storm, time_ms))
    .filter((state) => state.peak_mm > 0)
    .map((state) => truthOf(state, time_ms));
}

function truthOf(state: StormState, time_ms: number): StormTruth {
  const { storm } = state;
  return {
    storm_id: storm.storm_id,
    kind: storm.kind,
    split_from: storm.split_from,
    merges_into: storm.merges_into,
    lat: state.lat,
    lon: state.lon,
    direction_deg: state.direction_deg,
    speed_kmh: state.speed_ms * 3.6,
    peak_mm: state.peak_mm,
    core_km: storm.core_km,
    age_min: state.age_min,
    remaining_min: (storm.birth_ms + storm.life_ms - time_ms) / MS_PER_MIN,
  };
}

const HEADER =
  'scan_time,storm_id,kind,split_from,merges_into,lat,lon,direction_deg,speed_kmh,peak_mm,core_km,age_min,remaining_min';

/** The truth of many scans as CSV, one row per scan and storm. */
export function truthCsv(scenario: Scenario, scan_times: readonly number[]): string {
  const rows = scan_times.flatMap((time_ms) =>
    truthAt(scenario, time_ms).map((storm) =>
      [
        timestamp(time_ms),
        storm.storm_id,
        storm.kind,
        storm.split_from ?? '',
        storm.merges_into ?? '',
        storm.lat.toFixed(4),
        storm.lon.toFixed(4),
        storm.direction_deg.toFixed(1),
        storm.speed_kmh.toFixed(1),
        storm.peak_mm.toFixed(1),
        storm.core_km.toFixed(2),
        storm.age_min.toFixed(1),
        storm.remaining_min.toFixed(1),
      ].join(','),
    ),
  );
  return `${[HEADER, ...rows].join('\n')}\n`;
}
