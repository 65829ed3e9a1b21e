import { KM_PER_DEG, KM_PER_DEG_EQUATOR } from '../../schemas/geo/constants.ts';
import { latRow, lonCol, type Window } from '../../schemas/geo/lattice.ts';
import { nearestSiteKm } from './coverage.ts';
import type { Scenario } from './scenario.ts';
import type { StormState } from './storms.ts';

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
export function coreDistance(along: number, across: number): number {
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

/** The core of a storm as the radar shows it: position, orientation, axes and MESH. */
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

/** Core of a storm after beam broadening: with distance from the radar the core becomes weaker and wider. */
export function stormCore({ sites }: Scenario, state: StormState): StormCore {
  const { storm } = state;
  const beam_km = Math.min(4, (nearestSiteKm(sites, state) * Math.PI) / 180);
  const core_km = Math.hypot(storm.core_km, 0.3 * beam_km);
  const heading = (state.course_deg * Math.PI) / 180;
  return {
    lat: state.lat,
    lon: state.lon,
    forward_east: Math.sin(heading),
    forward_north: Math.cos(heading),
    along_km: core_km * Math.sqrt(storm.aspect),
    across_km: core_km / Math.sqrt(storm.aspect),
    core_km,
    peak_mm: state.peak_mm * (1 - 0.1 * (beam_km / 4) ** 2),
  };
}

/** First and last row and column within a distance of a core, counted within the window; null without any. */
export function boxAround(core: StormCore, reach_km: number, window: Window) {
  const rows_reach = reach_km / KM_PER_DEG;
  const cols_reach = reach_km / (KM_PER_DEG_EQUATOR * Math.cos(((core.lat + rows_reach) * Math.PI) / 180));
  const top = Math.max(0, latRow(core.lat + rows_reach) - window.row0);
  const bottom = Math.min(window.rows - 1, latRow(core.lat - rows_reach) - window.row0);
  const left = Math.max(0, lonCol(core.lon - cols_reach) - window.col0);
  const right = Math.min(window.cols - 1, lonCol(core.lon + cols_reach) - window.col0);
  return top > bottom || left > right ? null : { top, bottom, left, right };
}
