import type { Bbox, Position } from './position.ts';

/** Smallest radius of curvature of WGS84, km: a box computed with it is never too small. */
const SMALLEST_RADIUS_KM = 6335;

/**
 * A box around the circle of a radius around a point, slightly larger than needed: a pre-filter. Near a pole it spans all
 * longitudes; it is not wrapped at 180 degrees.
 */
export function boxAround({ lat, lon }: Position, radius_km: number): Bbox {
  const reach = radius_km / SMALLEST_RADIUS_KM;
  const dLat = (reach * 180) / Math.PI;
  const south = Math.max(-90, lat - dLat);
  const north = Math.min(90, lat + dLat);
  const narrow = Math.cos((lat * Math.PI) / 180);
  if (south === -90 || north === 90 || Math.sin(reach) >= narrow) return [-180, south, 180, north];
  const dLon = (Math.asin(Math.sin(reach) / narrow) * 180) / Math.PI;
  return [lon - dLon, south, lon + dLon, north];
}
