import { KM_PER_DEG, KM_PER_DEG_EQUATOR } from '../../schemas/geo/constants.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';
import { windTowards } from './hodograph.ts';
import { isInWindow, type Scenario } from './scenario.ts';
import { stormAt, stormsBetween } from './storms.ts';
import { offsetPosition } from './weather.ts';

/** Sampling interval of storms. */
const STEP_MS = 15 * MS_PER_MIN;
/** Largest pixel over the MESH of a core: texture adds about a third. */
export const LARGEST_OF_CORE = 1.35;
/** Smallest spread of a forecast, km. */
const SMALLEST_SPREAD_KM = 60;
const CORNERS = 24;

/** Hail of a time span: the mean of its places, and their spread. */
export interface HailArea extends Position {
  /** Number of places with hail of the size, one for each 15 minutes of each storm. */
  readonly places: number;
  readonly largest_mm: number;
  /** Standard deviation of the places to the north and to the east, km. */
  readonly north_km: number;
  readonly east_km: number;
}

/** Area of hail of a size in [from_ms, to_ms), within the window of a scenario; null without any. */
export function hailArea(scenario: Scenario, from_ms: number, to_ms: number, size_mm: number): HailArea | null {
  const places: Position[] = [];
  let largest_mm = 0;
  for (const storm of stormsBetween(scenario, from_ms, to_ms)) {
    const end_ms = Math.min(to_ms, storm.birth_ms + storm.life_ms);
    for (let time_ms = Math.max(from_ms, storm.birth_ms); time_ms < end_ms; time_ms += STEP_MS) {
      const state = stormAt(storm, time_ms);
      const mm = LARGEST_OF_CORE * state.peak_mm;
      if (mm < size_mm || !isInWindow(scenario, state)) continue;
      places.push({ lat: state.lat, lon: state.lon });
      largest_mm = Math.max(largest_mm, mm);
    }
  }
  if (places.length === 0) return null;
  const lat = mean(places.map((place) => place.lat));
  const lon = mean(places.map((place) => place.lon));
  const km_per_lon = KM_PER_DEG_EQUATOR * Math.cos((lat * Math.PI) / 180);
  return {
    places: places.length,
    largest_mm,
    lat,
    lon,
    north_km: Math.max(SMALLEST_SPREAD_KM, spread(places.map((place) => (place.lat - lat) * KM_PER_DEG))),
    east_km: Math.max(SMALLEST_SPREAD_KM, spread(places.map((place) => (place.lon - lon) * km_per_lon))),
  };
}

/** Closed ring, counter-clockwise, around an area at a number of its standard deviations. */
export function ringAround(area: HailArea, deviations: number): Position[] {
  const ring = Array.from({ length: CORNERS }, (_, corner) => {
    const { east, north } = windTowards(90 - (360 * corner) / CORNERS, 1);
    const { lat, lon } = offsetPosition(area, east * deviations * area.east_km, north * deviations * area.north_km);
    return { lat: Math.round(lat * 100) / 100, lon: Math.round(lon * 100) / 100 };
  });
  return [...ring, ring[0]];
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function spread(values: readonly number[]): number {
  return Math.sqrt(mean(values.map((value) => value * value)));
}
