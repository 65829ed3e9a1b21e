export const TRENDS_OF_YEARS = ['increasing', 'stable', 'decreasing'] as const;
export type TrendOfYears = (typeof TRENDS_OF_YEARS)[number];

/** Days with hail, and dates with data. */
export interface DaysOfDates {
  readonly days: number;
  readonly dates: number;
}

/** Fewest dates with data: in less than a year, a season would look like a trend. */
const DATES_MIN = 365;
/** Smallest relative change that is a trend. */
const MARGIN = 0.2;

/** Whether hail days became more or fewer from one span of dates to another, by more than 20 %. */
export function trendOfYears(before: DaysOfDates, recent: DaysOfDates): TrendOfYears {
  if (before.dates < DATES_MIN || recent.dates < DATES_MIN) return 'stable';
  const [then, now] = [before.days / before.dates, recent.days / recent.dates];
  if (now > then * (1 + MARGIN)) return 'increasing';
  return now < then * (1 - MARGIN) ? 'decreasing' : 'stable';
}
