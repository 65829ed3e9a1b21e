import { detections } from '../../schemas/tables/radar.ts';
import type { Queries } from '../published/duckdb.ts';
import { datesWithoutData } from '../queries/dates-without-data.ts';
import { FILES, regionFilter } from '../queries/sql.ts';
import {
  datesOf,
  type ExportRows,
  noRows,
  observedOn,
  type RowsOf,
  type RowsQuestion,
  selected,
  sizeCategorySql,
} from './export-rows.ts';

/** Detections of pixels whose centre lies in a region. */
export const detectionRows: RowsOf = {
  files,
  rows,
  datesWithoutData: async (_, { edition, first, last }) => datesWithoutData(edition, first, last),
};

function files(question: RowsQuestion): readonly string[] {
  return question.edition.paths(detections.name, datesOf(question), { bbox: question.region.bbox });
}

/** Scans are counted first: of many millions of detections only those up to the last scan that counts are sorted. */
async function rows(queries: Queries, question: RowsQuestion, cap: number): Promise<ExportRows> {
  const { edition, region } = question;
  const dates = datesOf(question);
  const paths = files(question);
  const about = observedOn(edition, dates);
  if (region.window === null || paths.length === 0) return { ...noRows('detections'), ...about };
  const filter = regionFilter({ window: region.window, runs: region.runs }, 2);
  const scans = await queries.rows<{ scan_time: number; n: number }>(
    `SELECT scan_time, count(*)::DOUBLE AS n FROM ${FILES} ${filter.sql} GROUP BY scan_time ORDER BY scan_time`,
    [paths, ...filter.parameters],
  );
  const total = scans.reduce((sum, { n }) => sum + n, 0);
  if (total === 0) return { ...noRows('detections'), ...about };
  const next = filter.parameters.length + 2;
  const simulated = dates.filter((date) => edition.provenanceOf([date]) === 'simulated');
  const select = selected('detections', {
    id: `printf('%s-%04d-%04d', strftime(scan_time, '%Y%m%dT%H%M%SZ'), "row", col)`,
    size_category: sizeCategorySql('estimated_size_mm'),
    data_source: `CASE WHEN list_contains($${next + 1}::VARCHAR[]::DATE[], storm_date) THEN 'simulated' ELSE 'observed' END`,
  });
  return {
    sql: `SELECT ${select} FROM ${FILES} ${filter.sql} AND scan_time <= epoch_ms($${next}::BIGINT)`,
    parameters: [paths, ...filter.parameters, lastScanWithin(scans, cap), simulated],
    row_count: Math.min(total, cap),
    truncated: total > cap,
    ...about,
  };
}

/** The scan with the last row that a cap leaves, of scans in order. */
function lastScanWithin(scans: readonly { scan_time: number; n: number }[], cap: number): number {
  let counted = 0;
  const last = scans.find(({ n }) => {
    counted += n;
    return counted >= cap;
  });
  return (last ?? scans.at(-1) ?? { scan_time: 0 }).scan_time;
}
