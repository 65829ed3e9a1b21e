import { columns, rowsSql } from '../../schemas/columns.ts';
import { companionFields, dayMax } from '../../schemas/tables/radar.ts';
import { sqlList } from '../duckdb.ts';

/** Longest gap between two scans that counts as lasting hail, minutes; one scan alone counts as half of it. */
const LONGEST_GAP_MIN = 4;
const ONE_SCAN_MIN = 2;

/** Columns that are taken from the row with the largest value. */
const OF_THE_LARGEST = ['confidence', ...Object.keys(companionFields)];

/**
 * SQL that merges day-max files of one storm date: one row per pixel for observed values (the larger value wins, the
 * earlier of equals; time ranges are united, counts added), and one for values interpolated between scans where they are larger.
 * With `detectionPaths` the scans and the duration of each geohash5 place are computed from the detections.
 */
export function mergedDayMaxSql(paths: readonly string[], detectionPaths: readonly string[] | null): string {
  const carried = OF_THE_LARGEST.map((name) => `, "${name}" := "${name}"`).join('');
  const unpacked = OF_THE_LARGEST.map((name) => `best."${name}" AS "${name}"`).join(', ');
  const names = columns(dayMax).map(({ name }) => `"${name}"`);
  return `
    WITH stretch AS (${allRows(paths)}),
    pixel AS (
      SELECT any_value(storm_date) AS storm_date, "row", col, interpolated, any_value(lat) AS lat, any_value(lon) AS lon,
        any_value(geohash5) AS geohash5, min(struct_pack(size := -max_mm, since := max_time${carried})) AS best,
        min(first_detected) AS first_detected, max(last_detected) AS last_detected,
        sum(detection_scans) AS detection_scans, sum(severe_scans) AS severe_scans
      FROM stretch GROUP BY "row", col, interpolated),
    seen AS (SELECT "row", col, -best.size AS max_mm FROM pixel WHERE NOT interpolated),
    kept AS (
      SELECT pixel.* FROM pixel LEFT JOIN seen ON seen."row" = pixel."row" AND seen.col = pixel.col
      WHERE NOT interpolated OR seen.max_mm IS NULL OR -best.size > seen.max_mm),
    place AS (${placeFacts(detectionPaths === null || detectionPaths.length === 0 ? null : allRows(detectionPaths))}),
    day AS (
      SELECT storm_date, "row", col, lat, lon, kept.geohash5, -best.size AS max_mm, best.since AS max_time,
        interpolated, first_detected, last_detected, detection_scans, severe_scans, ${unpacked},
        place.place_first_detected, place.place_last_detected, place.place_scans, place.place_duration_min
      FROM kept LEFT JOIN place ON place.geohash5 = kept.geohash5)
    SELECT ${names.join(', ')} FROM day`;
}

/**
 * SQL of the first and the last scan, the number of scans and the duration of each geohash5 place, from a query with geohash5
 * and scan_time: gaps between scans count up to 4 minutes, the first scan as 2. Without a query there are no rows.
 */
function placeFacts(detectionRows: string | null): string {
  if (detectionRows === null)
    return `SELECT NULL::VARCHAR AS geohash5, NULL::TIMESTAMPTZ AS place_first_detected, NULL::TIMESTAMPTZ AS place_last_detected,
      NULL::INTEGER AS place_scans, NULL::DOUBLE AS place_duration_min WHERE false`;
  // least() ignores NULL: without the filter the first scan, which has no gap before it, would count as a long gap.
  return `
    SELECT geohash5, min(scan_time) AS place_first_detected, max(scan_time) AS place_last_detected, count(*) AS place_scans,
      ${ONE_SCAN_MIN} + coalesce(sum(least(gap_min, ${LONGEST_GAP_MIN})) FILTER (gap_min IS NOT NULL), 0) AS place_duration_min
    FROM (
      SELECT geohash5, scan_time, epoch_ms(scan_time - lag(scan_time) OVER (PARTITION BY geohash5 ORDER BY scan_time)) / 60000.0 AS gap_min
      FROM (SELECT DISTINCT geohash5, scan_time FROM (${detectionRows})))
    GROUP BY geohash5`;
}

const RECTANGLE = 'storm_date, row_first, row_last, col_first, col_last';

/**
 * SQL that joins the rows of several files of `uncovered`: consecutive periods of the same rectangle become one row.
 * `framePaths`: files of the frames of all scans that the rows are of.
 */
export function mergedUncoveredSql(paths: readonly string[], framePaths: readonly string[]): string {
  return `
    WITH scan AS (SELECT scan_time, row_number() OVER (ORDER BY scan_time) AS n FROM (${allRows(framePaths)})),
    stretch AS (
      SELECT part.*, first.n AS n_first, last.n AS n_last FROM (${allRows(paths)}) part
      JOIN scan first ON first.scan_time = part.first_scan JOIN scan last ON last.scan_time = part.last_scan),
    begun AS (
      SELECT *, n_first IS DISTINCT FROM 1 + lag(n_last) OVER (PARTITION BY ${RECTANGLE} ORDER BY n_first) AS begins FROM stretch),
    joined AS (
      SELECT *, count(*) FILTER (begins) OVER (PARTITION BY ${RECTANGLE} ORDER BY n_first) AS part FROM begun)
    SELECT ${RECTANGLE}, min(first_scan) AS first_scan, max(last_scan) AS last_scan, sum(scans) AS scans
    FROM joined GROUP BY ${RECTANGLE}, part`;
}

/** SQL of all rows of some files of a table. */
export function allRows(paths: readonly string[]): string {
  return rowsSql(sqlList(paths));
}
