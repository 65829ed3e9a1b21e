import { LATTICE } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { SIZE_BANDS } from '../../schemas/size.ts';
import { monthOf } from '../../schemas/time.ts';
import type { Edition } from '../catalog.ts';
import type { Engine } from '../duckdb.ts';
import { affectedArea, type PixelLines } from '../rules/event-hull.ts';
import type { Region } from '../rules/region.ts';
import { inSlices } from '../rules/slices.ts';
import { type Pixels, within } from './within.ts';

/** A storm date on which a region had a detection of at least 19 mm; instants in epoch milliseconds. */
export interface RegionDay {
  readonly event_date: string;
  readonly cell_count: number;
  readonly max_size_mm: number;
  readonly n_detections: number;
  readonly affected_area_km2: number;
  readonly centroid: Position;
  readonly first_detected: number;
  readonly last_detected: number;
}

/** Tables that events are made of. */
export const EVENT_TABLES = ['day-max', 'cells'] as const;

const SEVERE_MM = SIZE_BANDS[0].threshold_mm;
const MONTHS_AT_A_TIME = 4;
/** Hulls made before other requests get a turn: each takes a tenth of a millisecond. */
const HULLS_AT_A_TIME = 32;

/** Event days of a region from a storm date to a storm date, both included; oldest first. */
export async function eventDays(
  engine: Engine,
  edition: Edition,
  region: Region,
  first: string,
  last: string,
): Promise<RegionDay[]> {
  const { window, runs, bbox } = region;
  if (window === null) return [];
  const pixels = { window, runs };
  const near = { bbox, min_size_mm: SEVERE_MM };
  const events: RegionDay[] = [];
  for (const dates of stretches(edition.datesBetween(first, last))) {
    const [from, to] = [dates[0] as string, dates.at(-1) as string];
    const [days, storms] = await Promise.all([
      severeDays(engine, edition.dayMaxPaths(from, to, near), pixels, from, to),
      severeStorms(engine, edition.paths('cells', dates, near), pixels),
    ]);
    await inSlices(days, HULLS_AT_A_TIME, ({ lines, ...day }) => {
      const { area_km2, centroid } = affectedArea(unpacked(lines));
      // Hail of a storm whose centre stayed outside is still that of one storm.
      const cell_count = Math.max(1, storms.get(day.event_date) ?? 0);
      events.push({ ...day, cell_count, affected_area_km2: area_km2, centroid });
    });
  }
  return events;
}

/** Dates by so many whole months: a month's files are read once, and a year of the whole country fits into memory. */
function stretches(dates: readonly string[]): string[][] {
  const months = [...new Set(dates.map(monthOf))];
  const stretchOf = (date: string) => Math.floor(months.indexOf(monthOf(date)) / MONTHS_AT_A_TIME);
  return [...Map.groupBy(dates, stretchOf).values()];
}

interface SevereDay extends Omit<RegionDay, 'cell_count' | 'affected_area_km2' | 'centroid'> {
  /**
   * One number per lattice row with pixels >= 19 mm, as text with blanks between: row, first and last column in the number
   * system of LATTICE.cols. A list of numbers would take a hundred times the memory for a year of the whole country.
   */
  readonly lines: string;
}

/** Filled-in pixels never count. Files of a running date add up, and so do the rows here: largest, sum, first, last. */
async function severeDays(
  engine: Engine,
  paths: readonly string[],
  region: Pixels,
  first: string,
  last: string,
): Promise<SevereDay[]> {
  if (paths.length === 0) return [];
  const filter = within(region, 4);
  return engine.rows<SevereDay>(
    `WITH line AS (
       SELECT storm_date, "row", max(max_mm) AS mm, sum(detection_scans) AS n, min(first_detected) AS since, max(last_detected) AS until,
         min(col) FILTER (max_mm >= ${SEVERE_MM}) AS west, max(col) FILTER (max_mm >= ${SEVERE_MM}) AS east
       FROM read_parquet($1::VARCHAR[], hive_partitioning = false) ${filter.sql}
         AND storm_date BETWEEN $2::VARCHAR::DATE AND $3::VARCHAR::DATE AND detection_scans > 0 AND NOT interpolated
       GROUP BY storm_date, "row")
     SELECT storm_date::VARCHAR AS event_date, max(mm) AS max_size_mm, sum(n)::DOUBLE AS n_detections,
       epoch_ms(min(since))::DOUBLE AS first_detected, epoch_ms(max(until))::DOUBLE AS last_detected,
       string_agg((("row"::BIGINT * ${LATTICE.cols} + west) * ${LATTICE.cols} + east)::VARCHAR, ' ') FILTER (west IS NOT NULL) AS lines
     FROM line GROUP BY storm_date HAVING max(mm) >= ${SEVERE_MM} ORDER BY storm_date`,
    [paths, first, last, ...filter.parameters],
  );
}

function unpacked(lines: string): PixelLines {
  const sorted = [...Float64Array.from(lines.split(' '), Number).sort()];
  return {
    row: sorted.map((line) => Math.floor(line / LATTICE.cols ** 2)),
    west: sorted.map((line) => Math.floor(line / LATTICE.cols) % LATTICE.cols),
    east: sorted.map((line) => line % LATTICE.cols),
  };
}

/** Tracks, and cells without one, that reached 19 mm while their position lay in the region, by storm date. */
async function severeStorms(
  engine: Engine,
  paths: readonly string[],
  region: Pixels,
): Promise<ReadonlyMap<string, number>> {
  if (paths.length === 0) return new Map();
  const filter = within(region, 2);
  const rows = await engine.rows<{ event_date: string; storms: number }>(
    `SELECT storm_date::VARCHAR AS event_date,
       (count(DISTINCT track_id) + count(*) FILTER (track_id IS NULL))::DOUBLE AS storms
     FROM (
       SELECT storm_date, track_id, floor((${LATTICE.north} - lat) / ${LATTICE.step} + 1e-9)::INTEGER AS "row",
         floor((lon - (${LATTICE.west})) / ${LATTICE.step} + 1e-9)::INTEGER AS col
       FROM read_parquet($1::VARCHAR[], hive_partitioning = false) WHERE estimated_size_mm >= ${SEVERE_MM}
     ) ${filter.sql} GROUP BY storm_date`,
    [paths, ...filter.parameters],
  );
  return new Map(rows.map(({ event_date, storms }) => [event_date, storms]));
}
