import { type DateSeenInPart, GAPS_LISTED_MAX, SEEN_MIN_SHARE } from '../../schemas/resources/radar-gaps.ts';
import { addDays, stormDateStart, timestamp } from '../../schemas/time.ts';
import { rounded } from './rounded.ts';

/** A scan counts for the time up to the next one, but for no longer than this. */
const SCAN_STANDS_MS = 10 * 60_000;

/** A stretch of time, epoch milliseconds; the end does not belong to it. */
export type Span = Readonly<Record<'from_ms' | 'to_ms', number>>;

/** From the beginning of a storm date to that of the next, or of the one after `last`. */
export function stormDateSpan(date: string, start_hour: number, last = date): Span {
  return { from_ms: stormDateStart(date, start_hour), to_ms: stormDateStart(addDays(last, 1), start_hour) };
}

/**
 * Radar coverage of a place during a storm date, or during the part of it that is over. `times`: scans in order, epoch milliseconds,
 * and in `seen` for each whether it saw the place (1) or not (0). `before`: the last scan of the date before,
 * which counts for the first minutes if it saw the place, and the last scan of that date that did. Null without one.
 */
export function radarCoverageOf(
  { times, seen }: Readonly<Record<'times' | 'seen', ArrayLike<number>>>,
  { from_ms, to_ms }: Span,
  before: { readonly time_ms: number; readonly seen_ms: number | null } | null,
  isRunning: boolean,
) {
  const gaps: Span[] = [];
  const long_gaps: Span[] = [];
  let seen_ms = 0;
  /** End of the time seen so far, and the scan that it comes from. */
  let seenUpTo_ms = from_ms;
  let lastLook_ms = before === null ? from_ms : (before.seen_ms ?? Number.NEGATIVE_INFINITY);
  const addGap = (until_ms: number) => {
    if (until_ms <= seenUpTo_ms) return;
    const gap = { from_ms: seenUpTo_ms, to_ms: until_ms };
    gaps.push(gap);
    if (until_ms - lastLook_ms > SCAN_STANDS_MS) long_gaps.push(gap);
  };
  const look = (time_ms: number, next_ms: number) => {
    const begin_ms = Math.max(time_ms, from_ms);
    const end_ms = Math.min(next_ms, time_ms + SCAN_STANDS_MS, to_ms);
    if (end_ms <= begin_ms) return;
    addGap(begin_ms);
    seen_ms += end_ms - begin_ms;
    seenUpTo_ms = end_ms;
    lastLook_ms = time_ms;
  };
  if (before !== null && before.seen_ms === before.time_ms) look(before.time_ms, times[0] ?? to_ms);
  let uncovered = 0;
  for (let k = 0; k < times.length; k++)
    if (seen[k] === 1) look(times[k] as number, times[k + 1] ?? Number.POSITIVE_INFINITY);
    else uncovered += 1;
  addGap(to_ms);
  // A running date with a single scan has no minutes yet.
  const share = to_ms > from_ms ? seen_ms / (to_ms - from_ms) : Number(seen[0] === 1);
  return {
    /** Share of the minutes that count during which a scan saw the place; 0..1. */
    share,
    /** All times during which none did, ascending. */
    gaps,
    /** Those of them between two scans more than ten minutes apart that saw the place. */
    long_gaps,
    scans: times.length,
    /** Scans in which no radar covered the place. */
    uncovered,
    /** Newest scan of a date that still runs, up to which it counts; null for one that is over. */
    until_ms: isRunning ? to_ms : null,
  };
}
export type Coverage = Readonly<ReturnType<typeof radarCoverageOf>>;

/** Entry of an answer for a storm date with gaps; null for a date that is over and was seen throughout. */
function seenInPart(date: string, { share, gaps, long_gaps, until_ms }: Coverage): DateSeenInPart | null {
  const shown = share < SEEN_MIN_SHARE ? gaps : long_gaps;
  if (shown.length === 0 && until_ms === null) return null;
  return {
    date,
    share: shareOf(share),
    until: timestamp(until_ms),
    gap_count: shown.length,
    gaps: longest(shown).map(({ from_ms, to_ms }) => ({ from: timestamp(from_ms), to: timestamp(to_ms) })),
  };
}

/** The longest gaps of a date, of equals the first, ascending: as many as an answer lists. */
function longest(gaps: readonly Span[]): readonly Span[] {
  const length_ms = ({ from_ms, to_ms }: Span) => to_ms - from_ms;
  const listed = new Set(gaps.toSorted((a, b) => length_ms(b) - length_ms(a)).slice(0, GAPS_LISTED_MAX));
  return gaps.filter((gap) => listed.has(gap));
}

/** The share as answers show it. A date that lacks a second never shows 1, a date with one second never shows 0. */
function shareOf(share: number): number {
  return share >= 1 || share <= 0 ? share : Math.min(0.999, Math.max(0.001, rounded(share, 3)));
}

/** Gaps of some dates as answers show them. `coverage`: of each date with radar data, ascending; null where its scans are not known. */
export function radarGapsOf(dates_without_data: readonly string[], coverage: ReadonlyMap<string, Coverage | null>) {
  const dates = [...coverage];
  return {
    dates_without_data: [...dates_without_data],
    dates_with_unknown_scans: dates.flatMap(([date, known]) => (known === null ? [date] : [])),
    dates_seen_in_part: dates.flatMap(([date, known]) => (known === null ? null : seenInPart(date, known)) ?? []),
    coverage: dates.map(([date, known]) => ({ date, share: known === null ? null : shareOf(known.share) })),
  };
}

/** Index of the first value that is not below `value`; the values ascend. Their number where all are below. */
export function lowerBound(values: ArrayLike<number>, value: number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((values[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
