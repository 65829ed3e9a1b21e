import { addDays, utcDate } from '../../schemas/time.ts';
import { ApiError } from '../http/errors.ts';

/**
 * Why a range of storm dates is too far ahead of the clock, null when it is not: it starts today (UTC) at the latest and ends tomorrow
 * at the latest, for time zones. `reason` reads on after the name of the date, as the caller gave it.
 */
export function rangeFault(
  { date_start, date_end = date_start }: { readonly date_start: string; readonly date_end?: string },
  now_ms: number,
  [start, end]: readonly [string, string] = ['date_start', 'date_end'],
): Readonly<Record<'name' | 'reason', string>> | null {
  const today = utcDate(now_ms);
  if (date_start > today) return { name: start, reason: `is ${date_start}, expected at most today, ${today} UTC` };
  const tomorrow = addDays(today, 1);
  return date_end > tomorrow
    ? { name: end, reason: `is ${date_end}, expected at most tomorrow, ${tomorrow} UTC` }
    : null;
}

/** Definition of a storm date in a sentence, by the UTC hour at which it begins. */
export function stormDayInWords(start_hour: number): string {
  if (start_hour === 0) return 'A storm date is a UTC calendar day; all times are UTC.';
  const hour = `${String(start_hour).padStart(2, '0')}:00 UTC`;
  return `A storm date runs from ${hour} to ${hour} of the next day and is named by its beginning; all times are UTC.`;
}

/** Throws ApiError bad_request for a range of dates in a body that is too far ahead of the clock. */
export function checkRange(range: { readonly date_start: string; readonly date_end?: string }, now_ms: number): void {
  const fault = rangeFault(range, now_ms);
  if (fault !== null) throw new ApiError('bad_request', `/${fault.name}: ${fault.reason}`);
}
