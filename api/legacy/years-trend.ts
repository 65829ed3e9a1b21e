export const TRENDS_OF_YEARS = ['increasing', 'stable', 'decreasing'] as const;
export type TrendOfYears = (typeof TRENDS_OF_YEARS)[number];

/** Days with hail among so many dates that there are data of. */
export interface DaysOfDates {
  readonly days: number;
  readonly dates: number;
}

/** A shorter span is no year: its season would be taken for a trend. */
const DATES_MIN = 365;
/** How much more, or less, is a trend. */
const MARGIN = 0.2;

/** Whether hail days became more or fewer from one span of dates to another, by more than 20 %. */
export function trendOfYears(before: DaysOfDates, recent: DaysOfDates): TrendOfYears {
  if (before.dates < DATES_MIN || recent.dates < DATES_MIN) return 'stable';
  const [then, now] = [before.days / before.dates, recent.days / recent.dates];
  if (now > then * (1 + MARGIN)) return 'increasing';
  return now < then * (1 - MARGIN) ? 'decreasing' : 'stable';
}
