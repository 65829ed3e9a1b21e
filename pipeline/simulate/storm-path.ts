import type { Position } from '../../schemas/geo/position.ts';
import { type Wind, windTowards } from './hodograph.ts';
import { offsetPosition } from './weather.ts';

/** Path of a storm: a gentle arc of constant turn and speed. What wanders is the shape of its core, not the storm. */
export interface StormPath {
  readonly birth_ms: number;
  readonly life_ms: number;
  readonly origin: Position;
  /** Direction at birth, and its turn to the right over the life of the storm. */
  readonly direction_deg: number;
  readonly turn_deg: number;
  readonly speed_ms: number;
}

/** Velocity along the path, m/s. */
export function motionAt(path: StormPath, time_ms: number): Wind {
  const age = (time_ms - path.birth_ms) / path.life_ms;
  return windTowards(path.direction_deg + path.turn_deg * age, path.speed_ms);
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

/** Displacement since birth, km: the chord of the arc. */
function displacementKm(path: Omit<StormPath, 'origin'>, time_ms: number): Wind {
  const turn = (((path.turn_deg * Math.PI) / 180) * (time_ms - path.birth_ms)) / path.life_ms;
  const straight_km = (path.speed_ms * (time_ms - path.birth_ms)) / 1e6;
  const chord_km = Math.abs(turn) < 1e-9 ? straight_km : (straight_km * Math.sin(turn / 2)) / (turn / 2);
  return windTowards(path.direction_deg + (turn * 90) / Math.PI, chord_km);
}
