import { MS_PER_HOUR } from '../../schemas/time.ts';

/** Local solar hour at which hail is likeliest, sharpness of the von Mises peak, and share spread evenly over the day. */
const PEAK_H = 17.5;
const SHARPNESS = 1.6;
const FLOOR = 0.1;
/** Modified Bessel function I0(1.6): the mean of exp(1.6 cos x), by which the peak integrates to 1. */
const MEAN_OF_EXP = 1.7499806397;

/**
 * Storm days within 40 km for one within 10 km. The reach of a swath of 60 x 8 km, from which a day is seen, grows with the
 * radius r as (60 + 2r)(8 + 2r): (140 x 88) / (80 x 28).
 */
const DAYS_WITHIN_40_FOR_10_KM = 5.5;

const HOURS = 24;

/** Share of a day's hail in the UTC hour that begins at `utc_hour`, at a longitude; the shares of 24 hours sum to 1. */
export function diurnalShare(utc_hour: number, lon: number): number {
  const solar_h = utc_hour + 0.5 + lon / 15;
  const peak = Math.exp(SHARPNESS * Math.cos(((solar_h - PEAK_H) * Math.PI) / 12)) / MEAN_OF_EXP;
  return (FLOOR + (1 - FLOOR) * peak) / HOURS;
}

/** Expected days with severe hail within 40 km, per day, from the probability of one within 10 km in a month. */
function severeDays(month_probability: number, days_in_month: number): number {
  return (-Math.log(1 - Math.min(0.999, month_probability)) / days_in_month) * DAYS_WITHIN_40_FOR_10_KM;
}

/** Probability of severe hail within 40 km on one day, percent, from that within 10 km in the whole month, 0 to 1. */
export function dayProbabilityPct(month_probability: number, days_in_month: number): number {
  return 100 * (1 - Math.exp(-severeDays(month_probability, days_in_month)));
}

/** Probability of severe hail within 40 km, 0 to 1, in the hour that ends at `valid_time`, from that of the month. */
export function hourProbability(
  month_probability: number,
  days_in_month: number,
  valid_time: number,
  lon: number,
): number {
  const utc_hour = new Date(valid_time - MS_PER_HOUR).getUTCHours();
  return 1 - Math.exp(-severeDays(month_probability, days_in_month) * diurnalShare(utc_hour, lon));
}

/** UTC hour at which a day of the outlook begins. */
const FIRST_HOUR = 12;
/** Halvings that bring the scale below the precision of floating point. */
const ROUNDS = 60;
/** Part of the model's mean in an hour where the model has no hail: models are early or late. */
const TIMING_FLOOR = 0.25;
/** Largest probability of an hour. */
const MOST = 0.999;

/**
 * Hourly probabilities of a day, percent, from 12 UTC on; the product of their 24 complements is the complement of `day_pct`.
 * They follow the diurnal climatology at the longitude, times the model's own timing in the hours that it reaches (`hours`,
 * 0 to 1, null elsewhere).
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

/** Probability that at least one of the hours has hail, when each has `scale` times its share. */
function union(shape: readonly number[], scale: number): number {
  return 1 - shape.reduce((product, share) => product * (1 - Math.min(MOST, scale * share)), 1);
}
