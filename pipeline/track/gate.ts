import type { Position } from '../../schemas/geo/position.ts';
import { centroidVariance, type Motion } from './kalman.ts';
import type { LiveTrack } from './live-tracks.ts';
import { offsetKm, type Vector } from './local-plane.ts';

/** A track counts as mature from this many scans with a cell: its velocity is its own. */
export const MATURE_SCANS = 3;
/** A link never moves faster than this relative to the steering flow, km/min (108 km/h). */
const RELATIVE_SPEED_MAX_KM_MIN = 1.8;

/**
 * How far a cell may lie from the predicted centroid of a mature track: what its shape does to the centroid, in
 * standard deviations, and a change of velocity that nobody could foresee, km/min (30 km/h; a supercell deviates from
 * the mean wind by 27 km/h, Bunkers et al. 2000). A centroid further off has been moved by pixels that joined or
 * left, not by the storm. Links of the rain cores of 10 June 2019 over all CONUS whose area changed by less than half
 * lie within 2.0 km in 90 % and 2.6 km in 95 % at two minutes.
 */
const REACH_SDS = 1.5;
const REACH_KM_MIN = 0.5;

/** For a young track, whose velocity is a guess: a constant, a share of the radius, a speed. */
const YOUNG_REACH_KM = 5;
const YOUNG_REACH_PER_RADIUS = 1.2;
const YOUNG_REACH_KM_MIN = 2.4;

/** A live track brought to the time of a scan. */
export interface Prediction {
  readonly track: LiveTrack;
  readonly minutes: number;
  readonly motion: Motion;
  /** Whole pixels that the last mask has moved since it was seen. */
  readonly rows_south: number;
  readonly cols_east: number;
}

/** A cell, a track's last cell, or several cells as one. */
export interface Body {
  readonly centroid_lat: number;
  readonly centroid_lon: number;
  readonly area_km2: number;
}

/** Radius of the circle with the area of a cell, km. */
export function equivalentRadius(area_km2: number): number {
  return Math.sqrt(area_km2 / Math.PI);
}

export function centroidOf(body: Body): Position {
  return { lat: body.centroid_lat, lon: body.centroid_lon };
}

/** Furthest that a cell of this radius may lie from the predicted centroid, km. */
export function reachKm({ track, minutes }: Prediction, radius_km: number): number {
  const track_radius_km = equivalentRadius(track.area_km2);
  if (track.settled_scans < MATURE_SCANS)
    return YOUNG_REACH_KM + YOUNG_REACH_PER_RADIUS * track_radius_km + YOUNG_REACH_KM_MIN * minutes;
  const variance_km2 = centroidVariance(Math.max(radius_km, track_radius_km));
  return REACH_SDS * Math.sqrt(variance_km2) + REACH_KM_MIN * minutes;
}

/**
 * True when a cell may continue a track: within its reach, and not too fast for the flow (km/min) at the cell. The flow
 * at the branches of a storm that broke is each other's motion, so they may differ from it by twice as much.
 */
export function mayContinue(prediction: Prediction, cell: Body, flow: Vector): boolean {
  const { track, motion, minutes } = prediction;
  const off = offsetKm(motion, centroidOf(cell));
  if (Math.hypot(off.east, off.north) > reachKm(prediction, equivalentRadius(cell.area_km2))) return false;
  const step = offsetKm(centroidOf(track), centroidOf(cell));
  const relative_km = Math.hypot(step.east - flow.east * minutes, step.north - flow.north * minutes);
  const broke = track.parent_track_id !== null || track.settled_scans < track.scan_count;
  return relative_km <= (broke ? 2 : 1) * RELATIVE_SPEED_MAX_KM_MIN * minutes;
}
