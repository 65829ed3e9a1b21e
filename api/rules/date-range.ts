import { addDays, utcDate } from '../../schemas/time.ts';

/** Which end of a range of dates lies in the future. */
export interface RangeFault {
  /** Parameter or member that gave the date. */
  readonly name: string;
  /** Reads on after the name. */
  readonly reason: string;
}

/**
 * Why a range of storm dates is too far ahead of the clock, null when it is not: it starts today (UTC) at the latest and ends tomorrow
 * at the latest, for time zones. `names`: how the caller gave the two dates.
 */
export function rangeFault(
  { date_start, date_end = date_start }: { readonly date_start: string; readonly date_end?: string },
  now_ms: number,
  [start, end]: readonly [string, string] = ['date_start', 'date_end'],
): RangeFault | null {
  const today = utcDate(now_ms);
  if (date_start > today) return { name: start, reason: `is ${date_start}, expected at most today, ${today} UTC` };
  const tomorrow = addDays(today, 1);
  return date_end > tomorrow
    ? { name: end, reason: `is ${date_end}, expected at most tomorrow, ${tomorrow} UTC` }
    : null;
}
