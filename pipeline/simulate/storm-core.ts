import { KM_PER_DEG, KM_PER_DEG_EQUATOR } from '../../schemas/geo/constants.ts';
import { LATTICES, latRow, lonCol, type Window } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { nearestSiteKm } from './coverage.ts';
import { windTowards } from './hodograph.ts';
import { PULSE_WIDTH, pulsesAt } from './pulses.ts';
import type { Scenario } from './scenario.ts';
import type { StormState } from './storms.ts';
import { offsetPosition } from './weather.ts';

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

/**
 * Distance from a storm's centre in core lengths, for a place `along` and `across` (to the left) the motion, each in units of
 * its own axis. The right rear is steep, the left front has a tail.
 */
function coreDistance(along: number, across: number): number {
  const plain = Math.sqrt(along * along + across * across);
  if (plain === 0) return 0;
  return (plain * plain) / (plain + SKEW * (along * SKEW_FORWARD + across * SKEW_LEFT));
}

/** Share of the largest MESH at a distance in core lengths; 0 from 8 on. */
export function coreFall(distance: number): number {
  return distance < REACH ? FALL[(distance * STEPS) | 0] : 0;
}

/** Distance in core lengths at which MESH has decreased from `peak_mm` to `to_mm`; 0 when the peak is not larger. */
export function coreReach(peak_mm: number, to_mm: number): number {
  return peak_mm > to_mm ? Math.log(peak_mm / to_mm) ** (1 / STEEPNESS) : 0;
}

/** One core of a storm: position, orientation, axes and MESH. */
export interface StormCore {
  readonly lat: number;
  readonly lon: number;
  readonly forward_east: number;
  readonly forward_north: number;
  /** Scale of the core along and across the motion, km, and the mean of both. */
  readonly along_km: number;
  readonly across_km: number;
  readonly core_km: number;
  /** MESH in the middle, before texture. */
  readonly peak_mm: number;
}

/** Cores of a storm at an instant as they are, before the radar sees them. */
export function coresOf(state: StormState, time_ms: number): StormCore[] {
  const { storm } = state;
  const core_km = storm.core_km * PULSE_WIDTH;
  const { east, north } = windTowards(state.direction_deg, 1);
  return pulsesAt(storm, time_ms).map(({ along_km, left_km, share }) => ({
    ...offsetPosition(state, along_km * east - left_km * north, along_km * north + left_km * east),
    forward_east: east,
    forward_north: north,
    along_km: core_km * Math.sqrt(storm.aspect),
    across_km: core_km / Math.sqrt(storm.aspect),
    core_km,
    peak_mm: state.peak_mm * share,
  }));
}

/** Cores of a storm at an instant as the radar sees them. */
export function seenCoresOf(scenario: Scenario, state: StormState, time_ms: number): StormCore[] {
  return coresOf(state, time_ms).map((core) => seenByRadar(scenario, core));
}

/** A core after beam broadening: with distance from the radar it becomes weaker and wider. */
function seenByRadar({ sites }: Scenario, core: StormCore): StormCore {
  const beam_km = Math.min(4, (nearestSiteKm(sites, core) * Math.PI) / 180);
  const wider = Math.hypot(core.core_km, 0.3 * beam_km) / core.core_km;
  return {
    ...core,
    along_km: wider * core.along_km,
    across_km: wider * core.across_km,
    core_km: wider * core.core_km,
    peak_mm: core.peak_mm * (1 - 0.1 * (beam_km / 4) ** 2),
  };
}

/** Distance of a place from the middle of a core, in its lengths. */
export function distanceFrom(core: StormCore, east_km: number, north_km: number): number {
  const along = (east_km * core.forward_east + north_km * core.forward_north) / core.along_km;
  const across = (north_km * core.forward_east - east_km * core.forward_north) / core.across_km;
  return coreDistance(along, across);
}

/** First and last row and column where a core may have `min_mm`, its values raised by a factor; null without any. */
export function hailBox(core: StormCore, raised: number, min_mm: number, window: Window) {
  return boxAround(core, (1 + SKEW) * core.along_km * coreReach(core.peak_mm * raised, min_mm), window);
}

/** First and last row and column within a distance of a place, counted within the window; null without any. */
export function boxAround(place: Position, reach_km: number, window: Window) {
  const rows_reach = reach_km / KM_PER_DEG;
  const cols_reach = reach_km / (KM_PER_DEG_EQUATOR * Math.cos(((place.lat + rows_reach) * Math.PI) / 180));
  const top = Math.max(0, latRow(LATTICES.conus, place.lat + rows_reach) - window.row0);
  const bottom = Math.min(window.rows - 1, latRow(LATTICES.conus, place.lat - rows_reach) - window.row0);
  const left = Math.max(0, lonCol(LATTICES.conus, place.lon - cols_reach) - window.col0);
  const right = Math.min(window.cols - 1, lonCol(LATTICES.conus, place.lon + cols_reach) - window.col0);
  return top > bottom || left > right ? null : { top, bottom, left, right };
}
