import type { Position } from '../../schemas/geo/position.ts';
import { centroidVariance, type Motion } from './kalman.ts';
import type { LiveTrack } from './live-tracks.ts';
import { offsetKm, type Vector } from './motion.ts';

/** Scans with a cell from which on a track is mature: its velocity is its own. */
export const MATURE_SCANS = 3;
/** Largest speed of a link relative to the steering flow, km/min (108 km/h). */
const RELATIVE_SPEED_MAX_KM_MIN = 1.8;

/**
 * Largest distance of a cell from the predicted centroid of a mature track: the noise of the centroid, in standard deviations,
 * plus an unpredictable change of velocity, km/min (30 km/h; a supercell deviates from the mean wind by 27 km/h, Bunkers et al.
 * 2000). A larger displacement comes from pixels that joined or left the cell, not from motion. Links of the rain cores of
 * 10 June 2019 over all CONUS whose area changed by less than half lie within 2.0 km in 90 % and 2.6 km in 95 % at two minutes.
 */
const REACH_SDS = 1.5;
const REACH_KM_MIN = 0.5;

/** The same for a young track, whose velocity is uncertain: a constant, a factor of the radius, a speed. */
const YOUNG_REACH_KM = 5;
const YOUNG_REACH_PER_RADIUS = 1.2;
const YOUNG_REACH_KM_MIN = 2.4;

/** A live track predicted to the time of a scan. */
export interface Prediction {
  readonly track: LiveTrack;
  readonly minutes: number;
  readonly motion: Motion;
  /** Displacement of the last mask since its scan, whole pixels. */
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
 * True when a cell may continue a track: within its reach, and not too fast relative to the flow (km/min) at the cell. At the
 * branches of a split storm the flow is the motion of the other branch, so the limit is doubled there.
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
