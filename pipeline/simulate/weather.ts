import { KM_PER_DEG, KM_PER_DEG_EQUATOR } from '../../schemas/geo/constants.ts';
import { LATTICE, WHOLE_LATTICE, type Window } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { MS_PER_HOUR } from '../../schemas/time.ts';
import { between, type Draw, drawsOf, normal, uniformOf } from './random.ts';

type Range = readonly [low: number, high: number];

/** Storms and winds by type of day. Births per day over the CONUS, births per hour in the window of a steady scenario. */
export const DAY_TYPE_PARAMETERS = {
  quiet: parameters([0.5, 80], [0.2, 4], 0.1, 0.6, 1, [5, 12], [5, 12]),
  pulse: parameters([3, 900], [0.5, 24], 0.05, 0.7, 3, [5, 12], [6, 12]),
  marginal: parameters([12, 1000], [1.5, 20], 0.2, 0.8, 3, [12, 22], [9, 16]),
  supercell: parameters([20, 500], [6, 24], 0.7, 0.88, 3, [20, 32], [11, 17]),
  qlcs: parameters([20, 900], [5, 28], 0.15, 0.9, 2, [15, 25], [13, 20]),
  outbreak: parameters([60, 900], [8, 24], 0.7, 0.9, 3, [24, 35], [11, 19]),
} as const;

type DayType = keyof typeof DAY_TYPE_PARAMETERS;

function parameters(
  [organised_per_day, ordinary_per_day]: Range,
  [steady_organised_per_hour, steady_ordinary_per_hour]: Range,
  supercell_share: number,
  /** Factor on the median largest hail of organised storms. */
  size_factor: number,
  boundaries: number,
  shear_ms: Range,
  mean_wind_ms: Range,
) {
  const per_day = { organised_per_day, ordinary_per_day };
  const per_hour = { steady_organised_per_hour, steady_ordinary_per_hour };
  return { ...per_day, ...per_hour, supercell_share, size_factor, boundaries, shear_ms, mean_wind_ms };
}

export type DayTypeParameters = ReturnType<typeof parameters>;

/** Parameters of the weather and its observation; with the time they determine every value. */
export interface Scenario {
  /** Any whole number; another seed gives other weather. */
  readonly seed: number;
  /** Observed window. The weather depends on it only if `steady` places the storms in it. */
  readonly window: Window;
  /** Type of every day; `climate` draws one per convective day by season. */
  readonly day_type: DayType | 'climate';
  /**
   * True: storms form in the window at every hour in May conditions, so that any three hours have some.
   * False: storms over the whole CONUS, with the diurnal cycle and the season.
   */
  readonly steady: boolean;
  /** Radar sites; beyond 230 km of all of them there is no coverage. */
  readonly sites: readonly Position[];
}

/** Supercells at any hour over the southern and central Plains, 32-40 N, 103-93 W. */
export function plainsScenario(seed: number, sites: readonly Position[]): Scenario {
  const window = { row0: 1500, col0: 2700, rows: 800, cols: 1000 };
  return { seed, window, day_type: 'supercell', steady: true, sites };
}

/** The full CONUS grid with the seasons of the climate. */
export function climateScenario(seed: number, sites: readonly Position[]): Scenario {
  return { seed, window: WHOLE_LATTICE, day_type: 'climate', steady: false, sites };
}

/** True for a position in the window of a scenario. */
export function isInWindow({ window }: Scenario, { lat, lon }: Position): boolean {
  const row = (55 - lat) * 100 - window.row0;
  const col = (lon + 130) * 100 - window.col0;
  return row >= 0 && col >= 0 && row < window.rows && col < window.cols;
}

/** Chance of each day type, in the order of DAY_TYPE_PARAMETERS, January to December: severe days peak from April to June. */
const SEASON: readonly (readonly number[])[] = [
  [0.8, 0.02, 0.13, 0.02, 0.03, 0.0],
  [0.72, 0.02, 0.18, 0.03, 0.04, 0.01],
  [0.5, 0.04, 0.28, 0.09, 0.06, 0.03],
  [0.22, 0.08, 0.38, 0.17, 0.09, 0.06],
  [0.06, 0.16, 0.38, 0.21, 0.1, 0.09],
  [0.04, 0.26, 0.37, 0.18, 0.1, 0.05],
  [0.08, 0.42, 0.34, 0.09, 0.06, 0.01],
  [0.14, 0.46, 0.3, 0.06, 0.04, 0.0],
  [0.32, 0.28, 0.29, 0.06, 0.05, 0.0],
  [0.55, 0.1, 0.24, 0.06, 0.04, 0.01],
  [0.7, 0.04, 0.18, 0.04, 0.04, 0.0],
  [0.82, 0.02, 0.11, 0.02, 0.03, 0.0],
];

/** Regions of storm formation: centre, spread, and weight by month. The south peaks in April and May, the north in June and July. */
const HOMELANDS: readonly (Position & { readonly spread_km: number; readonly weight: readonly number[] })[] = [
  { lat: 32.5, lon: -97.5, spread_km: 230, weight: [2, 3, 6, 11, 10, 4, 2, 2, 3, 3, 3, 2] },
  { lat: 31.8, lon: -89.0, spread_km: 260, weight: [5, 6, 7, 7, 4, 2, 2, 2, 2, 2, 4, 5] },
  { lat: 38.5, lon: -97.5, spread_km: 240, weight: [1, 1, 3, 7, 11, 10, 4, 2, 2, 2, 1, 1] },
  { lat: 39.8, lon: -103.2, spread_km: 200, weight: [0, 0, 1, 2, 6, 11, 10, 5, 2, 1, 0, 0] },
  { lat: 44.5, lon: -101.0, spread_km: 250, weight: [0, 0, 0, 1, 3, 10, 11, 6, 2, 1, 0, 0] },
  { lat: 41.0, lon: -90.0, spread_km: 260, weight: [1, 1, 3, 5, 6, 6, 5, 4, 3, 2, 1, 1] },
  { lat: 35.0, lon: -80.5, spread_km: 260, weight: [1, 2, 3, 4, 5, 5, 5, 4, 2, 1, 1, 1] },
  { lat: 41.0, lon: -77.0, spread_km: 220, weight: [0, 0, 1, 2, 3, 4, 4, 3, 1, 1, 0, 0] },
];

/** Direction towards which the mean wind blows at the middle longitude of the country, and its turn per degree of longitude. */
const FLOW_DEG = [35, 95] as const;
const VEER_DEG = [-0.3, 1] as const;
const MIDDLE_LON = -97;
/** Interval at which steady scenarios renew their boundaries, so that a day has different evenings. */
const STEADY_BLOCK_H = 6;
/** Month of the conditions of a steady scenario at any date: May. */
const STEADY_MONTH = 4.5;

/** Number of the convective day (12-12 UTC) that contains an instant, counted from 1970. */
function convectiveDay(time_ms: number): number {
  return Math.floor((time_ms / MS_PER_HOUR - 12) / 24);
}

/** Parameters of the convective day that contains an instant. */
export function parametersAt({ seed, day_type }: Scenario, time_ms: number): DayTypeParameters {
  if (day_type !== 'climate') return DAY_TYPE_PARAMETERS[day_type];
  const number = convectiveDay(time_ms);
  const types = Object.values(DAY_TYPE_PARAMETERS);
  return weighted(types, SEASON[monthOf(number)], uniformOf(seed, 0xda7, number)) ?? DAY_TYPE_PARAMETERS.marginal;
}

/** The item that a cumulative weight falls on. */
function weighted<Item>(items: readonly Item[], weights: readonly number[], at: number): Item | undefined {
  let rest = at;
  return items.find((_, i) => {
    rest -= weights[i];
    return rest < 0;
  });
}

function monthOf(convective_day: number): number {
  return new Date((convective_day * 24 + 18) * MS_PER_HOUR).getUTCMonth();
}

/** Diurnal cycle: birth rate at an instant relative to the daily mean, with its maximum at 23 UTC. */
export function dailyCycle(time_ms: number): number {
  const hour = (time_ms / MS_PER_HOUR) % 24;
  const SHARPNESS = 1.8;
  const MEAN_OF_EXP = 1.98956; // modified Bessel function I0(1.8): the factor then averages 1 over a day
  return Math.exp(SHARPNESS * Math.cos(((hour - 23) * Math.PI) / 12)) / MEAN_OF_EXP;
}

/** A boundary along which storms form, with their mean, right-moving and left-moving velocities (m/s). */
export interface Boundary {
  readonly centre: Position;
  readonly bearing_deg: number;
  readonly length_km: number;
  readonly mean: Wind;
  readonly right: Wind;
  readonly left: Wind;
}

/** Distance of a supercell's motion from the mean wind, perpendicular to the shear, m/s (Bunkers et al. 2000). */
const DEVIATION_MS = 7.5;

/** Boundaries of the scenario at an instant. */
export function boundariesAt(scenario: Scenario, time_ms: number): Boundary[] {
  const day = convectiveDay(time_ms);
  const period = scenario.steady ? Math.floor(time_ms / (STEADY_BLOCK_H * MS_PER_HOUR)) : day;
  const { boundaries, mean_wind_ms } = parametersAt(scenario, time_ms);
  return Array.from({ length: boundaries }, (_, i) => {
    const draw = drawsOf(scenario.seed, 0xb0d, period, i);
    const centre = scenario.steady ? placeInWindow(scenario, draw, i, boundaries) : placeInCountry(period, draw);
    // The steering wind of a convective day veers evenly from west to east.
    const flow = drawsOf(scenario.seed, 0xf10, day);
    const flow_deg = between(flow, ...FLOW_DEG);
    const towards_deg = flow_deg + between(flow, ...VEER_DEG) * (centre.lon - MIDDLE_LON);
    const mean = windTowards(towards_deg, between(flow, ...mean_wind_ms));
    const shear_deg = towards_deg + between(flow, 10, 45);
    const across = windTowards(shear_deg + 90, DEVIATION_MS);
    return {
      centre,
      bearing_deg: towards_deg + between(draw, -75, 15),
      length_km: between(draw, 220, 480),
      mean,
      right: { east: mean.east + across.east, north: mean.north + across.north },
      left: { east: mean.east - across.east, north: mean.north - across.north },
    };
  });
}

/** Centre of boundary `i` in the west and middle of the window, one strip of latitude each, so that storms have room to move. */
function placeInWindow({ window }: Scenario, draw: Draw, i: number, count: number): Position {
  const row = window.row0 + window.rows * (0.15 + 0.7 * ((i + between(draw, 0.2, 0.8)) / count));
  const col = window.col0 + window.cols * between(draw, 0.25, 0.6);
  const { north, west, step } = LATTICE;
  return { lat: north - row * step, lon: west + col * step };
}

function placeInCountry(period: number, draw: Draw): Position {
  const month = monthOf(period);
  const weights = HOMELANDS.map((home) => home.weight[month]);
  const home = weighted(HOMELANDS, weights, draw() * weights.reduce((sum, weight) => sum + weight, 0)) ?? HOMELANDS[0];
  return shifted(home, between(draw, 0, 360), home.spread_km * Math.abs(normal(draw)));
}

/** Horizontal wind in m/s, positive to the east and to the north. */
export interface Wind {
  readonly east: number;
  readonly north: number;
}

/** Wind towards `towards_deg` (0 north, clockwise). */
export function windTowards(towards_deg: number, speed: number): Wind {
  const angle = (towards_deg * Math.PI) / 180;
  return { east: speed * Math.sin(angle), north: speed * Math.cos(angle) };
}

/** Direction towards which a wind points, degrees in [0, 360). */
export function bearingOf(wind: Wind): number {
  return ((Math.atan2(wind.east, wind.north) * 180) / Math.PI + 360) % 360;
}

/** Position at a distance in a direction (0 north, clockwise). */
export function shifted(from: Position, towards_deg: number, km: number): Position {
  const { east, north } = windTowards(towards_deg, km);
  return offsetPosition(from, east, north);
}

/** Position at an offset of kilometres east and north, with the scale of the middle latitude. */
export function offsetPosition(from: Position, east_km: number, north_km: number): Position {
  const lat = from.lat + north_km / KM_PER_DEG;
  const scale = KM_PER_DEG_EQUATOR * Math.cos((((from.lat + lat) / 2) * Math.PI) / 180);
  return { lat, lon: from.lon + east_km / scale };
}

/**
 * Height of the 0 C level on a day with hail, km above the ground, rounded to 0.2.
 * A smooth fit to the table of freezing levels by latitude and month (within 0.4 km), plus the warm anomaly of hail days.
 * Source: SCIENCE.md, "Radar coverage".
 */
export function freezingLevelKm(scenario: Scenario, time_ms: number, lat: number): number {
  const date = new Date(time_ms);
  const month = scenario.steady ? STEADY_MONTH : date.getUTCMonth() + date.getUTCDate() / 31;
  const summer_km = 4.85 - 0.0022 * (lat - 25) ** 2;
  const winter_km = 4.1 - 0.16 * (lat - 25);
  const cold = (1 - Math.cos(((month - 7) * Math.PI) / 6)) / 2;
  const warmed = month >= 3.8 && month < 10 ? 0.2 : 0.4;
  const height_km = summer_km + (winter_km - summer_km) * cold + warmed;
  return Math.round(5 * Math.min(5, Math.max(1, height_km))) / 5;
}
