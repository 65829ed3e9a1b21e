import { MS_PER_MIN } from '../../schemas/time.ts';
import { finish, mix } from './random.ts';

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
  const slow = blend(key, time_ms, SLOW_MS);
  const fast = blend(key + 1, time_ms, FAST_MS);
  for (let j = 0; j < side; j += 1)
    for (let i = 0; i < side; i += 1) {
      const place = mix(mix(key, j - half), i - half);
      knots[j * side + i] =
        INTERPOLATION_GAIN * (SLOW_SHARE * between(place, slow) + FAST_SHARE * between(place, fast));
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

/** Two neighbouring time knots and their weights, whose squares sum to 1: the variance is constant in between. */
function blend(key: number, time_ms: number, period_ms: number) {
  const turns = time_ms / period_ms + finish(key) / 2 ** 32;
  const moment = Math.floor(turns);
  const angle = ((turns - moment) * Math.PI) / 2;
  return { moment: mix(moment, period_ms), before: Math.cos(angle), after: Math.sin(angle) };
}

function between(place: number, { moment, before, after }: ReturnType<typeof blend>): number {
  return before * gaussian(mix(place, moment)) + after * gaussian(mix(place, moment + 1));
}

/** Approximately normal value: the sum of the four bytes of a hash. */
function gaussian(hash: number): number {
  const h = finish(hash);
  return ((h & 255) + ((h >>> 8) & 255) + ((h >>> 16) & 255) + (h >>> 24) - 510) / BYTES_SD;
}
