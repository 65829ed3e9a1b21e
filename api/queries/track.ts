import type { z } from 'zod';
import { latRow, lonCol } from '../../schemas/geo/lattice.ts';
import { cells, detections, type TrackPoint, tracks } from '../../schemas/tables/radar.ts';
import { addDays, stormDate } from '../../schemas/time.ts';
import type { Edition } from '../published/catalog.ts';
import type { Engine } from '../published/duckdb.ts';
import type { DayHail } from './history.ts';
import { FILES, readTable, selectList } from './sql.ts';

/** Published storm dates on which a track may begin: its id opens with the UTC date of its first scan. */
function birthDates(edition: Edition, track_id: string): readonly string[] {
  const [, year, month, day] = /^(\d{4})(\d{2})(\d{2})-/.exec(track_id) ?? [];
  if (year === undefined) return [];
  const utc_date = `${year}-${month}-${day}`;
  return edition.dates.filter((date) => date <= utc_date).slice(-2); // a storm date begins on its UTC date or ends on it
}

/**
 * The whole life of a track that has a point on a storm date, over midnights too, of any track when the date is null; null
 * when there is none. A track seen by one scan only is not published. Points are those of scans that saw it, oldest first.
 */
export async function trackHistory(
  engine: Engine,
  edition: Edition,
  storm_day_start_hour: number,
  track_id: string,
  date: string | null,
) {
  const seen_points = "WHERE track_id = $2 AND state = 'tracked' ORDER BY scan_time";
  const pointsOn = (dates: readonly string[]): Promise<TrackPoint[]> =>
    readTable(engine, tracks, edition.paths(tracks.name, dates), seen_points, [track_id]);
  const selected = await pointsOn(date === null ? birthDates(edition, track_id) : [date]);
  const [seen, last] = [selected[0], selected.at(-1)];
  if (seen === undefined || last === undefined) return null;

  const born = stormDate(seen.first_detected, storm_day_start_hour);
  const before: string[] = [];
  for (let day = addDays(seen.storm_date, -1); day >= born; day = addDays(day, -1)) before.unshift(day);
  const points = [...(await pointsOn(before)), ...selected];
  for (let day = addDays(last.storm_date, 1); ; day = addDays(day, 1)) {
    const more = await pointsOn([day]);
    if (more.length === 0) break;
    points.push(...more);
  }
  const dates = [...new Set(points.map(({ storm_date }) => storm_date))];
  return points.length > 1 ? { points, dates } : null;
}

/** A storm cell in one scan. `shared`: other tracks have a part of the cell, too, so that its products belong to no single track. */
type TrackCell = z.infer<typeof cells.row> & { readonly shared: boolean };

/** By scan and index: a cell that several tracks share names only one of them. */
const CELLS_SQL = `
  SELECT ${selectList(cells, 'cell.')}, point.shared
  FROM ${FILES} AS cell
  JOIN (
    SELECT scan_time, cell_index, count(*) OVER (PARTITION BY scan_time, cell_index) > 1 AS shared
    FROM read_parquet($2::VARCHAR[], hive_partitioning = false)
    WHERE state = 'tracked' QUALIFY track_id = $3) AS point
  ON cell.scan_time = point.scan_time AND cell.cell_index = point.cell_index`;

/** The cells of a track on some storm dates, by scan time. */
export async function trackCells(engine: Engine, edition: Edition, track_id: string, dates: readonly string[]) {
  const [cellPaths, trackPaths] = [edition.paths(cells.name, dates), edition.paths(tracks.name, dates)];
  if (cellPaths.length === 0 || trackPaths.length === 0) return new Map();
  const rows = await engine.rows<TrackCell>(CELLS_SQL, [cellPaths, trackPaths, track_id]);
  return new Map(rows.map((row) => [row.scan_time, row]));
}

/** The track of the largest hail of each storm date, by date; a date whose hail has no track is absent. */
export async function tracksOfHail(engine: Engine, edition: Edition, days: readonly DayHail[]) {
  const paths = new Set(
    days.flatMap(({ storm_date, lat, lon }) =>
      edition.paths(detections.name, [storm_date], { bbox: [lon, lat, lon, lat] }),
    ),
  );
  if (paths.size === 0) return new Map();
  // Numbers and dates of published rows only: no text of a caller.
  const wanted = days
    .map(({ storm_date, lat, lon, max_time }) => `('${storm_date}'::DATE, ${latRow(lat)}, ${lonCol(lon)}, ${max_time})`)
    .join(', ');
  const rows = await engine.rows<{ storm_date: string; track_id: string }>(
    `SELECT storm_date::VARCHAR AS storm_date, track_id FROM ${FILES} WHERE track_id IS NOT NULL
       AND (storm_date, "row"::INTEGER, col::INTEGER, epoch_ms(scan_time)) IN (VALUES ${wanted})`,
    [[...paths]],
  );
  return new Map(rows.map(({ storm_date, track_id }) => [storm_date, track_id]));
}
