import { rounded } from '../rules/rounded.ts';

/** Words of the earlier variant for damage. */
export const DAMAGE_ESTIMATES = ['none', 'minor', 'moderate', 'significant', 'severe'] as const;
/** Smallest size of each of these words, mm. */
const FROM_MM = [0, 19, 25, 38, 63];

/** Damage estimate for hail of a size. */
export function damageEstimate(size_mm: number): (typeof DAMAGE_ESTIMATES)[number] {
  return DAMAGE_ESTIMATES[FROM_MM.findLastIndex((from_mm) => size_mm >= from_mm)] ?? 'none';
}

const LAST_HOUR = 48;
const FIRST_CONFIDENCE = 0.9;
const LAST_CONFIDENCE = 0.4;

/** Confidence of an hour of the forecast in the earlier variant: .9 for the first hour, falling evenly to .4 for the 48th. */
export function forecastConfidence(hour: number): number {
  const share = (hour - 1) / (LAST_HOUR - 1);
  return rounded(FIRST_CONFIDENCE + share * (LAST_CONFIDENCE - FIRST_CONFIDENCE), 3);
}

export const TRENDS_OF_YEARS = ['increasing', 'stable', 'decreasing'] as const;

/** Days with hail, and dates with data. */
type DaysOfDates = Readonly<Record<'days' | 'dates', number>>;

/** Fewest dates with data: in less than a year, a season would look like a trend. */
const DATES_MIN = 365;
/** Smallest relative change that is a trend. */
const MARGIN = 0.2;

/** Whether hail days became more or fewer from one span of dates to another, by more than 20 %. */
export function trendOfYears(before: DaysOfDates, recent: DaysOfDates): (typeof TRENDS_OF_YEARS)[number] {
  if (before.dates < DATES_MIN || recent.dates < DATES_MIN) return 'stable';
  const [then, now] = [before.days / before.dates, recent.days / recent.dates];
  if (now > then * (1 + MARGIN)) return 'increasing';
  return now < then * (1 - MARGIN) ? 'decreasing' : 'stable';
}
