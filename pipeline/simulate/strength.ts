import { MS_PER_MIN } from '../../schemas/time.ts';
import { drawsOf, normal } from './random.ts';

/** Interval of the knots, between which strength is linear. */
const KNOT_MS = 4 * MS_PER_MIN;
/** Time in which a deviation from the mean strength falls to 1/e, minutes. */
const STRENGTH_MEMORY_MIN = 9;

/** What the coming and going of a storm's strength follows from. */
interface Life {
  readonly key: number;
  readonly birth_ms: number;
  readonly life_ms: number;
}

const cache = new WeakMap<Life, Float64Array>();

/** Strength of a storm at an instant of its life, in standard deviations from its mean. */
export function strengthAt(storm: Life, time_ms: number): number {
  const knots = knotsOf(storm);
  const turns = Math.min(knots.length - 1, Math.max(0, (time_ms - storm.birth_ms) / KNOT_MS));
  const knot = Math.min(knots.length - 2, Math.floor(turns));
  return knots[knot] + (turns - knot) * (knots[knot + 1] - knots[knot]);
}

/**
 * First-order autoregressive process with standard normal values at the knots, drawn for the whole life at once: a value does not
 * depend on the order of the calls.
 */
function knotsOf(storm: Life): Float64Array {
  const known = cache.get(storm);
  if (known) return known;
  const draw = drawsOf(storm.key, 0x3a1c);
  const knots = new Float64Array(2 + Math.ceil(storm.life_ms / KNOT_MS));
  const kept = Math.exp(-KNOT_MS / MS_PER_MIN / STRENGTH_MEMORY_MIN);
  const fresh = Math.sqrt(1 - kept * kept);
  knots[0] = normal(draw);
  for (let i = 1; i < knots.length; i += 1) knots[i] = kept * knots[i - 1] + fresh * normal(draw);
  cache.set(storm, knots);
  return knots;
}
