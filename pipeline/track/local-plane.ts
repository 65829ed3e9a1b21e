import { RAD_PER_DEG, WGS84_A_KM, WGS84_E2 } from '../../schemas/geo/constants.ts';
import type { Position } from '../../schemas/geo/position.ts';

/** East and north components, km or km per minute. */
export interface Vector {
  readonly east: number;
  readonly north: number;
}

/** Kilometres per degree of longitude and of latitude at a latitude, from the radii of curvature of WGS84. */
export function kmPerDegree(lat: number): Vector {
  const sin = Math.sin(lat * RAD_PER_DEG);
  const w2 = 1 - WGS84_E2 * sin * sin;
  const w = Math.sqrt(w2);
  return {
    east: (WGS84_A_KM / w) * Math.cos(lat * RAD_PER_DEG) * RAD_PER_DEG,
    north: ((WGS84_A_KM * (1 - WGS84_E2)) / (w2 * w)) * RAD_PER_DEG,
  };
}

/**
 * Offset from one position to another in km, on the plane tangent to WGS84 at their middle latitude.
 * Within 100 km and 25..50 N its length is within 10 m of the geodesic.
 */
export function offsetKm(from: Position, to: Position): Vector {
  const km = kmPerDegree((from.lat + to.lat) / 2);
  return { east: (to.lon - from.lon) * km.east, north: (to.lat - from.lat) * km.north };
}

/** Position at an offset in km; inverse of `offsetKm`. */
export function addOffset(from: Position, offset: Vector): Position {
  const rough = from.lat + offset.north / kmPerDegree(from.lat).north;
  const lat = from.lat + offset.north / kmPerDegree((from.lat + rough) / 2).north;
  return { lat, lon: from.lon + offset.east / kmPerDegree((from.lat + lat) / 2).east };
}
