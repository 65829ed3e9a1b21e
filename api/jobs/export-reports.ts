import { LATTICE } from '../../schemas/geo/lattice.ts';
import { CONUS } from '../../schemas/geo/position.ts';
import { MixedProvenance } from '../../schemas/provenance.ts';
import { addDays, monthOf } from '../../schemas/time.ts';
import type { Queries } from '../published/duckdb.ts';
import { datesWithoutReports } from '../queries/dates-without-data.ts';
import { FILES, type RegionFilter, regionFilter } from '../queries/sql.ts';
import type { Region } from '../rules/region.ts';
import { type ExportRows, noRows, type RowsOf, type RowsQuestion, selected } from './export-rows.ts';

/** Ground reports whose position lies in a region: in the box, or in a pixel of the state. */
export const reportRows: RowsOf = {
  files: (question) => [...files(question), ...(question.edition.collection('reports')?.collected_paths ?? [])],
  rows,
  datesWithoutData,
};

/** Dates for which no source is known to have been collected, and of which there is no report either, from anywhere. */
async function datesWithoutData(queries: Queries, question: RowsQuestion): Promise<readonly string[]> {
  const { edition, first, last } = question;
  const paths = files(question);
  const reported =
    paths.length === 0
      ? []
      : await queries.rows<{ date: string }>(`SELECT DISTINCT storm_date::VARCHAR AS date FROM ${FILES}`, [paths]);
  const dates = new Set(reported.map(({ date }) => date));
  return (await datesWithoutReports(queries, edition, first, last)).filter((date) => !dates.has(date));
}

/** Reports with the pixel that holds each, as `latRow` and `lonCol` find it. */
const REPORTS = `(SELECT *, floor((${LATTICE.north} - lat) / ${LATTICE.step} + 1e-9)::INTEGER AS "row",
  floor((lon - ${LATTICE.west}) / ${LATTICE.step} + 1e-9)::INTEGER AS col FROM ${FILES})`;

function files({ edition, first, last }: RowsQuestion): readonly string[] {
  // Files are cut by the month of the time; a storm date that starts at noon ends on the next day.
  return edition.collection('reports')?.paths(monthOf(first), monthOf(addDays(last, 1))) ?? [];
}

async function rows(queries: Queries, question: RowsQuestion, cap: number): Promise<ExportRows> {
  const { edition, first, last, region } = question;
  const collection = edition.collection('reports');
  const about = {
    data_source: collection?.source ?? null,
    data_as_of_ms: collection?.as_of_ms ?? null,
    note: collection === null ? 'no ground report was ever taken in: no rows does not mean no reports' : null,
  };
  const paths = files(question);
  const filter = reportsWithin(region, 4);
  if (filter === null || paths.length === 0) return { ...noRows('reports'), ...about };
  const parameters = [paths, first, last, ...filter.parameters];
  const kept = `${REPORTS} ${filter.sql} AND storm_date BETWEEN $2::VARCHAR::DATE AND $3::VARCHAR::DATE`;
  const [found] = await queries.rows<{ n: number; sources: string | null }>(
    `SELECT count(*)::DOUBLE AS n, string_agg(DISTINCT data_source, ' ') FILTER (place <= ${cap}) AS sources FROM (
       SELECT data_source, row_number() OVER (ORDER BY time, report_id, data_source) AS place FROM ${kept})`,
    parameters,
  );
  const { n = 0, sources = null } = found ?? {};
  return {
    sql: `SELECT ${selected('reports', { id: 'report_id' })} FROM ${kept}`,
    parameters,
    row_count: Math.min(n, cap),
    truncated: n > cap,
    ...about,
    ...(sources === null ? {} : { data_source: MixedProvenance.parse(sources.includes(' ') ? 'mixed' : sources) }),
  };
}

/** Filter on the positions of reports; null where none can be. */
function reportsWithin(
  { bbox: [west, south, east, north], state, window, runs }: Region,
  first: number,
): RegionFilter | null {
  if (state !== null) return window === null ? null : regionFilter({ window, runs }, first);
  return {
    sql: `WHERE lon BETWEEN $${first} AND $${first + 1} AND lat BETWEEN $${first + 2} AND $${first + 3}
      AND lon BETWEEN ${CONUS.west} AND ${CONUS.east} AND lat BETWEEN ${CONUS.south} AND ${CONUS.north}`,
    parameters: [west, east, south, north],
  };
}
