import type { Position } from '../../schemas/geo/position.ts';
import { type Wind, windTowards } from './hodograph.ts';
import { deviationAt, type Walk } from './walk.ts';
import { offsetPosition } from './weather.ts';

/** Path of a storm: its course, an arc of constant turn and speed, plus a random walk of velocity about it. */
export interface StormPath {
  readonly birth_ms: number;
  readonly life_ms: number;
  readonly origin: Position;
  /** Direction of the course at birth, and its turn to the right over the life of the storm. */
  readonly direction_deg: number;
  readonly turn_deg: number;
  readonly speed_ms: number;
  /** Its own walk, or that of the storm that it feeds, so that both are carried along together. */
  readonly walk: Walk;
}

/** Velocity along the course, m/s. */
export function courseAt(path: StormPath, time_ms: number): Wind {
  const age = (time_ms - path.birth_ms) / path.life_ms;
  return windTowards(path.direction_deg + path.turn_deg * age, path.speed_ms);
}

/** Velocity including the walk, m/s. */
export function motionAt(path: StormPath, time_ms: number): Wind {
  const course = courseAt(path, time_ms);
  const { east_ms, north_ms } = deviationAt(path.walk, time_ms);
  return { east: course.east + east_ms, north: course.north + north_ms };
}

/** Position on the path. */
export function positionAt(path: StormPath, time_ms: number): Position {
  const { east, north } = displacementKm(path, time_ms);
  return offsetPosition(path.origin, east, north);
}

/** Origin of the path that passes a place at an instant. */
export function originThrough(place: Position, path: Omit<StormPath, 'origin'>, time_ms: number): Position {
  const { east, north } = displacementKm(path, time_ms);
  return offsetPosition(place, -east, -north);
}

/** Displacement since birth, km. */
function displacementKm(path: Omit<StormPath, 'origin'>, time_ms: number): { east: number; north: number } {
  const start = (path.direction_deg * Math.PI) / 180;
  const turn = (((path.turn_deg * Math.PI) / 180) * (time_ms - path.birth_ms)) / path.life_ms;
  const straight_km = (path.speed_ms * (time_ms - path.birth_ms)) / 1e6;
  const chord_km = Math.abs(turn) < 1e-9 ? straight_km : (straight_km * Math.sin(turn / 2)) / (turn / 2);
  const now = deviationAt(path.walk, time_ms);
  const born = deviationAt(path.walk, path.birth_ms);
  return {
    east: chord_km * Math.sin(start + turn / 2) + now.east_km - born.east_km,
    north: chord_km * Math.cos(start + turn / 2) + now.north_km - born.north_km,
  };
}
