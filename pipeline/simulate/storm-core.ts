import { KM_PER_DEG, KM_PER_DEG_EQUATOR } from '../../schemas/geo/constants.ts';
import { colLon, latRow, lonCol, rowLat, type Window } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';
import { between, drawsOf, normal } from './random.ts';
import type { StormState } from './storms.ts';
import { offsetPosition, type Scenario, windTowards } from './weather.ts';

/** Interval at which a storm forms a new core, minutes. */
const PULSE_MIN = 8;
/** Shortest and longest life of a core, minutes: an ordinary cell has two or three, one after another. */
const PULSE_LIFE_MIN = { ordinary: [18, 26], organised: [18, 30] } as const;
const LOOKBACK = Math.ceil(PULSE_LIFE_MIN.organised[1] / PULSE_MIN);
/** Way of a core through its storm, from the right rear to the left front, in widths of the storm's core. */
const CROSSING = { along: 0.4, across: 0.6 } as const;
/** Standard deviation of its place about that way, in the same unit. */
const SCATTER = { along: 0.35, across: 0.6 } as const;
/** Factor on both for an ordinary cell, whose cores have no flank of their own. */
const ORDINARY_UNREST = 0.4;
/** Standard deviation of its strength, natural logarithm. */
const PULSE_LN = 0.1;
/** Its width over that of the storm's core. */
const PULSE_WIDTH = 0.82;

/** One core of a storm: position, orientation, axes and MESH. */
export interface StormCore extends Position {
  readonly forward_east: number;
  readonly forward_north: number;
  /** Scale of the core along and across the motion, km, and the mean of both. */
  readonly along_km: number;
  readonly across_km: number;
  readonly core_km: number;
  /** MESH in the middle, before texture. */
  readonly peak_mm: number;
}

/**
 * Cores of a storm at an instant, before beam broadening. In organised storms they form on the right rear flank, drift to the left
 * front and decay: streaks within the swath. In ordinary cells they follow each other on nearly the same line.
 */
export function coresOf(state: StormState, time_ms: number): StormCore[] {
  const last = Math.floor((time_ms - state.storm.birth_ms) / MS_PER_MIN / PULSE_MIN);
  return Array.from({ length: LOOKBACK + 1 }, (_, i) => coreAt(state, last - LOOKBACK + i, time_ms)).filter(
    (core) => core !== null,
  );
}

function coreAt(state: StormState, number: number, time_ms: number): StormCore | null {
  const { storm } = state;
  const draw = drawsOf(storm.key, 0x9015e, number);
  const birth_ms = storm.birth_ms + (number + draw()) * PULSE_MIN * MS_PER_MIN;
  const isOrdinary = storm.kind === 'ordinary';
  const [shortest_min, longest_min] = PULSE_LIFE_MIN[isOrdinary ? 'ordinary' : 'organised'];
  const life_ms = between(draw, shortest_min, longest_min) * MS_PER_MIN;
  const age = (time_ms - birth_ms) / life_ms;
  if (age <= 0 || age >= 1) return null;
  const unit_km = storm.core_km * (isOrdinary ? ORDINARY_UNREST : 1);
  const along_km = unit_km * (CROSSING.along * (2 * age - 1) + SCATTER.along * normal(draw));
  const left_km = unit_km * (CROSSING.across * (2 * age - 1) + SCATTER.across * normal(draw));
  const core_km = storm.core_km * PULSE_WIDTH;
  const { east, north } = windTowards(state.direction_deg, 1);
  return {
    ...offsetPosition(state, along_km * east - left_km * north, along_km * north + left_km * east),
    forward_east: east,
    forward_north: north,
    along_km: core_km * Math.sqrt(storm.aspect),
    across_km: core_km / Math.sqrt(storm.aspect),
    core_km,
    peak_mm: state.peak_mm * (Math.sin(Math.PI * age) ** 0.7 * Math.exp(PULSE_LN * normal(draw))),
  };
}

/** Cores of a storm at an instant after beam broadening: with distance from the radar they become weaker and wider. */
export function seenCoresOf({ sites }: Scenario, state: StormState, time_ms: number): StormCore[] {
  return coresOf(state, time_ms).map((core) => {
    const beam_km = Math.min(4, (nearestSiteKm(sites, core) * Math.PI) / 180);
    const wider = Math.hypot(core.core_km, 0.3 * beam_km) / core.core_km;
    return {
      ...core,
      along_km: wider * core.along_km,
      across_km: wider * core.across_km,
      core_km: wider * core.core_km,
      peak_mm: core.peak_mm * (1 - 0.1 * (beam_km / 4) ** 2),
    };
  });
}

/** Exponent of the decay of the core with distance: exp(-(r / core)^1.3). */
const STEEPNESS = 1.3;
/** Skew: the core extends this share farther to its left front than the ellipse, and less on the opposite side. */
export const SKEW = 0.35;
/** Direction of the left front, 60 degrees to the left of the motion. */
const SKEW_FORWARD = 0.5;
const SKEW_LEFT = Math.sqrt(0.75);

const STEPS = 512;
const REACH = 8;
const FALL = Float32Array.from({ length: REACH * STEPS + 1 }, (_, i) => Math.exp(-((i / STEPS) ** STEEPNESS)));

/** Share of the largest MESH at a distance in core lengths; 0 from 8 on. */
export function coreFall(distance: number): number {
  return distance < REACH ? FALL[(distance * STEPS) | 0] : 0;
}

/** Distance in core lengths at which MESH has decreased from `peak_mm` to `to_mm`; 0 when the peak is not larger. */
export function coreReach(peak_mm: number, to_mm: number): number {
  return peak_mm > to_mm ? Math.log(peak_mm / to_mm) ** (1 / STEEPNESS) : 0;
}

/** Distance of a place from the middle of a core, in its lengths. The right rear is steep, the left front has a tail. */
export function distanceFrom(core: StormCore, east_km: number, north_km: number): number {
  const along = (east_km * core.forward_east + north_km * core.forward_north) / core.along_km;
  const across = (north_km * core.forward_east - east_km * core.forward_north) / core.across_km;
  const plain = Math.sqrt(along * along + across * across);
  if (plain === 0) return 0;
  return (plain * plain) / (plain + SKEW * (along * SKEW_FORWARD + across * SKEW_LEFT));
}

/** First and last row and column within a distance of a place, counted within the window; null without any. */
export function boxAround(place: Position, reach_km: number, window: Window) {
  const rows_reach = reach_km / KM_PER_DEG;
  const cols_reach = reach_km / (KM_PER_DEG_EQUATOR * Math.cos(((place.lat + rows_reach) * Math.PI) / 180));
  const top = Math.max(0, latRow(place.lat + rows_reach) - window.row0);
  const bottom = Math.min(window.rows - 1, latRow(place.lat - rows_reach) - window.row0);
  const left = Math.max(0, lonCol(place.lon - cols_reach) - window.col0);
  const right = Math.min(window.cols - 1, lonCol(place.lon + cols_reach) - window.col0);
  return top > bottom || left > right ? null : { top, bottom, left, right };
}

/** Range of a weather radar for hail, km. */
const RADAR_RANGE_KM = 230;

const coverages = new WeakMap<Scenario, Uint8Array>();

/** 1 for each pixel of the scenario's window that lies within 230 km of a radar, else 0; row-major from north. */
export function coverageOf(scenario: Scenario): Uint8Array {
  const known = coverages.get(scenario);
  if (known) return known;
  const { window, sites } = scenario;
  const covered = new Uint8Array(window.rows * window.cols);
  const reach_deg = RADAR_RANGE_KM / KM_PER_DEG;
  const west = colLon(window.col0);
  for (const site of sites)
    for (let r = 0; r < window.rows; r += 1) {
      const lat = rowLat(window.row0 + r);
      const away_deg = lat - site.lat;
      if (Math.abs(away_deg) > reach_deg) continue;
      const half_chord_deg = Math.sqrt(reach_deg ** 2 - away_deg ** 2) / Math.cos((lat * Math.PI) / 180);
      const from = Math.max(0, Math.ceil((site.lon - half_chord_deg - west) * 100));
      const to = Math.min(window.cols, Math.floor((site.lon + half_chord_deg - west) * 100) + 1);
      if (to > from) covered.fill(1, r * window.cols + from, r * window.cols + to);
    }
  coverages.set(scenario, covered);
  return covered;
}

/** Distance to the nearest site on a flat map around the position, km; Infinity without sites. */
function nearestSiteKm(sites: readonly Position[], at: Position): number {
  const scale = Math.cos((at.lat * Math.PI) / 180);
  return sites.reduce(
    (nearest, { lat, lon }) => Math.min(nearest, Math.hypot(lat - at.lat, (lon - at.lon) * scale) * KM_PER_DEG),
    Number.POSITIVE_INFINITY,
  );
}
