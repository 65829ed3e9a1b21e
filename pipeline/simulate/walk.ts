import { MS_PER_MIN } from '../../schemas/time.ts';
import { windTowards } from './hodograph.ts';
import { type Draw, drawsOf, normal } from './random.ts';

/** Knots of a walk: velocity and strength are linear in between. */
const KNOT_MS = 4 * MS_PER_MIN;
/** A walk begins so long before its storm and goes on so long after it: storms that run into it share it. */
const MARGIN_MS = 60 * MS_PER_MIN;
/** Minutes in which a deviation from the course falls to 1/e. */
const VELOCITY_MEMORY_MIN = 15;
/** Minutes in which a deviation from the usual strength falls to 1/e. */
const STRENGTH_MEMORY_MIN = 9;
/**
 * Standard deviations of the velocity along and across the course, as shares of the speed. With them a tracker's motion
 * is wrong by what it is wrong on real storms: SCIENCE.md, "Simulated weather".
 */
const ALONG = 0.24;
const ACROSS = 0.72;

/** A random walk of velocity about the course of a storm, and of strength; who shares it is carried by the same flow. */
export interface Walk {
  readonly key: number;
  /** Life of the storm that it belongs to. */
  readonly from_ms: number;
  readonly to_ms: number;
  /** Course that it deviates from. */
  readonly bearing_deg: number;
  readonly speed_ms: number;
}

/** What a walk adds to the velocity at an instant, and the way that it has added since it began. */
interface Deviation {
  readonly east_ms: number;
  readonly north_ms: number;
  readonly east_km: number;
  readonly north_km: number;
}

/** Values of a walk at its knots. */
interface Knots {
  readonly east_ms: Float64Array;
  readonly north_ms: Float64Array;
  readonly east_km: Float64Array;
  readonly north_km: Float64Array;
  readonly strength: Float64Array;
}

const remembered = new WeakMap<Walk, Knots>();

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
    east_km: knots.east_km[place.knot] + wayKm(knots.east_ms[place.knot], east_ms, ms),
    north_km: knots.north_km[place.knot] + wayKm(knots.north_ms[place.knot], north_ms, ms),
  };
}

/** Strength at an instant, in standard deviations from the usual. */
export function strengthAt(walk: Walk, time_ms: number): number {
  const knots = knotsOf(walk);
  return valueAt(knots.strength, placeAt(walk, knots, time_ms));
}

/** A place between two knots. */
interface Place {
  readonly knot: number;
  readonly part: number;
}

/** Place of an instant; nothing lives before the first knot or after the last. */
function placeAt(walk: Walk, { strength }: Knots, time_ms: number): Place {
  const turns = Math.min(strength.length - 1, Math.max(0, (time_ms - walk.from_ms + MARGIN_MS) / KNOT_MS));
  const knot = Math.min(strength.length - 2, Math.floor(turns));
  return { knot, part: turns - knot };
}

function valueAt(values: Float64Array, { knot, part }: Place): number {
  return values[knot] + part * (values[knot + 1] - values[knot]);
}

/** Way of a velocity that goes evenly from one value to another, m/s, in so many milliseconds; 1e6 of m/s x ms are a km. */
function wayKm(from: number, to: number, ms: number): number {
  return ((from + to) / 2) * (ms / 1e6);
}

/** The whole walk, drawn at once: what it is at an instant does not depend on what was asked before. */
function knotsOf(walk: Walk): Knots {
  const known = remembered.get(walk);
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
  remembered.set(walk, knots);
  return knots;
}

/** Standard normal values at the knots, of which each keeps of the one before what the memory leaves. */
function autoregression(length: number, memory_min: number, draw: Draw): Float64Array {
  const values = new Float64Array(length);
  const kept = Math.exp(-KNOT_MS / MS_PER_MIN / memory_min);
  const fresh = Math.sqrt(1 - kept * kept);
  values[0] = normal(draw);
  for (let i = 1; i < length; i += 1) values[i] = kept * values[i - 1] + fresh * normal(draw);
  return values;
}

/** Way since the first knot, km. */
function summedKm(velocity_ms: Float64Array): Float64Array {
  const km = new Float64Array(velocity_ms.length);
  for (let i = 1; i < km.length; i += 1) km[i] = km[i - 1] + wayKm(velocity_ms[i - 1], velocity_ms[i], KNOT_MS);
  return km;
}
