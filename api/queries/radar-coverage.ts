import { LRUCache } from 'lru-cache';
import { latRow, lonCol } from '../../schemas/geo/lattice.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import { frames, uncovered } from '../../schemas/tables/radar.ts';
import { addDays, MS_PER_DAY } from '../../schemas/time.ts';
import type { Edition } from '../published/catalog.ts';
import type { Queries } from '../published/duckdb.ts';
import { type Coverage, lowerBound, radarCoverageOf, type Span, stormDateSpan } from '../rules/radar-coverage.ts';
import { FILES } from './sql.ts';

/** Scans of a storm date in order, and where they saw nothing. */
interface DateScans {
  readonly times: Float64Array;
  /** Grid of each scan: its place in `grids`. */
  readonly grid: Uint8Array;
  readonly grids: readonly Bbox[];
  /** Rectangles of the lattice that no radar covered, each from a first to a last scan, in the order of their first rows. */
  readonly patches: Readonly<Record<PatchColumn, Float64Array>>;
  /** Rows of the tallest of them. */
  readonly tallest: number;
  /** Results by all that they depend on: most points of a date have the same coverage. */
  readonly seenOn: LRUCache<string, SeenOn>;
}

interface SeenOn {
  /** Everything that it depends on. */
  readonly key: string;
  readonly coverage: Coverage;
  /** The newest scan of the date, epoch milliseconds, and the newest that saw the point; null without one. */
  readonly last: { readonly time_ms: number; readonly seen_ms: number | null };
}

/** Dates in memory by their files, about 130 kB each over CONUS: a year, and a running date. */
const dateScans = new LRUCache<string, DateScans>({ max: 400 });
const RESULTS_MAX = 64;

/** The first column of each sorts the rows of a day; patches come from north. */
const SCAN_COLUMNS = ['scan_time', 'grid_west', 'grid_south', 'grid_east', 'grid_north'] as const;
type ScanColumn = (typeof SCAN_COLUMNS)[number];
const PATCH_COLUMNS = ['row_first', 'row_last', 'col_first', 'col_last', 'first_scan', 'last_scan'] as const;
type PatchColumn = (typeof PATCH_COLUMNS)[number];

/**
 * Radar coverage of storm dates from one to another, both included: the only function that computes it. A scan stands for the time
 * up to the next one, at most ten minutes, and only where a radar covered the place; a date that still runs counts up to its
 * newest scan.
 */
export async function radarCoverage(
  engine: Queries,
  edition: Pick<Edition, 'paths' | 'datesBetween' | 'isClosed' | 'newest_scan_ms'>,
  first: string,
  last: string,
  storm_day_start_hour: number,
) {
  // The last scan before a date stands for its first minutes.
  const dates = edition.datesBetween(addDays(first, -1), last).filter((date) => edition.isClosed(date) !== null);
  const days = (await scansOf(engine, edition, dates)).map((scans, index) => {
    const date = dates[index] as string;
    const { from_ms, to_ms: over_ms } = stormDateSpan(date, storm_day_start_hour);
    const isRunning = edition.isClosed(date) !== true && (edition.newest_scan_ms ?? 0) < over_ms;
    const to_ms = isRunning ? (scans.times.at(-1) ?? from_ms) : over_ms;
    return { date, scans, span: { from_ms, to_ms }, isRunning, follows: dates[index - 1] === addDays(date, -1) };
  });
  const known = new Map<string, ReadonlyMap<string, Coverage | null>>();
  return {
    /**
     * Coverage of a point on each published date with radar data, ascending; null where a date came as the sum of a whole day,
     * without scans. The same object for points with the same coverage.
     */
    at: (point: Position): ReadonlyMap<string, Coverage | null> => {
      let before: SeenOn | null = null;
      const seen = days.map(({ date, scans, span, isRunning, follows }) => {
        before = seenOn(scans, point, span, isRunning, follows ? (before?.last ?? null) : null);
        return [date, before] as const;
      });
      const key = seen.map(([, found]) => found?.key ?? '').join('|');
      const asked = seen.filter(([date]) => date >= first);
      const made = known.get(key) ?? new Map(asked.map(([date, found]) => [date, found?.coverage ?? null]));
      known.set(key, made);
      return made;
    },
  };
}

/** Coverage of a date where a point lies; null where its scans are not known. `before`: the last scan of the date before. */
function seenOn(
  { times, grid, grids, patches, tallest, seenOn: results }: DateScans,
  { lat, lon }: Position,
  span: Span,
  isRunning: boolean,
  before: SeenOn['last'] | null,
): SeenOn | null {
  if (times.length === 0) return null;
  const inside = grids.map(([west, south, east, north]) => lat >= south && lat <= north && lon >= west && lon <= east);
  const [row, col] = [latRow(lat), lonCol(lon)];
  const { row_first, row_last, col_first, col_last, first_scan, last_scan } = patches;
  const holding: number[] = [];
  for (let at = lowerBound(row_first, row - tallest + 1); row_first[at] <= row; at++)
    if (row_last[at] >= row && col_first[at] <= col && col_last[at] >= col) holding.push(at);
  const key = `${isRunning} ${before?.time_ms} ${before?.seen_ms} ${inside} ${holding}`;
  const known = results.get(key);
  if (known !== undefined) return known;
  // A scan saw the point when it lies in the grid of the scan, and in no uncovered patch of its time.
  const seen = Uint8Array.from(grid, (place) => Number(inside[place]));
  for (const at of holding)
    for (let k = lowerBound(times, first_scan[at]); k < times.length && times[k] <= last_scan[at]; k++) seen[k] = 0;
  const coverage = radarCoverageOf({ times, seen }, span, before, isRunning);
  const last = { time_ms: times.at(-1) as number, seen_ms: times[seen.lastIndexOf(1)] ?? null };
  const made = { key, coverage, last };
  results.set(key, made);
  return made;
}

/** The scans of each date; those that are not in memory are read in two statements. */
async function scansOf(engine: Queries, edition: Pick<Edition, 'paths'>, dates: readonly string[]) {
  const wanted = dates.map((date) => {
    const [scans, patches] = [edition.paths(frames.name, [date]), edition.paths(uncovered.name, [date])];
    const key = [...scans, ...patches].join('\n');
    return { day: Date.parse(date) / MS_PER_DAY, scans, patches, key, known: dateScans.get(key) };
  });
  const unread = wanted.filter(({ known }) => known === undefined);
  const pathsOf = (of: 'scans' | 'patches') => unread.flatMap((date) => date[of]);
  const [scansBy, patchesBy] = await Promise.all([
    readByDay<ScanColumn>(engine, SCAN_COLUMNS, pathsOf('scans')),
    readByDay<PatchColumn>(engine, PATCH_COLUMNS, pathsOf('patches')),
  ]);
  return wanted.map(({ day, key, known }) => {
    const scans = known ?? dateScansOf(scansBy(day), patchesBy(day));
    dateScans.set(key, scans);
    return scans;
  });
}

/** Columns of each day of some files, in the order of the columns. Without rows of a day they are empty. */
async function readByDay<Name extends string>(engine: Queries, names: readonly Name[], paths: readonly string[]) {
  const sql = `SELECT (storm_date - DATE '1970-01-01')::INTEGER AS day, ${names.join(', ')} FROM ${FILES}
    ORDER BY day, ${names[0]}`;
  const found = paths.length === 0 ? null : await engine.columns<Name | 'day'>(sql, [paths]);
  const days = (found?.day ?? []) as readonly number[];
  return (day: number) => {
    const [from, to] = [lowerBound(days, day), lowerBound(days, day + 1)];
    const columns = names.map((name) => [name, Float64Array.from((found?.[name] ?? []).slice(from, to) as number[])]);
    return Object.fromEntries(columns) as Readonly<Record<Name, Float64Array>>;
  };
}

function dateScansOf(
  { scan_time, grid_west, grid_south, grid_east, grid_north }: Readonly<Record<ScanColumn, Float64Array>>,
  patches: DateScans['patches'],
): DateScans {
  const grids: Bbox[] = [];
  const grid = Uint8Array.from(scan_time, (_, index) => {
    const box: Bbox = [grid_west[index], grid_south[index], grid_east[index], grid_north[index]];
    const known = grids.findIndex((one) => one.every((edge, side) => edge === box[side]));
    return known >= 0 ? known : grids.push(box) - 1;
  });
  const { row_first, row_last } = patches;
  const tallest = row_first.reduce((most, row, at) => Math.max(most, row_last[at] - row + 1), 1);
  return { times: scan_time, grid, grids, patches, tallest, seenOn: new LRUCache({ max: RESULTS_MAX }) };
}
