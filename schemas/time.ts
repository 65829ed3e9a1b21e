export const MS_PER_MIN = 60_000;
export const MS_PER_HOUR = 60 * MS_PER_MIN;
export const MS_PER_DAY = 24 * MS_PER_HOUR;

/** The last formatted day: requests and rows of a scan format the same day thousands of times. */
let last = { day: Number.NaN, date: '' };

/** `YYYY-MM-DD` of a UTC instant in epoch milliseconds; throws RangeError for NaN and what lies outside the range of Date. */
export function utcDate(time_ms: number): string {
  const day = Math.floor(time_ms / MS_PER_DAY);
  if (day !== last.day) last = { day, date: new Date(time_ms).toISOString().slice(0, 10) };
  return last.date;
}

/**
 * Storm date of an instant: the one function that decides a day.
 * With `startHour` 0 it is the UTC calendar day; with 12 the convective day, labelled by its start.
 */
export function stormDate(time_ms: number, startHour: number): string {
  return utcDate(time_ms - startHour * MS_PER_HOUR);
}

/** First instant of a storm date, epoch milliseconds. */
export function stormDateStart(date: string, startHour: number): number {
  return Date.parse(`${date}T00:00:00Z`) + startHour * MS_PER_HOUR;
}

/** The date `days` after `date`, both `YYYY-MM-DD`. */
export function addDays(date: string, days: number): string {
  return utcDate(Date.parse(`${date}T00:00:00Z`) + days * MS_PER_DAY);
}

/** Days from a date to another, both included; below 1 where the other is the earlier. */
export function daysBetween(first: string, last: string): number {
  return Math.round((Date.parse(last) - Date.parse(first)) / MS_PER_DAY) + 1;
}

/** The dates from one to another, both included; none where the last is the earlier. */
export function datesThrough(first: string, last: string): string[] {
  return Array.from({ length: Math.max(0, daysBetween(first, last)) }, (_, day) => addDays(first, day));
}

/** Scan id of an instant: its compact time, such as `20260501T201200Z`. */
export function scanId(time_ms: number): string {
  return `${new Date(time_ms).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
}

/** Epoch milliseconds of a compact scan time; throws on anything else. */
export function scanTime(id: string): number {
  const parts = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/.exec(id);
  const time_ms = parts
    ? Date.parse(`${parts[1]}-${parts[2]}-${parts[3]}T${parts[4]}:${parts[5]}:${parts[6]}Z`)
    : Number.NaN;
  if (Number.isNaN(time_ms) || scanId(time_ms) !== id)
    throw new RangeError(`scan id is '${id}', expected YYYYMMDDTHHMMSSZ`);
  return time_ms;
}

/** Timestamp of an instant, such as `2026-05-01T20:12:00Z`; null stays null. */
export function timestamp(time_ms: number): string;
export function timestamp(time_ms: number | null): string | null;
export function timestamp(time_ms: number | null): string | null {
  return time_ms === null ? null : `${new Date(time_ms).toISOString().slice(0, 19)}Z`;
}

/** The last instant written: charges of one commit share few. */
let lastInstant = { time_ms: Number.NaN, text: '' };

/** `2026-05-01T20:12:00.123Z`: how rows of the records hold an instant in epoch milliseconds; its text sorts by time. */
export function instant(time_ms: number): string {
  if (time_ms !== lastInstant.time_ms) lastInstant = { time_ms, text: new Date(time_ms).toISOString() };
  return lastInstant.text;
}

/** Timestamp in whole seconds of a stored instant such as `2026-05-01T20:12:00.123Z`; null stays null. */
export function wholeSeconds(at: string): string;
export function wholeSeconds(at: string | null): string | null;
export function wholeSeconds(at: string | null): string | null {
  return at === null ? null : timestamp(Date.parse(at));
}

/** True for a `YYYY-MM-DD` that exists in the calendar. */
export function isCalendarDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time_ms = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time_ms) && utcDate(time_ms) === text;
}

/** Month `YYYY-MM` of a date `YYYY-MM-DD`. */
export function monthOf(date: string): string {
  return date.slice(0, 'YYYY-MM'.length);
}
