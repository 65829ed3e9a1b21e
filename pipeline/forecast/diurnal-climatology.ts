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
export function hourProbability(month_probability: number, valid_time: number, lon: number): number {
  const utc_hour = new Date(valid_time - MS_PER_HOUR).getUTCHours();
  return 1 - Math.exp(-severeDays(month_probability, daysInMonth(valid_time)) * diurnalShare(utc_hour, lon));
}

/** Days of the UTC month of an instant. */
export function daysInMonth(time_ms: number): number {
  const time = new Date(time_ms);
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + 1, 0)).getUTCDate();
}

/** UTC hour at which a day of the outlook begins. */
const FIRST_HOUR = 12;
/** Largest probability that is dealt out. */
const MOST = 0.99999;

/**
 * A day dealt out over its hours as if they were independent: percentages from 12 UTC on, of which the product of the 24
 * complements is the complement of `day_pct`. The hours of the forecast (`hours`, 0 to 1, null elsewhere) share it in proportion
 * to their rates, none above its own; the hours that it lacks share the rest by the diurnal climatology at the longitude. Where it
 * lacks none, the day is no likelier than its hours together.
 */
export function hourlyDisaggregation(day_pct: number, lon: number, hours: readonly (number | null)[]): number[] {
  const shares = Array.from({ length: HOURS }, (_, k) => diurnalShare((FIRST_HOUR + k) % HOURS, lon));
  const rates = hours.map((p) => (p === null ? null : rate(p)));
  const day = rate(day_pct / 100);
  const forecast = sum(rates.map((each) => each ?? 0));
  const forecast_share = sum(shares.filter((_, k) => rates[k] !== null));
  const other_share = sum(shares) - forecast_share;
  const is_whole = rates.every((each) => each !== null);
  // What the whole day would have if the hours that the forecast lacks were like the others.
  const expected = is_whole ? forecast : (forecast * (forecast_share + other_share)) / forecast_share;
  const scale = expected > 0 ? Math.min(1, day / expected) : 0;
  const other = is_whole ? 0 : (day - scale * forecast) / other_share;
  return shares.map((share, k) => 100 * (1 - Math.exp(-(rates[k] === null ? other * share : scale * rates[k]))));
}

/** Expected number of events, from the probability of at least one. */
function rate(p: number): number {
  return -Math.log(1 - Math.min(MOST, p));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
