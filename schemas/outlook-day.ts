import { MS_PER_HOUR, stormDate } from './time.ts';

export const DAY_HOURS = 24;
/** Hour of UTC at which the days of outlooks begin. */
const FIRST_HOUR = 12;
/** A storm raises the probability of its hour and of those before and after. */
const HOURS_PER_STORM = 3;
/** Local solar hour at which hail is likeliest, sharpness of the von Mises peak, and share spread evenly over the day. */
const PEAK_H = 17.5;
const SHARPNESS = 1.6;
const FLOOR = 0.1;
/** Modified Bessel function I0(1.6): the mean of exp(1.6 cos x), by which the peak integrates to 1. */
const MEAN_OF_EXP = 1.7499806397;

/** Hours of a day, from 12 UTC on, as probabilities from 0 to 1; null for an hour that is over or not known. */
export type DayHours = readonly (number | null)[];

/** Date of the day of outlooks that is running: that of the last 12 UTC. Earlier days are over. */
export function outlookDate(at_ms: number): string {
  return stormDate(at_ms, FIRST_HOUR);
}

/** Ends of the hours of a day. */
export function hourEnds(forecast_date: string): number[] {
  const start = Date.parse(forecast_date) + FIRST_HOUR * MS_PER_HOUR;
  return Array.from({ length: DAY_HOURS }, (_, k) => start + (k + 1) * MS_PER_HOUR);
}

/** Number of hours of a day that are over at an instant. */
export function hoursOver(forecast_date: string, at_ms: number): number {
  return hourEnds(forecast_date).filter((end_ms) => end_ms <= at_ms).length;
}

/** Probability of hail on a day, from those of its hours, each storm counted in three; never below the likeliest hour. */
export function dayOfHours(hours: readonly number[]): number {
  const none = hours.reduce((product, p) => product * (1 - p), 1);
  return Math.max(1 - none ** (1 / HOURS_PER_STORM), ...hours);
}

/** Share of a day's hail in the UTC hour that begins at `utc_hour`, at a longitude; the shares of 24 hours sum to 1. */
export function diurnalShare(utc_hour: number, lon: number): number {
  const solar_h = utc_hour + 0.5 + lon / 15;
  const peak = Math.exp(SHARPNESS * Math.cos(((solar_h - PEAK_H) * Math.PI) / 12)) / MEAN_OF_EXP;
  return (FLOOR + (1 - FLOOR) * peak) / DAY_HOURS;
}

/** Shares of the hours of a day that are ahead once `over` of them are over. */
export function sharesAhead(lon: number, over: number): number[] {
  return Array.from({ length: DAY_HOURS - over }, (_, k) => diurnalShare((FIRST_HOUR + over + k) % DAY_HOURS, lon));
}

/** What usually remains of the probability of a day, 0 to 1, once `over` of its hours are over. */
export function usualRest(day: number, lon: number, over: number): number {
  return 1 - (1 - day) ** sharesAhead(lon, over).reduce((sum, share) => sum + share, 0);
}
