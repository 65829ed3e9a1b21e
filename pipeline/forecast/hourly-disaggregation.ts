import { diurnalShare } from './diurnal-climatology.ts';

const HOURS = 24;
/** Hour of UTC at which a day of the outlook begins. */
const FIRST_HOUR = 12;
/** Rounds of halving that bring the scale below the precision of floating point. */
const ROUNDS = 60;
/** Part of the model's mean that an hour keeps in which it has nothing: models are early or late. */
const TIMING_FLOOR = 0.25;
/** No hour is certain. */
const MOST = 0.999;

/**
 * 24 percentages from 12 UTC on, whose complements multiply to the complement of the day's: the usual course of a day at
 * the longitude, times the model's own timing in the hours that it reaches (`hours`, 0 to 1, null elsewhere).
 */
export function hourlyDisaggregation(day_pct: number, lon: number, hours: readonly (number | null)[]): number[] {
  const known = hours.filter((p) => p !== null);
  const mean = known.reduce((sum, p) => sum + p, 0) / Math.max(1, known.length);
  const shape = Array.from({ length: HOURS }, (_, k) => {
    const p = hours[k] ?? null;
    const timing = p === null || mean === 0 ? 1 : (p + TIMING_FLOOR * mean) / ((1 + TIMING_FLOOR) * mean);
    return diurnalShare((FIRST_HOUR + k) % HOURS, lon) * timing;
  });
  const day = Math.min(1 - (1 - MOST) ** HOURS, day_pct / 100);
  let low = 0;
  let high = MOST / Math.min(...shape);
  for (let round = 0; round < ROUNDS; round++) {
    const middle = (low + high) / 2;
    if (union(shape, middle) < day) low = middle;
    else high = middle;
  }
  return shape.map((share) => 100 * Math.min(MOST, high * share));
}

/** Chance that at least one of the hours has hail, if each has `scale` times its share. */
function union(shape: readonly number[], scale: number): number {
  return 1 - shape.reduce((product, share) => product * (1 - Math.min(MOST, scale * share)), 1);
}
