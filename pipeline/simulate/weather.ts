import { KM_PER_DEG, KM_PER_DEG_EQUATOR } from '../../schemas/geo/constants.ts';
import { LATTICES } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { MS_PER_HOUR } from '../../schemas/time.ts';
import { type Level, type SupercellMotion, supercellMotion, type Wind, windTowards } from './hodograph.ts';
import { between, type Draw, drawsOf, normal, uniformOf } from './random.ts';
import { DAY_TYPES, type DayType, type Scenario } from './scenario.ts';

/** Parameters of a day type. Counts are storms per day over the CONUS. */
export interface DayTypeParameters {
  readonly organised_per_day: number;
  readonly ordinary_per_day: number;
  /** Births per hour in the window of a steady scenario. */
  readonly steady_per_hour: { readonly organised: number; readonly ordinary: number };
  readonly supercell_share: number;
  /** Factor on the median largest hail of organised storms. */
  readonly size_factor: number;
  readonly boundaries: number;
  readonly shear_ms: readonly [low: number, high: number];
  readonly mean_wind_ms: readonly [low: number, high: number];
}

/**
 * Organised storms per day as in SCIENCE.md, "Simulated weather". The ratio of ordinary cells to them is that of weak to strong
 * objects in the real 24 h grid of 28 Feb 2024, a marginal day.
 */
export const DAY_TYPE_PARAMETERS: Readonly<Record<DayType, DayTypeParameters>> = {
  quiet: {
    organised_per_day: 0.5,
    ordinary_per_day: 80,
    steady_per_hour: { organised: 0.2, ordinary: 4 },
    supercell_share: 0.1,
    size_factor: 0.6,
    boundaries: 1,
    shear_ms: [5, 12],
    mean_wind_ms: [5, 12],
  },
  pulse: {
    organised_per_day: 3,
    ordinary_per_day: 900,
    steady_per_hour: { organised: 0.5, ordinary: 24 },
    supercell_share: 0.05,
    size_factor: 0.7,
    boundaries: 3,
    shear_ms: [5, 12],
    mean_wind_ms: [6, 12],
  },
  marginal: {
    organised_per_day: 12,
    ordinary_per_day: 1000,
    steady_per_hour: { organised: 1.5, ordinary: 20 },
    supercell_share: 0.2,
    size_factor: 0.8,
    boundaries: 3,
    shear_ms: [12, 22],
    mean_wind_ms: [9, 16],
  },
  supercell: {
    organised_per_day: 20,
    ordinary_per_day: 500,
    steady_per_hour: { organised: 6, ordinary: 24 },
    supercell_share: 0.7,
    size_factor: 0.88,
    boundaries: 3,
    shear_ms: [20, 32],
    mean_wind_ms: [11, 17],
  },
  qlcs: {
    organised_per_day: 20,
    ordinary_per_day: 900,
    steady_per_hour: { organised: 5, ordinary: 28 },
    supercell_share: 0.15,
    size_factor: 0.9,
    boundaries: 2,
    shear_ms: [15, 25],
    mean_wind_ms: [13, 20],
  },
  outbreak: {
    organised_per_day: 60,
    ordinary_per_day: 900,
    steady_per_hour: { organised: 8, ordinary: 24 },
    supercell_share: 0.7,
    size_factor: 0.9,
    boundaries: 3,
    shear_ms: [24, 35],
    mean_wind_ms: [11, 19],
  },
};

/** Chance of each day type, in the order of DAY_TYPES, January to December: severe days peak from April to June. */
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

/** Regions of storm formation: centre, spread, and weight by month. Gulf and S Plains peak in Apr-May, N and High Plains in Jun-Jul. */
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
export function convectiveDay(time_ms: number): number {
  return Math.floor((time_ms / MS_PER_HOUR - 12) / 24);
}

/** Type of the convective day that contains an instant. */
export function dayTypeAt(scenario: Scenario, time_ms: number): DayType {
  if (scenario.day_type !== 'climate') return scenario.day_type;
  const number = convectiveDay(time_ms);
  const chances = SEASON[monthOf(number)];
  let rest = uniformOf(scenario.seed, 0xda7, number);
  const chosen = chances.findIndex((chance) => {
    rest -= chance;
    return rest < 0;
  });
  return DAY_TYPES[chosen] ?? 'marginal';
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
export interface Boundary extends SupercellMotion {
  readonly key: number;
  readonly centre: Position;
  readonly bearing_deg: number;
  readonly length_km: number;
}

/** Boundaries of the scenario at an instant. */
export function boundariesAt(scenario: Scenario, time_ms: number): Boundary[] {
  const period = scenario.steady ? Math.floor(time_ms / (STEADY_BLOCK_H * MS_PER_HOUR)) : convectiveDay(time_ms);
  const character = DAY_TYPE_PARAMETERS[dayTypeAt(scenario, time_ms)];
  return Array.from({ length: character.boundaries }, (_, i) =>
    boundary(scenario, character, period, convectiveDay(time_ms), i),
  );
}

function boundary(scenario: Scenario, character: DayTypeParameters, period: number, day: number, i: number): Boundary {
  const draw = drawsOf(scenario.seed, 0xb0d, period, i);
  const centre = scenario.steady
    ? placeInWindow(scenario, draw, i, character.boundaries)
    : placeInCountry(period, draw);
  const flow = steeringFlow(scenario, character, day);
  const towards_deg = flow.towards_deg + flow.veer_deg * (centre.lon - MIDDLE_LON);
  const shear = windTowards(towards_deg + flow.shear_angle_deg, flow.shear_ms);
  return {
    key: i,
    centre,
    bearing_deg: towards_deg + between(draw, -75, 15),
    length_km: between(draw, 220, 480),
    ...supercellMotion(hodograph(windTowards(towards_deg, flow.speed_ms), shear)),
  };
}

/** Wind that steers the storms of a convective day; it veers evenly from west to east, as behind and ahead of a trough. */
function steeringFlow({ seed }: Scenario, character: DayTypeParameters, day: number) {
  const draw = drawsOf(seed, 0xf10, day);
  return {
    /** Direction towards which the mean wind blows at the middle longitude, and its turn per degree of longitude. */
    towards_deg: between(draw, ...FLOW_DEG),
    veer_deg: between(draw, ...VEER_DEG),
    speed_ms: between(draw, ...character.mean_wind_ms),
    shear_angle_deg: between(draw, 10, 45),
    shear_ms: between(draw, ...character.shear_ms),
  };
}

/** Centre of boundary `i` in the west and middle of the window, one strip of latitude each, so that storms have room to move. */
function placeInWindow({ window }: Scenario, draw: Draw, i: number, count: number): Position {
  const row = window.row0 + window.rows * (0.15 + 0.7 * ((i + between(draw, 0.2, 0.8)) / count));
  const col = window.col0 + window.cols * between(draw, 0.25, 0.6);
  return {
    lat: LATTICES.conus.north - row * LATTICES.conus.step,
    lon: LATTICES.conus.west + col * LATTICES.conus.step,
  };
}

function placeInCountry(period: number, draw: Draw): Position {
  const month = monthOf(period);
  const weights = HOMELANDS.map((home) => home.weight[month]);
  let rest = draw() * weights.reduce((sum, weight) => sum + weight, 0);
  const chosen = weights.findIndex((weight) => {
    rest -= weight;
    return rest < 0;
  });
  const home = HOMELANDS[Math.max(0, chosen)];
  return shifted(home, between(draw, 0, 360), home.spread_km * Math.abs(normal(draw)));
}

/** Wind profile with straight shear plus a bow to its left (a clockwise-turning hodograph), shifted to the mean wind. */
function hodograph(mean: Wind, shear: Wind): Level[] {
  const profile = [0, 1, 2, 3, 4, 5, 6].map((height_km) => {
    const along = height_km / 6;
    const bow = 0.3 * Math.sin(Math.PI * along);
    return {
      pressure_hpa: 960 * Math.exp(-height_km / 8),
      height_m: height_km * 1000,
      east: shear.east * along - bow * shear.north,
      north: shear.north * along + bow * shear.east,
    };
  });
  const own = supercellMotion(profile).mean;
  return profile.map((level) => ({
    ...level,
    east: level.east + mean.east - own.east,
    north: level.north + mean.north - own.north,
  }));
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
