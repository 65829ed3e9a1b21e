import { diurnalShare } from '../../schemas/outlook-day.ts';
import { MS_PER_HOUR } from '../../schemas/time.ts';

/**
 * Storm days within 40 km for one within 10 km. The reach of a swath of 60 x 8 km, from which a day is seen, grows with the
 * radius r as (60 + 2r)(8 + 2r): (140 x 88) / (80 x 28).
 */
const DAYS_WITHIN_40_FOR_10_KM = 5.5;

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
