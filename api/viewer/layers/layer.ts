import type { Position } from 'geojson';
import { destination } from '../../../schemas/geo/distance.ts';

/** Place at a distance and direction (0 = north, clockwise) from another. */
export function placeAway([lon, lat]: Position, km: number, direction_deg: number): Position {
  const end = destination({ lat, lon }, direction_deg, km);
  return [end.lon, end.lat];
}

const RING_POINTS = 64;

/** Circle around a place as a closed ring. */
export function circle(centre: Position, radius_km: number): Position[] {
  const ring = Array.from({ length: RING_POINTS }, (_, i) => placeAway(centre, radius_km, (-360 * i) / RING_POINTS));
  return [...ring, ring[0]];
}

/** Half of the opening of the cone of a storm, and what its length has over the course: the errors that the nowcast assumes. */
export const CONE_ERROR = { speed_error_kmh: 12, direction_error_deg: 26 } as const;
