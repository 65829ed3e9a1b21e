import { geodesicAreaKm2, pixelHull } from '../../schemas/geo/hull.ts';
import { pixelAreaKm2 } from '../../schemas/geo/lattice.ts';
import { polygonToWkt } from '../../schemas/geo/wkt.ts';
import { EVENT_MIN_MM, SIZE_BANDS } from '../../schemas/size.ts';
import { dayMax, detections } from '../../schemas/tables/radar.ts';
import type { Queries } from '../published/duckdb.ts';
import { datesWithoutData } from '../queries/dates-without-data.ts';
import { FILES, type RegionPixels, regionFilter } from '../queries/sql.ts';
import { countDetections } from '../queries/swaths.ts';
import { rounded } from '../rules/rounded.ts';
import { datesOf, type ExportRows, observedOn, type RowsOf, type RowsQuestion } from './export-rows.ts';

/** A row for each storm date and size tier of a region: the convex hull of its footprint, and the detections it stands on. */
export const swathRows: RowsOf = {
  files,
  rows,
  datesWithoutData: async (_, { edition, first, last }) => datesWithoutData(edition, first, last),
};

/** Types of what the rows are handed to the engine as; `rings` is the hull as GeoJSON has it. */
const ROW_TYPES = {
  storm_date: 'DATE',
  threshold_mm: 'DOUBLE',
  category: 'VARCHAR',
  area_km2: 'DOUBLE',
  footprint_km2: 'DOUBLE',
  n_detections: 'INTEGER',
  max_size_mm: 'DOUBLE',
  data_source: 'VARCHAR',
  geometry: 'VARCHAR',
  rings: 'VARCHAR',
} as const;
type HullRow = Readonly<Record<keyof typeof ROW_TYPES, string | number | null>>;

const HULL_ROWS = `SELECT ${Object.keys(ROW_TYPES)
  .map((name) => `hull.${name} AS ${name}`)
  .join(', ')} FROM (SELECT unnest(from_json($1::VARCHAR, '${JSON.stringify([ROW_TYPES])}')) AS hull)`;

function files(question: RowsQuestion): readonly string[] {
  const { edition, region } = question;
  return [detections, dayMax].flatMap(({ name }) => edition.paths(name, datesOf(question), { bbox: region.bbox }));
}

async function rows(queries: Queries, question: RowsQuestion): Promise<ExportRows> {
  const { edition } = question;
  const dates = datesOf(question);
  const hulls: HullRow[] = [];
  for (const date of dates) hulls.push(...(await hullsOf(queries, question, date)));
  const parameters = [JSON.stringify(hulls)];
  return { sql: HULL_ROWS, parameters, row_count: hulls.length, truncated: false, ...observedOn(edition, dates) };
}

/** Rows of one storm date, smallest tier first; figures as those of /v1/hail/swaths from the bound of the tier on. */
async function hullsOf(queries: Queries, { edition, region }: RowsQuestion, date: string): Promise<HullRow[]> {
  const { window, runs, bbox } = region;
  if (window === null) return [];
  const pixels = { window, runs };
  const near = { bbox, min_size_mm: EVENT_MIN_MM };
  const footprints = await footprintsOf(queries, edition.paths(dayMax.name, [date], near), pixels);
  if (footprints.size === 0) return [];
  const paths = edition.paths(detections.name, [date], near);
  const { at_bound, max_size_mm } = await countDetections(queries, paths, pixels, EVENT_MIN_MM);
  const data_source = edition.provenanceOf([date]);
  return SIZE_BANDS.flatMap(({ threshold_mm, category }) => {
    const lines = footprints.get(threshold_mm);
    if (lines === undefined) return [];
    const ring = pixelHull({
      rows: lines.flatMap(({ row }) => [row, row]),
      cols: lines.flatMap(({ west, east }) => [west, east]),
    });
    const n_detections = at_bound.get(threshold_mm) ?? 0;
    return {
      storm_date: date,
      threshold_mm,
      category,
      area_km2: rounded(geodesicAreaKm2(ring), 1),
      footprint_km2: rounded(
        lines.reduce((sum, { row, n }) => sum + n * pixelAreaKm2(row), 0),
        1,
      ),
      n_detections,
      max_size_mm: n_detections === 0 || max_size_mm === null ? null : rounded(max_size_mm, 1),
      data_source,
      geometry: polygonToWkt([ring]),
      rings: JSON.stringify([ring]),
    };
  });
}

interface Line {
  readonly row: number;
  readonly west: number;
  readonly east: number;
  /** Pixels of the tier in the row. */
  readonly n: number;
}

/** Lattice rows of each tier from north, by the bound of the tier; pixels filled in between scans count, as in swaths. */
async function footprintsOf(
  queries: Queries,
  paths: readonly string[],
  region: RegionPixels,
): Promise<ReadonlyMap<number, readonly Line[]>> {
  if (paths.length === 0) return new Map();
  const filter = regionFilter(region, 2);
  const bounds = SIZE_BANDS.map(({ threshold_mm }) => threshold_mm);
  const lines = await queries.rows<Line & { threshold_mm: number }>(
    `WITH pixel AS (
       SELECT "row", col, max(max_mm) AS mm FROM ${FILES} ${filter.sql} AND max_mm >= ${EVENT_MIN_MM} GROUP BY "row", col)
     SELECT threshold_mm::DOUBLE AS threshold_mm, "row"::DOUBLE AS "row", min(col)::DOUBLE AS west, max(col)::DOUBLE AS east,
       count(*)::DOUBLE AS n
     FROM pixel JOIN (SELECT unnest([${bounds.join(', ')}]) AS threshold_mm) ON mm >= threshold_mm
     GROUP BY threshold_mm, "row" ORDER BY threshold_mm, "row"`,
    [paths, ...filter.parameters],
  );
  return Map.groupBy(lines, ({ threshold_mm }) => threshold_mm);
}
