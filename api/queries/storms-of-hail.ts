import { latRow, lonCol } from '../../schemas/geo/lattice.ts';
import { detections } from '../../schemas/tables/detections.ts';
import type { Edition } from '../catalog.ts';
import type { Engine } from '../duckdb.ts';
import type { DayHail } from './history.ts';
import { FILES } from './select.ts';

interface TrackedPixel {
  readonly storm_date: string;
  readonly r: number;
  readonly c: number;
  readonly scan_time: number;
  readonly track_id: string;
}

/** The track of the largest hail of each of some storm dates, by date; a date without a track is not there. */
export async function stormsOfHail(
  engine: Engine,
  edition: Edition,
  days: readonly DayHail[],
): Promise<ReadonlyMap<string, string>> {
  const pixels = days.map((day) => ({ ...day, r: latRow(day.lat), c: lonCol(day.lon) }));
  const paths = [
    ...new Set(
      pixels.flatMap(({ storm_date, lat, lon }) =>
        edition.paths(detections.name, [storm_date], { bbox: [lon, lat, lon, lat] }),
      ),
    ),
  ];
  if (paths.length === 0) return new Map();
  // Numbers and dates of published rows: nothing that a caller wrote.
  const wanted = pixels.map(({ storm_date, r, c }) => `('${storm_date}'::DATE, ${r}, ${c})`).join(', ');
  const rows = await engine.rows<TrackedPixel>(
    `SELECT storm_date::VARCHAR AS storm_date, "row"::INTEGER AS r, col::INTEGER AS c, scan_time, track_id
     FROM ${FILES} WHERE track_id IS NOT NULL AND (storm_date, "row"::INTEGER, col::INTEGER) IN (VALUES ${wanted})`,
    [paths],
  );
  const tracks = new Map(
    rows.map(({ storm_date, r, c, scan_time, track_id }) => [`${storm_date} ${r} ${c} ${scan_time}`, track_id]),
  );
  return new Map(
    pixels.flatMap(({ storm_date, r, c, max_time }) => {
      const track_id = tracks.get(`${storm_date} ${r} ${c} ${max_time}`);
      return track_id === undefined ? [] : [[storm_date, track_id] as const];
    }),
  );
}
