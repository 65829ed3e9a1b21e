import { addDays, utcDate } from '../../schemas/time.ts';

/** Which end of a range of dates lies in the future, and what was expected. */
export interface RangeFault {
  readonly member: 'date_start' | 'date_end';
  /** Reads on after the member's name. */
  readonly reason: string;
}

/** Why a range is too far ahead of the clock, null when it is not: it starts today (UTC) at the latest, and ends tomorrow, for time zones. */
export function rangeFault(
  { date_start, date_end }: { readonly date_start: string; readonly date_end: string },
  now_ms: number,
): RangeFault | null {
  const fault = startFault(date_start, now_ms);
  if (fault !== null) return fault;
  const tomorrow = addDays(utcDate(now_ms), 1);
  if (date_end > tomorrow)
    return { member: 'date_end', reason: `is ${date_end}, expected at most tomorrow, ${tomorrow} UTC` };
  return null;
}

/** Why a first date is too far ahead of the clock: it is after today (UTC); null when it is not. */
export function startFault(date_start: string, now_ms: number): RangeFault | null {
  const today = utcDate(now_ms);
  if (date_start <= today) return null;
  return { member: 'date_start', reason: `is ${date_start}, expected at most today, ${today} UTC` };
}
