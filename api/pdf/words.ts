import type { DateSeenInPart } from '../../schemas/resources/radar-gaps.ts';
import type { ReportGaps } from '../../schemas/resources/report-gaps.ts';
import { sizeCategory } from '../../schemas/size.ts';
import { addDays, timestamp, utcDate } from '../../schemas/time.ts';
import { METRES_PER_FOOT, METRES_PER_MILE, MM_PER_INCH } from '../../schemas/units.ts';
import type { LocalTime } from '../rules/local-time.ts';

/** Limit of gaps printed for one date; the longest are printed. */
const GAPS_PRINTED_MAX = 6;
const LONG_DATE = new Intl.DateTimeFormat('en-US', { dateStyle: 'long', timeZone: 'UTC' });
const SHORT_DATE = new Intl.DateTimeFormat('en-US', { month: 'short', day: 'numeric', timeZone: 'UTC' });

/** `May 1, 2026`, as it is written where these documents are read. */
export function longDate(date: string): string {
  return LONG_DATE.format(new Date(date));
}

/** `1.63 in`. The space does not break, as between all figures and units. */
export function inches(mm: number): string {
  return `${(mm / MM_PER_INCH).toFixed(2)}\u00a0in`;
}

/** `41.5 mm`, `19 mm`. */
export function millimetres(mm: number): string {
  return `${Math.round(10 * mm) / 10}\u00a0mm`;
}

/** `1.63 in (41.5 mm)`. */
export function sizeInWords(mm: number): string {
  return `${inches(mm)} (${millimetres(mm)})`;
}

/** Name of the size band in words: `golf ball`. */
export function sizeName(mm: number): string {
  return sizeCategory(mm)?.replace('_', ' ') ?? 'below nickel';
}

export function miles(distance_m: number): string {
  return `${(distance_m / METRES_PER_MILE).toFixed(2)}\u00a0mi`;
}

export function kilometres(distance_m: number): string {
  return `${(distance_m / 1000).toFixed(2)}\u00a0km`;
}

/** `0.83 mi (1.34 km)`. */
export function distanceInWords(distance_m: number): string {
  return `${miles(distance_m)} (${kilometres(distance_m)})`;
}

/** `3,117 ft (950 m)`. */
export function heightInWords(height_m: number): string {
  return `${thousands(height_m / METRES_PER_FOOT)}\u00a0ft (${thousands(height_m)}\u00a0m)`;
}

/** `39.12345° N, 94.56789° W`. */
export function coordinates({ lat, lon }: { readonly lat: number; readonly lon: number }): string {
  return `${Math.abs(lat).toFixed(5)}° ${lat < 0 ? 'S' : 'N'}, ${Math.abs(lon).toFixed(5)}° ${lon < 0 ? 'W' : 'E'}`;
}

/** `2026-05-01 20:12 UTC`. */
export function instantInWords(time_ms: number): string {
  return `${timestamp(time_ms).slice(0, 16).replace('T', ' ')} UTC`;
}

/** `20:12`; with the UTC date where it differs from the storm date: `May 2, 00:31`. */
export function clockTime(time_ms: number, event_date: string): string {
  const clock = timestamp(time_ms).slice(11, 16);
  const date = utcDate(time_ms);
  return date === event_date ? clock : `${shortDate(date)}, ${clock}`;
}

/** `May 1, 3:12 p.m.` in local time. */
export function localTime(local: LocalTime, time_ms: number): string {
  const { date, clock } = local.at(time_ms);
  return `${shortDate(date)}, ${clock}`;
}

/** `May 1, 3:12 p.m. to 4:04 p.m. CDT`; a second date or abbreviation is written where it begins. */
export function localSpan(local: LocalTime, first_ms: number, last_ms: number): string {
  const [first, last] = [local.at(first_ms), local.at(last_ms)];
  const begin = `${localTime(local, first_ms)}${first.abbreviation === last.abbreviation ? '' : ` ${first.abbreviation}`}`;
  const end = first.date === last.date ? last.clock : localTime(local, last_ms);
  return `${first_ms === last_ms ? begin : `${begin} to ${end}`} ${last.abbreviation}`;
}

/** Abbreviations of local time at these instants, in their order: `CST, CDT`. */
export function localNames(local: LocalTime, times_ms: readonly number[]): string {
  return [...new Set(times_ms.map((time_ms) => local.at(time_ms).abbreviation))].join(', ');
}

/** `May 2`. */
function shortDate(date: string): string {
  return SHORT_DATE.format(new Date(date));
}

/** `3 days`, `1 day`, `1,204 days`. */
export function counted(count: number, what: string): string {
  return `${thousands(count)} ${what}${count === 1 ? '' : 's'}`;
}

/** `12,345`. */
export function thousands(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** Ascending dates as runs: `2026-05-01, 2026-05-03 to 2026-05-05`. */
export function datesInWords(dates: readonly string[]): string {
  const runs: { first: string; last: string }[] = [];
  for (const date of dates) {
    const run = runs.at(-1);
    if (run !== undefined && addDays(run.last, 1) === date) run.last = date;
    else runs.push({ first: date, last: date });
  }
  return runs.map(({ first, last }) => (first === last ? first : `${first} to ${last}`)).join(', ');
}

/** `92.4 %` of a share of 0..1. */
export function shareInWords(share: number): string {
  return `${Number((100 * share).toFixed(1))}\u00a0%`;
}

/** `2026-05-01 (nothing from 18:00 to May 2, 00:00 UTC)`: times without collected reports. */
export function reportGapsInWords({ date, gaps }: ReportGaps['dates_collected_in_part'][number]): string {
  const clock = (time: string) => clockTime(Date.parse(time), date);
  return `${date} (nothing from ${gaps.map(({ from, to }) => `${clock(from)} to ${clock(to)}`).join(', ')} UTC)`;
}

/** `2026-05-01 (92.4 % seen; nothing from 09:08 to 10:58 UTC)`; for a running date also the time up to which the share counts. */
export function seenInPartInWords({ date, share, until, gap_count, gaps }: DateSeenInPart): string {
  const clock = (time: string) => clockTime(Date.parse(time), date);
  const length_ms = ({ from, to }: DateSeenInPart['gaps'][number]) => Date.parse(to) - Date.parse(from);
  // A gap within one minute would read as from 00:00 to 00:00.
  const shown = gaps.filter(({ from, to }) => clock(from) !== clock(to));
  const longest = new Set(shown.toSorted((a, b) => length_ms(b) - length_ms(a)).slice(0, GAPS_PRINTED_MAX));
  const printed = gaps.filter((gap) => longest.has(gap)).map(({ from, to }) => `${clock(from)} to ${clock(to)}`);
  const more = gap_count > printed.length ? `, and ${counted(gap_count - printed.length, 'shorter time')}` : '';
  const running = until === null ? '' : ` up to ${clock(until)} UTC, its newest scan`;
  const nothing = printed.length === 0 ? '' : `; nothing from ${printed.join(', ')} UTC${more}`;
  return `${date} (${shareInWords(share)} seen${running}${nothing})`;
}
