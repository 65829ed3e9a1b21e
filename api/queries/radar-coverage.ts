import { LRUCache } from 'lru-cache';
import { latRow, lonCol } from '../../schemas/geo/lattice.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import { frames, type Uncovered, uncovered } from '../../schemas/tables/radar.ts';
import { addDays, MS_PER_DAY, stormDateStart } from '../../schemas/time.ts';
import type { Edition } from '../published/catalog.ts';
import type { Queries } from '../published/duckdb.ts';
import { lowerBound } from '../rules/lower-bound.ts';
import { type Coverage, radarCoverageOf } from '../rules/radar-coverage.ts';
import { FILES } from './sql.ts';

/** The part of an edition that coverage is computed from. */
export type CoverageEdition = Pick<Edition, 'paths' | 'datesBetween' | 'isClosed' | 'newest_scan_ms'>;

/** Scans of a date in order, and where they saw nothing. */
interface DateScans {
  readonly times: Float64Array;
  /** Grid of each scan: its place in `grids`. */
  readonly grid: Uint8Array;
  readonly grids: readonly Bbox[];
  readonly patches: Patches;
  /** Results by all that they depend on: most points of a date have the same coverage. */
  readonly seenOn: LRUCache<string, SeenOn>;
}

/** Rectangles of the lattice that no radar covered, each for a stretch of scans. */
interface Patches {
  /** Numbers of the patches that hold a pixel. */
  readonly holding: (row: number, col: number) => readonly number[];
  /** First and last scan without coverage there, epoch milliseconds. */
  readonly stretchOf: (patch: number) => readonly [first_ms: number, last_ms: number];
}

/** Dates in memory by their files, about 70 kB each over CONUS: a year, and a running date. */
const dateScans = new LRUCache<string, DateScans>({ max: 512 });
const RESULTS_MAX = 64;

const DAY = `(storm_date - DATE '1970-01-01')::INTEGER AS day`;
const FRAMES_SQL = `
  SELECT ${DAY}, scan_time, grid_west, grid_south, grid_east, grid_north FROM ${FILES} ORDER BY day, scan_time`;
const PATCHES_SQL = `
  SELECT ${DAY}, row_first, row_last, col_first, col_last, first_scan, last_scan FROM ${FILES} ORDER BY day, row_first`;

/**
 * Radar coverage of storm dates from one to another, both included: the only function that computes it. A scan stands for the time
 * up to the next one, at most ten minutes, and only where a radar covered the place; a date that still runs counts up to its
 * newest scan.
 */
export async function radarCoverage(
  engine: Queries,
  edition: CoverageEdition,
  first: string,
  last: string,
  storm_day_start_hour: number,
): Promise<RadarCoverage> {
  // The last scan before a date stands for its first minutes.
  const dates = edition.datesBetween(addDays(first, -1), last).filter((date) => edition.isClosed(date) !== null);
  const scans = await scansOf(engine, edition, dates);
  const days = dates.map((date, index): ScanDate => {
    const { times } = scans[index] as DateScans;
    const from_ms = stormDateStart(date, storm_day_start_hour);
    const over_ms = stormDateStart(addDays(date, 1), storm_day_start_hour);
    const isRunning = edition.isClosed(date) !== true && (edition.newest_scan_ms ?? 0) < over_ms;
    const to_ms = isRunning ? (times.at(-1) ?? from_ms) : over_ms;
    return { date, scans: scans[index] as DateScans, from_ms, to_ms, isRunning };
  });
  const known = new Map<string, ReturnType<RadarCoverage['at']>>();
  return {
    at: (point) => {
      let before: LastScan | null = null;
      const seen = days.map((day) => {
        const isNext = before !== null && addDays(before.date, 1) === day.date;
        const found = seenOn(day, point, isNext ? before : null);
        before = found?.last ?? null;
        return found;
      });
      const key = seen.map((found) => found?.key ?? '').join('|');
      const coverage = seen.map((found, index) => [(days[index] as ScanDate).date, found?.coverage ?? null] as const);
      const made = known.get(key) ?? new Map(coverage.filter(([date]) => date >= first));
      known.set(key, made);
      return made;
    },
  };
}

/** Radar coverage of some storm dates at any point. */
interface RadarCoverage {
  /**
   * Of each published date with radar data, ascending; null where a date came as the sum of a whole day, without scans. The same
   * object for points with the same coverage.
   */
  readonly at: (point: Position) => ReadonlyMap<string, Coverage | null>;
}

/** The scans of a storm date, and the part of it that counts. */
interface ScanDate {
  readonly date: string;
  readonly scans: DateScans;
  readonly from_ms: number;
  readonly to_ms: number;
  readonly isRunning: boolean;
}

/** The newest scan of a date. */
interface LastScan {
  readonly date: string;
  readonly time_ms: number;
  /** The newest that saw the point; null without one. */
  readonly seen_ms: number | null;
}

interface SeenOn {
  /** Everything that it depends on. */
  readonly key: string;
  readonly coverage: Coverage;
  readonly last: LastScan;
}

/** Coverage of a date where a point lies; null where its scans are not known. */
function seenOn(
  { date, scans, isRunning, ...span }: ScanDate,
  point: Position,
  before: LastScan | null,
): SeenOn | null {
  const { times, grids, patches } = scans;
  if (times.length === 0) return null;
  const inside = grids.map((grid) => isInside(point, grid));
  const holding = patches.holding(latRow(point.lat), lonCol(point.lon));
  const key = `${isRunning} ${before?.time_ms} ${before?.seen_ms} ${inside} ${holding}`;
  const known = scans.seenOn.get(key);
  if (known !== undefined) return known;
  // A scan saw the point when it lies in the grid of the scan, and in no uncovered patch of its time.
  const seen = Uint8Array.from(scans.grid, (place) => Number(inside[place]));
  for (const [first_ms, last_ms] of holding.map(patches.stretchOf))
    for (let k = lowerBound(times, first_ms); k < times.length && (times[k] as number) <= last_ms; k++) seen[k] = 0;
  const made = {
    key,
    coverage: radarCoverageOf({ times, seen }, span, before, isRunning),
    last: { date, time_ms: times.at(-1) as number, seen_ms: times[seen.lastIndexOf(1)] ?? null },
  };
  scans.seenOn.set(key, made);
  return made;
}

function isInside({ lat, lon }: Position, [west, south, east, north]: Bbox): boolean {
  return lat >= south && lat <= north && lon >= west && lon <= east;
}

/** The scans of each date; those that are not in memory are read in two statements. */
async function scansOf(
  engine: Queries,
  edition: Pick<Edition, 'paths'>,
  dates: readonly string[],
): Promise<DateScans[]> {
  const wanted = dates.map((date) => {
    const [scans, patches] = [edition.paths(frames.name, [date]), edition.paths(uncovered.name, [date])];
    const key = [...scans, ...patches].join('\n');
    return { day: Date.parse(date) / MS_PER_DAY, scans, patches, key, known: dateScans.get(key) };
  });
  const unread = wanted.filter(({ known }) => known === undefined);
  const [scansBy, patchesBy] = await Promise.all([
    readByDay<ScanColumn>(
      engine,
      FRAMES_SQL,
      unread.flatMap(({ scans }) => scans),
    ),
    readByDay<PatchColumn>(
      engine,
      PATCHES_SQL,
      unread.flatMap(({ patches }) => patches),
    ),
  ]);
  return wanted.map(({ day, key, known }) => {
    const scans = known ?? dateScansOf(scansBy.get(day), patchesOf(patchesBy.get(day)));
    dateScans.set(key, scans);
    return scans;
  });
}

type ScanColumn = 'scan_time' | 'grid_west' | 'grid_south' | 'grid_east' | 'grid_north';
type PatchColumn = Exclude<keyof Uncovered, 'storm_date' | 'scans'>;
type Columns<Name extends string> = Readonly<Record<Name, readonly number[]>>;

/** Columns of each day of a result in order of days. */
async function readByDay<Name extends string>(
  engine: Queries,
  sql: string,
  paths: readonly string[],
): Promise<ReadonlyMap<number, Columns<Name>>> {
  const found = new Map<number, Columns<Name>>();
  if (paths.length === 0) return found;
  const { day, ...columns } = (await engine.columns<Name | 'day'>(sql, [paths])) as Columns<Name> & Columns<'day'>;
  for (let from = 0, to = 0; from < day.length; from = to) {
    to = lowerBound(day, day[from] + 1);
    const ofDay = Object.entries<readonly number[]>(columns).map(([name, values]) => [name, values.slice(from, to)]);
    found.set(day[from], Object.fromEntries(ofDay) as Columns<Name>);
  }
  return found;
}

function dateScansOf(scans: Columns<ScanColumn> | undefined, patches: Patches): DateScans {
  const times = Float64Array.from(scans?.scan_time ?? []);
  const grids: Bbox[] = [];
  const grid = Uint8Array.from(times, (_, index) => {
    const { grid_west, grid_south, grid_east, grid_north } = scans as Columns<ScanColumn>;
    const box: Bbox = [grid_west[index], grid_south[index], grid_east[index], grid_north[index]];
    const known = grids.findIndex((one) => one.every((edge, side) => edge === box[side]));
    return known >= 0 ? known : grids.push(box) - 1;
  });
  return { times, grid, grids, patches, seenOn: new LRUCache({ max: RESULTS_MAX }) };
}

/** `patches`: from north. */
function patchesOf(patches: Columns<PatchColumn> | undefined): Patches {
  if (patches === undefined) return { holding: () => [], stretchOf: () => [0, 0] };
  const row_first = Uint16Array.from(patches.row_first);
  const row_last = Uint16Array.from(patches.row_last);
  const col_first = Uint16Array.from(patches.col_first);
  const col_last = Uint16Array.from(patches.col_last);
  const [first_ms, last_ms] = [Float64Array.from(patches.first_scan), Float64Array.from(patches.last_scan)];
  const tallest = row_first.reduce((most, row, patch) => Math.max(most, row_last[patch] - row + 1), 1);
  return {
    stretchOf: (patch) => [first_ms[patch], last_ms[patch]],
    holding: (row, col) => {
      const found: number[] = [];
      for (let patch = lowerBound(row_first, row - tallest + 1); row_first[patch] <= row; patch++)
        if (row_last[patch] >= row && col_first[patch] <= col && col_last[patch] >= col) found.push(patch);
      return found;
    },
  };
}
