import { KM_PER_DEG, KM_PER_DEG_EQUATOR } from '../../schemas/geo/constants.ts';
import { latRow, lonCol, type Window } from '../../schemas/geo/lattice.ts';
import { nearestSiteKm } from './coverage.ts';
import type { Scenario } from './scenario.ts';
import type { StormState } from './storms.ts';

/** The core of a storm as the radar shows it: where it is, how it lies, how large its hail is. */
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

/** What the radar makes of a storm: its beam is wider far away, which flattens and spreads the core. */
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

/** First and last row and column of a part of a window, counted within the window. */
export interface PixelBox {
  readonly top: number;
  readonly bottom: number;
  readonly left: number;
  readonly right: number;
}

/** Rows and columns of a window within a distance of a core; null when the window has none. */
export function boxAround(core: StormCore, reach_km: number, window: Window): PixelBox | null {
  const rows_reach = reach_km / KM_PER_DEG;
  const cols_reach = reach_km / (KM_PER_DEG_EQUATOR * Math.cos(((core.lat + rows_reach) * Math.PI) / 180));
  const top = Math.max(0, latRow(core.lat + rows_reach) - window.row0);
  const bottom = Math.min(window.rows - 1, latRow(core.lat - rows_reach) - window.row0);
  const left = Math.max(0, lonCol(core.lon - cols_reach) - window.col0);
  const right = Math.min(window.cols - 1, lonCol(core.lon + cols_reach) - window.col0);
  return top > bottom || left > right ? null : { top, bottom, left, right };
}
