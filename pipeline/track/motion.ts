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

/** Motion as published: speed in km/h and direction towards which it points, degrees, 0 = north, clockwise. */
export interface Heading {
  readonly speed_kmh: number;
  readonly direction_deg: number;
}

/** Mature tracks within this distance define the regional motion. */
const REGION_KM = 100;
const REGION_DEG = 1; // a degree of latitude is at least 110 km

/** Speed and direction of a velocity in km/min. */
export function headingOf(velocity: Vector): Heading {
  const degrees = (Math.atan2(velocity.east + 0, velocity.north + 0) * 180) / Math.PI; // + 0 makes 0 of -0
  return { speed_kmh: 60 * Math.hypot(velocity.east, velocity.north), direction_deg: (degrees + 360) % 360 };
}

/** Velocity in km/min of a speed and direction. */
export function velocityOf(heading: Heading): Vector {
  const radians = (heading.direction_deg * Math.PI) / 180;
  const km_min = heading.speed_kmh / 60;
  return { east: km_min * Math.sin(radians), north: km_min * Math.cos(radians) };
}

/** Position and velocity of a mature track. */
export interface Mover extends Position {
  readonly velocity: Vector;
}

/** True for two places in one region: within 100 km of each other. */
export function inRegion(a: Position, b: Position): boolean {
  if (Math.abs(a.lat - b.lat) > REGION_DEG) return false;
  const off = offsetKm(a, b);
  return Math.hypot(off.east, off.north) <= REGION_KM;
}

/** Componentwise median velocity of the movers within 100 km of a place, km/min; null without any. */
export function regionalVelocity(at: Position, movers: readonly Mover[]): Vector | null {
  const velocities = movers.filter((mover) => inRegion(at, mover)).map((mover) => mover.velocity);
  if (velocities.length === 0) return null;
  return { east: median(velocities.map((v) => v.east)), north: median(velocities.map((v) => v.north)) };
}

/** Median of a non-empty list; of an even number the mean of the two middle values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  return sorted.length % 2 ? upper : (sorted[middle - 1] + upper) / 2;
}
