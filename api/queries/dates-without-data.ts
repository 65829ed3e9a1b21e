import type { ReportGap, ReportGaps } from '../../schemas/resources/report-gaps.ts';
import { type CollectedReports, collectedReports, REPORT_FEEDS } from '../../schemas/tables/feeds.ts';
import { datesThrough, timestamp } from '../../schemas/time.ts';
import type { Edition } from '../published/catalog.ts';
import type { Queries } from '../published/duckdb.ts';
import { type Span, stormDateSpan } from '../rules/radar-coverage.ts';
import type { Region } from '../rules/region.ts';
import { readTable } from './sql.ts';

/**
 * Storm dates from one to another, both included, without published radar data, ascending: on them no event means no statement.
 * A cleared date is one of them; of a region of which nothing can be known every date is.
 */
export function datesWithoutData(
  edition: Pick<Edition, 'provenanceOf'>,
  first: string,
  last: string,
  { note }: Pick<Region, 'note'> = { note: null },
): string[] {
  return datesThrough(first, last).filter((date) => note !== null || edition.provenanceOf([date]) === null);
}

/**
 * Of which storm dates from one to another, both included, ground reports were collected, by what the published files record; of
 * a collection without that record nothing is known, and nothing counts as collected.
 */
export async function collectedDates(
  engine: Queries,
  edition: Pick<Edition, 'collection'>,
  first: string,
  last: string,
  storm_day_start_hour: number,
): Promise<ReportGaps> {
  const paths = edition.collection('reports')?.collected_paths ?? [];
  const where = 'WHERE storm_date BETWEEN $2::DATE AND $3::DATE';
  const rows = await readTable(engine, collectedReports, paths, where, [first, last]);
  const byDate = Map.groupBy(rows, ({ storm_date }) => storm_date);
  const dates = datesThrough(first, last);
  return {
    dates_without_reports: dates.filter((date) => !byDate.has(date)),
    dates_collected_in_part: dates.flatMap((date) => {
      const gaps = uncollected(byDate.get(date) ?? [], stormDateSpan(date, storm_day_start_hour));
      return !byDate.has(date) || gaps.length === 0 ? [] : [{ date, gaps }];
    }),
    sources: REPORT_FEEDS.map((source) => {
      const held = new Set(rows.filter((row) => row.source === source).map(({ storm_date }) => storm_date));
      return { source, dates_not_collected: dates.filter((date) => !held.has(date)) };
    }),
  };
}

/** Times of a span for which no source was collected, ascending. */
function uncollected(rows: readonly CollectedReports[], { from_ms, to_ms }: Span): ReportGap[] {
  const gaps: ReportGap[] = [];
  let until_ms = from_ms;
  for (const row of rows.toSorted((a, b) => a.collected_from - b.collected_from)) {
    if (row.collected_from > until_ms) gaps.push({ from: timestamp(until_ms), to: timestamp(row.collected_from) });
    until_ms = Math.max(until_ms, row.collected_until);
  }
  if (until_ms < to_ms) gaps.push({ from: timestamp(until_ms), to: timestamp(to_ms) });
  return gaps;
}
