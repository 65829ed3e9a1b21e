import { addDays, utcDate } from '../../schemas/time.ts';

/** An end of a range of storm dates, by the parameter that gave it. */
export interface NamedDate {
  readonly name: string;
  readonly date: string;
}

/** What is wrong with a range that lies ahead, or null; a day is allowed for time zones at the end. */
export function aheadFault(start: NamedDate, end: NamedDate, now_ms: number): string | null {
  const today = utcDate(now_ms);
  if (start.date > today) return `${start.name} is ${start.date}, expected at most today, ${today} UTC`;
  const tomorrow = addDays(today, 1);
  return end.date > tomorrow ? `${end.name} is ${end.date}, expected at most tomorrow, ${tomorrow} UTC` : null;
}
