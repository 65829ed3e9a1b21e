import { MS_PER_MIN } from '../../schemas/time.ts';
import { windTowards } from './hodograph.ts';
import { type Draw, drawsOf, normal } from './random.ts';

/** Interval of the knots of a walk: velocity and intensity are linear in between. */
const KNOT_MS = 4 * MS_PER_MIN;
/** Margin of a walk before and after the life of its storm, for feeders that share it. */
const MARGIN_MS = 60 * MS_PER_MIN;
/** Decay time (1/e) of a deviation from the course, minutes. */
const VELOCITY_MEMORY_MIN = 15;
/** Decay time (1/e) of a deviation from the mean intensity, minutes. */
const STRENGTH_MEMORY_MIN = 9;
/**
 * Standard deviations of the velocity along and across the course, as shares of the speed. They give a tracker's motion the same
 * error as on real storms: SCIENCE.md, "Simulated weather".
 */
const ALONG = 0.24;
const ACROSS = 0.72;

/** A random walk of velocity about the course of a storm, and of intensity. Storms that share one move with the same flow. */
export interface Walk {
  readonly key: number;
  /** Life of its storm. */
  readonly from_ms: number;
  readonly to_ms: number;
  /** Mean course. */
  readonly bearing_deg: number;
  readonly speed_ms: number;
}

/** Deviation of the velocity from the course at an instant, and its integral since the start of the walk. */
type Deviation = Readonly<Record<'east_ms' | 'north_ms' | 'east_km' | 'north_km', number>>;

/** Values of a walk at its knots. */
type Knots = Readonly<Record<keyof Deviation | 'strength', Float64Array>>;

const cache = new WeakMap<Walk, Knots>();

/** Deviation of a walk from its course at an instant. */
export function deviationAt(walk: Walk, time_ms: number): Deviation {
  const knots = knotsOf(walk);
  const place = placeAt(walk, knots, time_ms);
  const east_ms = valueAt(knots.east_ms, place);
  const north_ms = valueAt(knots.north_ms, place);
  const ms = place.part * KNOT_MS;
  return {
    east_ms,
    north_ms,
    east_km: knots.east_km[place.knot] + displacementKm(knots.east_ms[place.knot], east_ms, ms),
    north_km: knots.north_km[place.knot] + displacementKm(knots.north_ms[place.knot], north_ms, ms),
  };
}

/** Intensity at an instant, in standard deviations from its mean. */
export function intensityAt(walk: Walk, time_ms: number): number {
  const knots = knotsOf(walk);
  return valueAt(knots.strength, placeAt(walk, knots, time_ms));
}

/** A time between two knots. */
interface Place {
  readonly knot: number;
  readonly part: number;
}

/** Knot and fraction of an instant, clamped to the range of the knots. */
function placeAt(walk: Walk, { strength }: Knots, time_ms: number): Place {
  const turns = Math.min(strength.length - 1, Math.max(0, (time_ms - walk.from_ms + MARGIN_MS) / KNOT_MS));
  const knot = Math.min(strength.length - 2, Math.floor(turns));
  return { knot, part: turns - knot };
}

function valueAt(values: Float64Array, { knot, part }: Place): number {
  return values[knot] + part * (values[knot + 1] - values[knot]);
}

/** Displacement by a velocity that changes linearly between two values, m/s, over `ms` milliseconds; 1e6 m/s x ms are 1 km. */
function displacementKm(from: number, to: number, ms: number): number {
  return ((from + to) / 2) * (ms / 1e6);
}

/** Knots of the whole walk, drawn at once: a value does not depend on the order of the calls. */
function knotsOf(walk: Walk): Knots {
  const known = cache.get(walk);
  if (known) return known;
  const length = 2 + Math.ceil((walk.to_ms - walk.from_ms + 2 * MARGIN_MS) / KNOT_MS);
  const draw = drawsOf(walk.key, 0x3a1c);
  const along = autoregression(length, VELOCITY_MEMORY_MIN, draw);
  const across = autoregression(length, VELOCITY_MEMORY_MIN, draw);
  const strength = autoregression(length, STRENGTH_MEMORY_MIN, draw);
  const ahead = windTowards(walk.bearing_deg, ALONG * walk.speed_ms);
  const aside = windTowards(walk.bearing_deg + 90, ACROSS * walk.speed_ms);
  const east_ms = along.map((value, i) => value * ahead.east + across[i] * aside.east);
  const north_ms = along.map((value, i) => value * ahead.north + across[i] * aside.north);
  const knots = { east_ms, north_ms, east_km: summedKm(east_ms), north_km: summedKm(north_ms), strength };
  cache.set(walk, knots);
  return knots;
}

/** First-order autoregressive process with standard normal values at the knots. */
function autoregression(length: number, memory_min: number, draw: Draw): Float64Array {
  const values = new Float64Array(length);
  const kept = Math.exp(-KNOT_MS / MS_PER_MIN / memory_min);
  const fresh = Math.sqrt(1 - kept * kept);
  values[0] = normal(draw);
  for (let i = 1; i < length; i += 1) values[i] = kept * values[i - 1] + fresh * normal(draw);
  return values;
}

/** Displacement since the first knot, km. */
function summedKm(velocity_ms: Float64Array): Float64Array {
  const km = new Float64Array(velocity_ms.length);
  for (let i = 1; i < km.length; i += 1)
    km[i] = km[i - 1] + displacementKm(velocity_ms[i - 1], velocity_ms[i], KNOT_MS);
  return km;
}
