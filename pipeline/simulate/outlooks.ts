import { KM_PER_DEG, KM_PER_DEG_EQUATOR } from '../../schemas/geo/constants.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { MS_PER_DAY, MS_PER_HOUR, MS_PER_MIN, timestamp } from '../../schemas/time.ts';
import type { TextFile } from './reports.ts';
import { stormAt, stormsBetween } from './storms.ts';
import { isInWindow, offsetPosition, type Scenario, windTowards } from './weather.ts';

/** Sampling interval of storms. */
const STEP_MS = 15 * MS_PER_MIN;
/** Largest pixel over the MESH of a core: texture adds about a third. */
export const LARGEST_OF_CORE = 1.35;
/** Smallest spread of a forecast, km. */
const SMALLEST_SPREAD_KM = 60;
const CORNERS = 24;
/** Hail of an inch is severe. */
const SEVERE_MM = 25.4;
/** Growth of the areas per day of lead. */
const WIDENS_BY_DAY = 0.25;
/** Last day with an area. */
const LAST_WITH_AREAS = 5;

/** Labels of the areas, each with its extent in standard deviations of the places of hail. */
type Areas = readonly (readonly [label: string, deviations: number])[];

const CATEGORIES: Areas = [
  ['TSTM', 3.5],
  ['MRGL', 2.6],
  ['SLGT', 2],
  ['ENH', 1.3],
];
const PROBABILITIES: Areas = [
  ['0.05', 2.6],
  ['0.15', 2],
  ['0.30', 1.3],
];
const LATE_PROBABILITY: Areas = [['0.15', 2]];

/** Layers of categories and of hail in the outlooks of days 1 to 8 in force at `to_ms`, around the hail of the scenario. */
export function outlookFiles(scenario: Scenario, to_ms: number): TextFile[] {
  const today_ms = Math.floor((to_ms - 12 * MS_PER_HOUR) / MS_PER_DAY) * MS_PER_DAY + 12 * MS_PER_HOUR;
  const issued_ms = to_ms >= today_ms + 8 * MS_PER_HOUR ? today_ms + 8 * MS_PER_HOUR : today_ms;
  return [1, 2, 3, 4, 5, 6, 7, 8].flatMap((day) => {
    const begins_ms = today_ms + (day - 1) * MS_PER_DAY;
    // The last days have no area, as is usual.
    const hail = day > LAST_WITH_AREAS ? null : hailArea(scenario, begins_ms, begins_ms + MS_PER_DAY);
    const properties = {
      VALID: compact(day === 1 ? issued_ms : begins_ms),
      EXPIRE: compact(begins_ms + MS_PER_DAY),
      ISSUE: compact(day === 1 ? issued_ms : today_ms),
    };
    const layer = (name: string, areas: Areas): TextFile => {
      const widened = areas.map(
        ([label, deviations]) => [label, deviations * (1 + WIDENS_BY_DAY * (day - 1))] as const,
      );
      const shapes =
        hail === null ? [] : widened.map(([label, deviations]) => [label, ringAround(hail, deviations)] as const);
      const features = (shapes.length === 0 ? [['', null] as const] : shapes).map(([label, ring]) => ({
        type: 'Feature',
        geometry: { type: 'MultiPolygon', coordinates: ring === null ? [] : [[ring]] },
        properties: { ...properties, LABEL: label, LABEL2: 'Simulated', SOURCE: 'simulated' },
      }));
      return {
        path: `outlooks/${name}.nolyr.geojson`,
        text: `${JSON.stringify({ type: 'FeatureCollection', features })}\n`,
      };
    };
    if (day > 3) return [layer(`day${day}prob`, LATE_PROBABILITY)];
    // Day 2 lacks the highest label, day 3 the two highest.
    const lowered = (areas: Areas) => areas.slice(0, areas.length - (day - 1));
    return [
      layer(`day${day}otlk_cat`, lowered(CATEGORIES)),
      layer(`day${day}otlk_${day === 3 ? 'prob' : 'hail'}`, lowered(PROBABILITIES)),
    ];
  });
}

/** `202605012012`. */
function compact(time_ms: number): string {
  return timestamp(time_ms).slice(0, 16).replaceAll(/[-T:]/g, '');
}

/** Hail of a time span: the mean of its places, and their standard deviation to the north and to the east. */
interface HailArea extends Position {
  readonly north_km: number;
  readonly east_km: number;
}

/** Area of severe hail in [from_ms, to_ms), within the window of a scenario; null without any. */
function hailArea(scenario: Scenario, from_ms: number, to_ms: number): HailArea | null {
  const places: Position[] = [];
  for (const storm of stormsBetween(scenario, from_ms, to_ms)) {
    const end_ms = Math.min(to_ms, storm.birth_ms + storm.life_ms);
    for (let time_ms = Math.max(from_ms, storm.birth_ms); time_ms < end_ms; time_ms += STEP_MS) {
      const state = stormAt(storm, time_ms);
      if (LARGEST_OF_CORE * state.peak_mm >= SEVERE_MM && isInWindow(scenario, state)) places.push(state);
    }
  }
  if (places.length === 0) return null;
  const lat = mean(places.map((place) => place.lat));
  const lon = mean(places.map((place) => place.lon));
  const km_per_lon = KM_PER_DEG_EQUATOR * Math.cos((lat * Math.PI) / 180);
  return {
    lat,
    lon,
    north_km: spreadKm(places.map((place) => (place.lat - lat) * KM_PER_DEG)),
    east_km: spreadKm(places.map((place) => (place.lon - lon) * km_per_lon)),
  };
}

/** Closed ring, counter-clockwise, around an area at a number of its standard deviations. */
function ringAround(area: HailArea, deviations: number): number[][] {
  const ring = Array.from({ length: CORNERS }, (_, corner) => {
    const { east, north } = windTowards(90 - (360 * corner) / CORNERS, 1);
    const { lat, lon } = offsetPosition(area, east * deviations * area.east_km, north * deviations * area.north_km);
    return [Math.round(lon * 100) / 100, Math.round(lat * 100) / 100];
  });
  return [...ring, ring[0]];
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function spreadKm(values: readonly number[]): number {
  return Math.max(SMALLEST_SPREAD_KM, Math.sqrt(mean(values.map((value) => value * value))));
}
