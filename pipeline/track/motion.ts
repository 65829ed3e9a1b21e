import type { Position } from '../../schemas/geo/position.ts';
import { offsetKm, type Vector } from './local-plane.ts';
import { median } from './median.ts';

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

/** Componentwise median of velocities; null without any. */
export function medianVelocity(velocities: readonly Vector[]): Vector | null {
  if (velocities.length === 0) return null;
  return { east: median(velocities.map((v) => v.east)), north: median(velocities.map((v) => v.north)) };
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

/** Median velocity of the movers within 100 km of a place, km/min; null without any. */
export function regionalVelocity(at: Position, movers: readonly Mover[]): Vector | null {
  return medianVelocity(movers.filter((mover) => inRegion(at, mover)).map((mover) => mover.velocity));
}
