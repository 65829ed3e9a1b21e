import type { DateSeenInPart } from '../../schemas/resources/radar-gaps.ts';
import type { ReportGaps } from '../../schemas/resources/report-gaps.ts';
import { clockTime, counted } from './words.ts';

/** Most gaps of a date that are printed: the longest. */
const GAPS_TOLD_MAX = 6;

/** `92.4 %` of a share of 0..1. */
export function shareInWords(share: number): string {
  return `${Number((100 * share).toFixed(1))}\u00a0%`;
}

/** `2026-05-01 (nothing from 18:00 to May 2, 00:00 UTC)`: the times for which no reports were collected. */
export function reportGapsInWords({ date, gaps }: ReportGaps['dates_collected_in_part'][number]): string {
  const clock = (time: string) => clockTime(Date.parse(time), date);
  return `${date} (nothing from ${gaps.map(({ from, to }) => `${clock(from)} to ${clock(to)}`).join(', ')} UTC)`;
}

/** `2026-05-01 (92.4 % seen; nothing from 09:08 to 10:58 UTC)`; of a date that still runs up to when it counts, too. */
export function seenInPartInWords({ date, share, until, gap_count, gaps }: DateSeenInPart): string {
  const clock = (time: string) => clockTime(Date.parse(time), date);
  const length_ms = ({ from, to }: DateSeenInPart['gaps'][number]) => Date.parse(to) - Date.parse(from);
  // What is over within a minute of the clock would read as from 00:00 to 00:00.
  const shown = gaps.filter(({ from, to }) => clock(from) !== clock(to));
  const longest = new Set(shown.toSorted((a, b) => length_ms(b) - length_ms(a)).slice(0, GAPS_TOLD_MAX));
  const told = gaps.filter((gap) => longest.has(gap)).map(({ from, to }) => `${clock(from)} to ${clock(to)}`);
  const more = gap_count > told.length ? `, and ${counted(gap_count - told.length, 'shorter time')}` : '';
  const running = until === null ? '' : ` up to ${clock(until)} UTC, its newest scan`;
  const nothing = told.length === 0 ? '' : `; nothing from ${told.join(', ')} UTC${more}`;
  return `${date} (${shareInWords(share)} seen${running}${nothing})`;
}
