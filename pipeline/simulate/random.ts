import { MS_PER_MIN } from '../../schemas/time.ts';

/** Source of independent uniform draws in [0, 1). */
export type Draw = () => number;

/** Mixes a 32-bit value into a 32-bit hash (MurmurHash3 body, its finaliser left to `finish`). */
function mix(hash: number, value: number): number {
  let k = Math.imul(value, 0xcc9e2d51);
  k = (k << 15) | (k >>> 17);
  let h = hash ^ Math.imul(k, 0x1b873593);
  h = (h << 13) | (h >>> 19);
  return (Math.imul(h, 5) + 0xe6546b64) | 0;
}

/** Finaliser of MurmurHash3: an unsigned 32-bit hash in which every bit depends on every bit of the input. */
function finish(hash: number): number {
  let h = hash ^ (hash >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Unsigned 32-bit hash of whole numbers up to 2^53 in absolute value: the same key gives the same number everywhere. */
export function hashOf(...key: number[]): number {
  let h = 0x2545f491;
  for (const part of key) h = mix(mix(h, part | 0), Math.floor(part / 2 ** 32));
  return finish(h);
}

/** Uniform number in [0, 1), a function of the key. */
export function uniformOf(...key: number[]): number {
  return hashOf(...key) / 2 ** 32;
}

/** Stream of uniform draws, a function of the key (xoshiro128**, seeded by hashes of the key). */
export function drawsOf(...key: number[]): Draw {
  let a = hashOf(1, ...key);
  let b = hashOf(2, ...key);
  let c = hashOf(3, ...key);
  let d = hashOf(4, ...key) | 1;
  return () => {
    const five = Math.imul(b, 5);
    const result = Math.imul((five << 7) | (five >>> 25), 9);
    const t = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= t;
    d = (d << 11) | (d >>> 21);
    return (result >>> 0) / 2 ** 32;
  };
}

export function between(draw: Draw, low: number, high: number): number {
  return low + (high - low) * draw();
}

/** Standard normal draw (Box and Muller, the cosine half). */
export function normal(draw: Draw): number {
  const radius = Math.sqrt(-2 * Math.log(1 - draw()));
  return radius * Math.cos(2 * Math.PI * draw());
}

export function lognormal(draw: Draw, median: number, ln_sd: number): number {
  return median * Math.exp(ln_sd * normal(draw));
}

/** Gamma draw of shape 2: the sum of two exponentials. */
export function gamma2(draw: Draw, mean: number): number {
  return (-mean / 2) * (Math.log(1 - draw()) + Math.log(1 - draw()));
}

/** Poisson draw: number of exponential waits that fit into the mean; for means up to a few hundred. */
export function poisson(draw: Draw, mean: number): number {
  let count = 0;
  let reached = -Math.log(1 - draw());
  while (reached < mean) {
    reached -= Math.log(1 - draw());
    count += 1;
  }
  return count;
}

/** Distance of the knots, km: the correlation length of the texture. */
const KNOT_KM = 2;
const SLOW_MS = 20 * MS_PER_MIN;
const FAST_MS = 4 * MS_PER_MIN;
const SLOW_SHARE = Math.sqrt(0.6);
const FAST_SHARE = Math.sqrt(0.4);
/** Factor that restores the variance lost by bilinear interpolation between knots. */
const INTERPOLATION_GAIN = 1.4;
/** Standard deviation of a sum of four random bytes. */
const BYTES_SD = 147.8;

/**
 * Smooth random field that moves with a storm: about standard normal, with a correlation length of 2 km and a correlation of about
 * .87 between scans 120 s apart. Knots are a function of the storm's key and the time alone.
 */
export interface Texture {
  readonly knots: Float32Array;
  readonly side: number;
  readonly reach_km: number;
}

export function textureAt(key: number, time_ms: number, reach_km: number): Texture {
  const half = Math.ceil(reach_km / KNOT_KM) + 1;
  const side = 2 * half + 1;
  const knots = new Float32Array(side * side);
  const slow = knotAt(key, time_ms, SLOW_MS);
  const fast = knotAt(key + 1, time_ms, FAST_MS);
  for (let j = 0; j < side; j += 1)
    for (let i = 0; i < side; i += 1) {
      const place = mix(mix(key, j - half), i - half);
      knots[j * side + i] = INTERPOLATION_GAIN * (SLOW_SHARE * slow(place) + FAST_SHARE * fast(place));
    }
  return { knots, side, reach_km: half * KNOT_KM };
}

/** Value at an offset from the storm's centre, which must lie within `reach_km`. */
export function textureValue({ knots, side, reach_km }: Texture, east_km: number, north_km: number): number {
  const x = (east_km + reach_km) / KNOT_KM;
  const y = (north_km + reach_km) / KNOT_KM;
  const i = Math.floor(x);
  const j = Math.floor(y);
  const fx = x - i;
  const fy = y - j;
  const at = j * side + i;
  const south = knots[at] * (1 - fx) + knots[at + 1] * fx;
  const north = knots[at + side] * (1 - fx) + knots[at + side + 1] * fx;
  return south * (1 - fy) + north * fy;
}

/** Weighted sum of two neighbouring knots in time. The squares of the weights sum to 1, so that the variance is constant. */
function knotAt(key: number, time_ms: number, period_ms: number): (place: number) => number {
  const turns = time_ms / period_ms + finish(key) / 2 ** 32;
  const moment = mix(Math.floor(turns), period_ms);
  const angle = ((turns - Math.floor(turns)) * Math.PI) / 2;
  const [before, after] = [Math.cos(angle), Math.sin(angle)];
  return (place) => before * gaussian(mix(place, moment)) + after * gaussian(mix(place, moment + 1));
}

/** Approximately normal value: the sum of the four bytes of a hash. */
function gaussian(hash: number): number {
  const h = finish(hash);
  return ((h & 255) + ((h >>> 8) & 255) + ((h >>> 16) & 255) + (h >>> 24) - 510) / BYTES_SD;
}
