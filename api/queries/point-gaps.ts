import type { Position } from '../../schemas/geo/position.ts';
import { frames } from '../../schemas/tables/frames.ts';
import { DataUnavailable, type Edition } from '../catalog.ts';
import type { Queries } from '../duckdb.ts';
import type { GapCount } from '../rules/verification.ts';
import { kept } from './kept.ts';
import { readUncovered, type Uncovered } from './scan-coverage.ts';
import { FILES } from './select.ts';

/** Scans of a date that are looked at, spread evenly: about one an hour. What radars cover changes over hours. */
const SCANS = 24;
/** Archives remembered, about 4 kB each: ninety dates, so that many questions about the same dates read each once. */
const ARCHIVES_KEPT = 90 * SCANS;

/** The first scan of each of so many equal parts of a date; all, where there are no more. */
const SCANS_SQL = `
  WITH numbered AS (
    SELECT storm_date, tile_path,
      row_number() OVER (PARTITION BY storm_date ORDER BY scan_time) - 1 AS number,
      count(*) OVER (PARTITION BY storm_date) AS scans
    FROM ${FILES} WHERE storm_date IN (SELECT unnest($2::VARCHAR[])::DATE))
  SELECT storm_date::VARCHAR AS storm_date, tile_path FROM numbered
  WHERE number = 0 OR number * ${SCANS} // scans > (number - 1) * ${SCANS} // scans`;

/** Where a scan had no coverage; row, start and end of each run of blocks one after the other. Null: the archive says nothing. */
type Packed = {
  readonly north: number;
  readonly west: number;
  readonly step_deg: number;
  readonly rows: number;
  readonly cols: number;
  readonly runs: Uint16Array;
} | null;

/** By path: published archives never change under their name. */
const archives = new Map<string, Promise<Packed>>();

/**
 * In how many of the scans of each date no radar covered the point, in its block of 0.1 degree: of at most 24 scans spread over
 * the date, by what their archives tell; without dates of which none does. Throws DataUnavailable for an archive that is gone.
 */
export async function gapsAt(
  engine: Queries,
  edition: Pick<Edition, 'paths' | 'absolute'>,
  point: Position,
  dates: readonly string[],
): Promise<ReadonlyMap<string, GapCount>> {
  const paths = edition.paths(frames.name, dates);
  if (paths.length === 0) return new Map();
  const scans = await engine.rows<{ storm_date: string; tile_path: string }>(SCANS_SQL, [paths, dates]);
  const counts = new Map<string, GapCount>();
  // A date at a time, so that no question has more than so many archives open.
  for (const ofDate of Map.groupBy(scans, ({ storm_date }) => storm_date).values())
    await Promise.all(
      ofDate.map(async ({ storm_date, tile_path }) => {
        const packed = await archiveAt(edition.absolute(tile_path), tile_path);
        if (packed === null) return;
        const before = counts.get(storm_date) ?? { scans: 0, uncovered: 0 };
        const uncovered = before.uncovered + (isUncovered(packed, point) ? 1 : 0);
        counts.set(storm_date, { scans: before.scans + 1, uncovered });
      }),
    );
  return counts;
}

function archiveAt(path: string, name: string): Promise<Packed> {
  return kept(archives, ARCHIVES_KEPT, path, async () => {
    try {
      const uncovered = await readUncovered(path);
      return uncovered === null ? null : { ...uncovered, runs: packedRuns(uncovered) };
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
      throw new DataUnavailable(name, 'is gone, and its frame names it', { cause });
    }
  });
}

function packedRuns({ runs }: Uncovered): Uint16Array {
  const packed = new Uint16Array(3 * runs.length);
  for (const [index, run] of runs.entries()) packed.set(run, 3 * index);
  return packed;
}

/** Outside the grid nothing is covered. */
function isUncovered(
  { north, west, step_deg, rows, cols, runs }: NonNullable<Packed>,
  { lat, lon }: Position,
): boolean {
  // What lies on an edge must not fall off it by rounding.
  const row = Math.floor((north - lat) / step_deg + 1e-9);
  const col = Math.floor((lon - west) / step_deg + 1e-9);
  if (row < 0 || row >= rows || col < 0 || col >= cols) return true;
  for (let at = 0; at < runs.length; at += 3)
    if (runs[at] === row && col >= (runs[at + 1] as number) && col < (runs[at + 2] as number)) return true;
  return false;
}
