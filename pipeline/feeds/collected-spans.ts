import type { CollectedReports, CollectedSpan } from '../../schemas/tables/feeds.ts';
import { addDays, MS_PER_DAY, MS_PER_MIN, stormDate, stormDateStart } from '../../schemas/time.ts';

/** Ends of spans are rounded down to this, so that most polls without a new report need no commit. */
const STEP_MS = 10 * MS_PER_MIN;
/** Daily lists of the Storm Prediction Center run from 12 to 12 UTC. */
const LIST_START_MS = MS_PER_DAY / 2;

export type Span = CollectedSpan & { readonly from_ms: number };

/** The ten minutes around the time of a rejected report: the absence of reports proves nothing there. */
export function spanAround(time_ms: number, source: Source): Span {
  const from_ms = Math.floor(time_ms / STEP_MS) * STEP_MS;
  return { ...source, from_ms, until_ms: from_ms + STEP_MS };
}

/** Rows of the spans collected so far and of those added, merged, without the holes, split by storm date, in the order of the table. */
export function collectedRows(
  before: readonly CollectedReports[],
  added: readonly CollectedSpan[],
  holes: readonly Span[],
  storm_day_start_hour: number,
): CollectedReports[] {
  const known = before.map(({ collected_from: from_ms, collected_until: until_ms, source, data_source }) => ({
    ...{ source, data_source, from_ms, until_ms },
  }));
  const all = merged([...known, ...added.filter(hasStart)]);
  const continued = added.flatMap((span) => {
    const last = all.findLast((one) => isOfSource(one, span));
    if (span.from_ms !== null || last === undefined) return [];
    return { ...span, from_ms: last.from_ms, until_ms: Math.min(span.until_ms, endOfList(last.until_ms)) };
  });
  return holes
    .reduce((spans, hole) => spans.flatMap((span) => without(span, hole)), merged([...all, ...continued]))
    .flatMap((span) => splitByDate(span, storm_day_start_hour))
    .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/** False for a span that continues the one collected before. */
export function hasStart(span: CollectedSpan): span is Span {
  return span.from_ms !== null;
}

type Source = Pick<CollectedSpan, 'source' | 'data_source'>;

export function isOfSource(one: Source, other: Source): boolean {
  return one.source === other.source && one.data_source === other.data_source;
}

/** The parts of a span outside of a hole. */
function without(span: Span, hole: Span): Span[] {
  if (!isOfSource(span, hole) || hole.until_ms <= span.from_ms || hole.from_ms >= span.until_ms) return [span];
  const parts = [
    { ...span, until_ms: hole.from_ms },
    { ...span, from_ms: hole.until_ms },
  ];
  return parts.filter(({ from_ms, until_ms }) => until_ms > from_ms);
}

/** End of the convective day of an instant; an instant at a boundary belongs to the day that ends there. */
function endOfList(until_ms: number): number {
  return Math.ceil((until_ms - LIST_START_MS) / MS_PER_DAY) * MS_PER_DAY + LIST_START_MS;
}

/** Spans with those that touch merged, ascending. */
function merged(spans: readonly Span[]): Span[] {
  const rounded = spans
    .map((span) => ({ ...span, until_ms: Math.floor(span.until_ms / STEP_MS) * STEP_MS }))
    .filter(({ from_ms, until_ms }) => until_ms > from_ms)
    .sort((a, b) => a.from_ms - b.from_ms);
  const found: Span[] = [];
  for (const span of rounded) {
    const index = found.findLastIndex((one) => isOfSource(one, span));
    const last = found[index];
    if (last === undefined || last.until_ms < span.from_ms) found.push(span);
    else found[index] = { ...last, until_ms: Math.max(last.until_ms, span.until_ms) };
  }
  return found;
}

function splitByDate(
  { source, data_source, from_ms, until_ms }: Span,
  storm_day_start_hour: number,
): CollectedReports[] {
  const rows: CollectedReports[] = [];
  for (let date = stormDate(from_ms, storm_day_start_hour); ; date = addDays(date, 1)) {
    const [start_ms, end_ms] = [date, addDays(date, 1)].map((day) => stormDateStart(day, storm_day_start_hour));
    if (start_ms >= until_ms) return rows;
    const [collected_from, collected_until] = [Math.max(from_ms, start_ms), Math.min(until_ms, end_ms)];
    rows.push({ storm_date: date, source, collected_from, collected_until, data_source });
  }
}

function keyOf({ storm_date, source, collected_from, data_source }: CollectedReports): string {
  return `${storm_date} ${source} ${collected_from} ${data_source}`;
}
