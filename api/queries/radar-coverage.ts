import { LRUCache } from 'lru-cache';
import { latRow, lonCol } from '../../schemas/geo/lattice.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import { frames, uncovered } from '../../schemas/tables/radar.ts';
import { addDays, stormDateStart } from '../../schemas/time.ts';
import type { Edition } from '../published/catalog.ts';
import type { Queries } from '../published/duckdb.ts';
import { lowerBound } from '../rules/lower-bound.ts';
import { type Coverage, radarCoverageOf } from '../rules/radar-coverage.ts';

/** The part of an edition that coverage is computed from. */
export type CoverageEdition = Pick<Edition, 'paths' | 'datesBetween' | 'isClosed' | 'newest_scan_ms'>;

/** Coverage by published storm date: null where a date was ingested as the sum of a whole day, so that its scans are unknown. */
type DatesCoverage = ReadonlyMap<string, Coverage | null>;

/** Radar coverage of some storm dates at any point. */
interface RadarCoverage {
  /** Of each published date with radar data, ascending. Points that share a block cost little more than one. */
  readonly at: (point: Position) => DatesCoverage;
}

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

/** Columns of some files as DOUBLE, each row with the number that $2 gives its file. */
const numberedSql = (columns: readonly string[]) => `
  SELECT ${['n', ...columns].map((column) => `(${column})::DOUBLE`).join(', ')}
  FROM read_parquet($1::VARCHAR[], hive_partitioning = false, filename = true)
  JOIN (SELECT unnest($1::VARCHAR[]) AS path, unnest($2::VARCHAR[])::INTEGER AS n) ON path = filename`;
const FRAMES_SQL = numberedSql(['epoch_ms(scan_time)', 'grid_west', 'grid_south', 'grid_east', 'grid_north']);
const PATCH_SIDES = ['row_first', 'row_last', 'col_first', 'col_last'];
const PATCHES_SQL = numberedSql([...PATCH_SIDES, 'epoch_ms(first_scan)', 'epoch_ms(last_scan)']);

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
  return { at: coverageAt(days, first) };
}

/** The scans of a storm date, and the part of it that counts. */
interface ScanDate {
  readonly date: string;
  readonly scans: DateScans;
  readonly from_ms: number;
  readonly to_ms: number;
  readonly isRunning: boolean;
}

/** Coverage of each date by point; points in the same grids and patches share one result. */
function coverageAt(dates: readonly ScanDate[], first: string): RadarCoverage['at'] {
  const known = new Map<string, DatesCoverage>();
  return (point) => {
    const [row, col] = [latRow(point.lat), lonCol(point.lon)];
    const held = dates.map(({ scans: { grids, patches } }) => ({
      inside: grids.map((grid) => isInside(point, grid)),
      patches: patches.holding(row, col),
    }));
    const key = held.map(({ inside, patches }) => `${inside.map(Number).join('')} ${patches.join('.')}`).join('|');
    const before = known.get(key);
    if (before !== undefined) return before;
    const found = new Map<string, Coverage | null>();
    let last: LastScan | null = null;
    for (const [index, day] of dates.entries()) {
      const seen = seenOn(day, held[index] as Held, last !== null && addDays(last.date, 1) === day.date ? last : null);
      if (day.date >= first) found.set(day.date, seen?.coverage ?? null);
      last = seen?.last ?? null;
    }
    known.set(key, found);
    return found;
  };
}

/** The newest scan of a date. */
interface LastScan {
  readonly date: string;
  readonly time_ms: number;
  /** The newest that saw the point; null without one. */
  readonly seen_ms: number | null;
}

interface SeenOn {
  readonly coverage: Coverage;
  readonly last: LastScan;
}

/** Which grids of a date a point lies in, and the patches that hold it. */
interface Held {
  readonly inside: readonly boolean[];
  readonly patches: readonly number[];
}

/** Coverage of a date where a point lies; null where its scans are not known. */
function seenOn({ date, scans, isRunning, ...span }: ScanDate, held: Held, before: LastScan | null): SeenOn | null {
  const { times } = scans;
  if (times.length === 0) return null;
  const key = `${isRunning} ${before?.time_ms} ${before?.seen_ms} ${held.inside.map(Number).join('')} ${held.patches.join(' ')}`;
  const known = scans.seenOn.get(key);
  if (known !== undefined) return known;
  const seen = seenBy(scans, held);
  const made = {
    coverage: radarCoverageOf({ times, seen }, span, before, isRunning),
    last: { date, time_ms: times.at(-1) as number, seen_ms: times[seen.lastIndexOf(1)] ?? null },
  };
  scans.seenOn.set(key, made);
  return made;
}

/** Whether each scan saw a point, 1 or 0: it lies in its grid, and in no uncovered patch of its time. */
function seenBy({ times, grid, patches }: DateScans, held: Held): Uint8Array {
  const seen = Uint8Array.from(grid, (place) => Number(held.inside[place]));
  for (const [first_ms, last_ms] of held.patches.map(patches.stretchOf))
    for (let k = lowerBound(times, first_ms); k < times.length && (times[k] as number) <= last_ms; k++) seen[k] = 0;
  return seen;
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
    const files = { frames: edition.paths(frames.name, [date]), patches: edition.paths(uncovered.name, [date]) };
    const key = [...files.frames, ...files.patches].join('\n');
    return { ...files, key, known: dateScans.get(key) };
  });
  const unread = wanted.filter(({ known }) => known === undefined);
  const [frameColumns, patchColumns] = await Promise.all([
    readNumbered(
      engine,
      FRAMES_SQL,
      unread.map((date) => date.frames),
    ),
    readNumbered(
      engine,
      PATCHES_SQL,
      unread.map((date) => date.patches),
    ),
  ]);
  const made = new Map(
    unread.map(({ key }, index) => [key, dateScansOf(frameColumns[index] ?? [], patchColumns[index] ?? [])]),
  );
  for (const [key, scans] of made) dateScans.set(key, scans);
  return wanted.map(({ key, known }) => known ?? (made.get(key) as DateScans));
}

/** Reads the files of some dates in one statement: the columns of each date, an empty list for a date without rows. */
async function readNumbered(
  engine: Queries,
  sql: string,
  dates: readonly (readonly string[])[],
): Promise<Float64Array[][]> {
  const paths = dates.flat();
  if (paths.length === 0) return [];
  const places = dates.flatMap((files, place) => files.map(() => String(place)));
  const [number = new Float64Array(), ...columns] = Object.values(await engine.numbers(sql, [paths, places]));
  const rowsOf = Map.groupBy(number.keys(), (row) => number[row] as number);
  return dates.map((_, place) => {
    const rows = rowsOf.get(place) ?? [];
    return columns.map((column) => Float64Array.from(rows, (row) => column[row] as number));
  });
}

/** `frameColumns`: time, west, south, east and north of the grid. `patchColumns`: those of `PATCHES_SQL`. */
function dateScansOf(
  [times = new Float64Array(), ...edges]: readonly Float64Array[],
  patchColumns: readonly Float64Array[],
): DateScans {
  const order = ascending(times);
  const grids: Bbox[] = [];
  const grid = Uint8Array.from(order, (index) => {
    const edgeAt = (side: number) => edges[side]?.[index] as number;
    const box: Bbox = [edgeAt(0), edgeAt(1), edgeAt(2), edgeAt(3)];
    const known = grids.findIndex((one) => one.every((edge, side) => edge === box[side]));
    return known >= 0 ? known : grids.push(box) - 1;
  });
  return {
    times: Float64Array.from(order, (index) => times[index] as number),
    grid,
    grids,
    patches: patchesOf(patchColumns),
    seenOn: new LRUCache({ max: RESULTS_MAX }),
  };
}

function patchesOf(columns: readonly Float64Array[]): Patches {
  const order = ascending(columns[0] ?? new Float64Array());
  const sorted = (column: number) => Float64Array.from(order, (index) => columns[column]?.[index] ?? Number.NaN);
  const [row_first, row_last, col_first, col_last] = [0, 1, 2, 3].map((side) => Uint16Array.from(sorted(side)));
  const [first_ms, last_ms] = [sorted(4), sorted(5)];
  const tallest = row_first.reduce((most, row, place) => Math.max(most, row_last[place] - row + 1), 1);
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

/** Places of values so that they ascend. */
function ascending(values: Float64Array): Uint32Array {
  return Uint32Array.from(values.keys()).sort((a, b) => (values[a] as number) - (values[b] as number));
}
