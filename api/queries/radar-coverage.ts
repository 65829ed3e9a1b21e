import { LRUCache } from 'lru-cache';
import { latRow, lonCol } from '../../schemas/geo/lattice.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import { frames, uncovered } from '../../schemas/tables/radar.ts';
import { addDays, stormDateStart } from '../../schemas/time.ts';
import type { Edition } from '../published/catalog.ts';
import { DataUnavailable } from '../published/data-root.ts';
import type { Queries } from '../published/duckdb.ts';
import { lowerBound } from '../rules/lower-bound.ts';
import { type Coverage, type Looks, radarCoverageOf } from '../rules/radar-coverage.ts';
import { archivePatches, ascending, type Patches, patchesOf } from './coverage-patches.ts';
import { FILES } from './sql.ts';

/** The part of an edition that coverage is computed from. */
export type CoverageEdition = Pick<Edition, 'paths' | 'files' | 'datesBetween' | 'isClosed' | 'newest_scan_ms'>;

/** Coverage by published storm date: null where a date was ingested as the sum of a whole day, so that its scans are unknown. */
type DatesCoverage = ReadonlyMap<string, Coverage | null>;

/** Radar coverage of some storm dates at any point. */
interface RadarCoverage {
  /** Of each published date with radar data, ascending. Points that share a block cost little more than one. */
  readonly at: (point: Position) => DatesCoverage;
}

/** Files of frames in memory, about 7 kB each of a whole date: five years, and a running date. */
const FRAME_FILES_MAX = 2048;
/** Files of uncovered blocks in memory, about 60 kB each of a whole date over CONUS: a year, and a running date. */
const PATCH_FILES_MAX = 512;
/** Archives that are sampled, evenly, on a date whose scans do not list uncovered blocks: coverage changes over hours. */
const ARCHIVES = 24;

/** Scans of a file, in order. */
interface Scans extends Pick<Looks, 'times'> {
  readonly times: Float64Array;
  /** Grid of each: its place in `grids`. */
  readonly grid: Uint8Array;
  readonly grids: readonly Bbox[];
  /** True when the uncovered blocks of every scan are listed. */
  readonly isListed: boolean;
}

/** By path: published files never change under their name. */
const frameFiles = new LRUCache<string, Scans>({ max: FRAME_FILES_MAX });
const patchFiles = new LRUCache<string, Patches>({ max: PATCH_FILES_MAX });

const numbered = (source: string, columns: string) => `
  SELECT ${['n', ...columns.split(', ')].map((column) => `(${column})::DOUBLE`).join(', ')} FROM ${source}
  JOIN (SELECT unnest($1::VARCHAR[]) AS path, unnest(range(len($1::VARCHAR[]))) AS n) ON path = filename`;
const FRAME_COLUMNS = 'epoch_ms(scan_time), grid_west, grid_south, grid_east, grid_north, uncovered_blocks IS NOT NULL';
const NAMED_FILES = 'read_parquet($1::VARCHAR[], hive_partitioning = false, filename = true)';
const FRAMES_SQL = numbered(NAMED_FILES, FRAME_COLUMNS);
const PATCHES_SQL = numbered(
  NAMED_FILES,
  'row_first, row_last, col_first, col_last, epoch_ms(first_scan), epoch_ms(last_scan)',
);

/** The first scan of each of ARCHIVES equal parts of a date; all of them where the date has no more. */
const ARCHIVES_SQL = `
  WITH numbered AS (
    SELECT scan_time, tile_path, row_number() OVER (ORDER BY scan_time) - 1 AS number, count(*) OVER () AS scans FROM ${FILES})
  SELECT scan_time, tile_path FROM numbered
  WHERE number = 0 OR number * ${ARCHIVES} // scans > (number - 1) * ${ARCHIVES} // scans ORDER BY scan_time`;

/**
 * Radar coverage of storm dates from one to another, both included: the only function that computes it. A scan stands for the time
 * up to the next one, at most ten minutes, and only where a radar covered the place; a date that still runs counts up to its
 * newest scan. On dates whose scans do not list uncovered blocks, 24 archives are sampled.
 * Throws DataUnavailable for an archive that is gone.
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
  const files = dates.map((date) => ({
    date,
    frames: edition.paths(frames.name, [date]),
    patches: edition.paths(uncovered.name, [date]),
  }));
  const [scansAt, patchesAt] = await Promise.all([
    filesAt(
      frameFiles,
      edition.files.has,
      files.flatMap((date) => date.frames),
      (paths) => readNumbered(engine, FRAMES_SQL, 6, paths, scansOf),
    ),
    filesAt(
      patchFiles,
      edition.files.has,
      files.flatMap((date) => date.patches),
      (paths) => readNumbered(engine, PATCHES_SQL, 6, paths, patchesOf),
    ),
  ]);
  const known: ScanDate[] = [];
  for (const { date, frames: framePaths, patches } of files) {
    const scans = joinedScans(framePaths.map((path) => scansAt(path)));
    const listed = patches.map((path) => patchesAt(path));
    const sampled = scans.isListed ? [] : await patchesOfArchives(engine, edition, framePaths, scans);
    const from_ms = stormDateStart(date, storm_day_start_hour);
    const over_ms = stormDateStart(addDays(date, 1), storm_day_start_hour);
    const isRunning = edition.isClosed(date) !== true && (edition.newest_scan_ms ?? 0) < over_ms;
    const to_ms = isRunning ? (scans.times.at(-1) ?? from_ms) : over_ms;
    known.push({ date, scans, patches: [...listed, ...sampled], from_ms, to_ms, isRunning });
  }
  return { at: coverageAt(known, first) };
}

/** The scans of a storm date. */
interface ScanDate {
  readonly date: string;
  readonly scans: Scans;
  readonly patches: readonly Patches[];
  readonly from_ms: number;
  readonly to_ms: number;
  readonly isRunning: boolean;
}

/** Coverage of each date by point; points in the same grids and patches share one result. */
function coverageAt(dates: readonly ScanDate[], first: string): RadarCoverage['at'] {
  const known = new Map<string, DatesCoverage>();
  return (point) => {
    const [row, col] = [latRow(point.lat), lonCol(point.lon)];
    const held = dates.map(({ scans: { grids }, patches }) => ({
      inside: grids.map((grid) => isInside(point, grid)),
      patches: patches.map((part) => part.holding(row, col)),
    }));
    const key = held
      .map(({ inside, patches }) => `${inside.map(Number).join('')} ${patches.map((part) => part.join('.')).join(' ')}`)
      .join('|');
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

/** Results for scans in memory, by all that they depend on: most points of a date have the same coverage. */
const seenOnDates = new WeakMap<Scans, LRUCache<string, SeenOn>>();
/** Entries in memory for a date. */
const SEEN_MAX = 64;

/** Coverage of a date where a point lies; null where its scans are not known. */
function seenOn(
  { date, scans, patches, isRunning, ...span }: ScanDate,
  held: Held,
  before: LastScan | null,
): SeenOn | null {
  const count = scans.times.length;
  if (count === 0) return null;
  const stretches = held.patches.flatMap((places, part) =>
    places.map((place) => (patches[part] as Patches).stretchOf(place)),
  );
  const key = `${date} ${isRunning} ${before?.time_ms} ${before?.seen_ms} ${held.inside.map(Number).join('')} ${stretches.join(' ')}`;
  const remembered = seenOnDates.get(scans) ?? new LRUCache<string, SeenOn>({ max: SEEN_MAX });
  seenOnDates.set(scans, remembered);
  const known = remembered.get(key);
  if (known !== undefined) return known;
  const seen = seenBy(scans, stretches, held.inside);
  const made = {
    coverage: radarCoverageOf({ times: scans.times, seen }, span, before, isRunning),
    last: { date, time_ms: scans.times[count - 1] as number, seen_ms: scans.times[seen.lastIndexOf(1)] ?? null },
  };
  remembered.set(key, made);
  return made;
}

/** Which grids of a date a point lies in, and the patches of each part that hold it. */
interface Held {
  readonly inside: readonly boolean[];
  readonly patches: readonly (readonly number[])[];
}

/** Whether each scan saw a point, 1 or 0: it lies in its grid, and in no uncovered patch of its time. */
function seenBy(
  { times, grid }: Scans,
  stretches: readonly (readonly [first_ms: number, last_ms: number])[],
  inside: readonly boolean[],
): Uint8Array {
  const seen = new Uint8Array(grid.length);
  for (let k = 0; k < grid.length; k++) seen[k] = Number(inside[grid[k] as number]);
  for (const [first_ms, last_ms] of stretches)
    for (let k = lowerBound(times, first_ms); k < times.length && (times[k] as number) <= last_ms; k++) seen[k] = 0;
  return seen;
}

function isInside({ lat, lon }: Position, [west, south, east, north]: Bbox): boolean {
  return lat >= south && lat <= north && lon >= west && lon <= east;
}

/**
 * The value of each file: the files that are not in memory are read together. A file that has gone is read, and so fails, although
 * its value is in memory.
 */
async function filesAt<Made extends object>(
  cache: LRUCache<string, Made>,
  has: (path: string) => boolean,
  paths: readonly string[],
  read: (paths: readonly string[]) => Promise<readonly Made[]>,
): Promise<(path: string) => Made> {
  const found = new Map<string, Made>();
  for (const path of paths) {
    const made = cache.get(path);
    if (made !== undefined && has(path)) found.set(path, made);
  }
  const unread = paths.filter((path) => !found.has(path));
  if (unread.length > 0)
    for (const [index, made] of (await read(unread)).entries()) {
      found.set(unread[index] as string, made);
      cache.set(unread[index] as string, made);
    }
  return (path) => found.get(path) as Made;
}

/** Reads files in one statement whose first column is the place of the row's file; `make` gets the other columns of each. */
async function readNumbered<Made>(
  engine: Queries,
  sql: string,
  width: number,
  paths: readonly string[],
  make: (columns: readonly Float64Array[]) => Made,
): Promise<Made[]> {
  const pieces = paths.map((): Float64Array[][] => []);
  await engine.stream(sql, [paths], ([numbers = new Float64Array(), ...columns]) => {
    // Rows of a file come together, by thousands.
    for (let from = 0, to = 0; from < numbers.length; from = to) {
      while (to < numbers.length && numbers[to] === numbers[from]) to += 1;
      pieces[numbers[from] as number]?.push(columns.map((column) => column.slice(from, to)));
    }
  });
  return pieces.map((parts) =>
    make(Array.from({ length: width }, (_, column) => joinedColumn(parts.map((part) => part[column] as Float64Array)))),
  );
}

function joinedColumn(parts: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Scans from their columns: time, west, south, east and north of the grid, and whether their uncovered blocks are listed. */
function scansOf([times = new Float64Array(), ...columns]: readonly Float64Array[]): Scans {
  const order = ascending(times);
  const at = (column: number, index: number) => (columns[column] as Float64Array)[index] as number;
  const grids: Bbox[] = [];
  const isGrid = (box: Bbox | undefined, index: number) =>
    box?.every((edge, side) => at(side, index) === edge) === true;
  const grid = new Uint8Array(order.length);
  for (const [place, index] of order.entries()) {
    const before = place > 0 ? (grid[place - 1] as number) : 0;
    const known = isGrid(grids[before], index) ? before : grids.findIndex((box) => isGrid(box, index));
    grid[place] = known >= 0 ? known : grids.push([at(0, index), at(1, index), at(2, index), at(3, index)]) - 1;
  }
  const isListed = order.every((index) => at(4, index) === 1);
  return { times: Float64Array.from(order, (index) => times[index] as number), grid, grids, isListed };
}

function joinedScans(parts: readonly Scans[]): Scans {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  const columns: number[][] = [[], [], [], [], [], []];
  for (const { times, grid, grids, isListed } of parts)
    for (let k = 0; k < times.length; k++)
      for (const [index, value] of [
        times[k] as number,
        ...(grids[grid[k] as number] as Bbox),
        Number(isListed),
      ].entries())
        (columns[index] as number[]).push(value);
  return scansOf(columns.map((values) => Float64Array.from(values)));
}

/** Where the sampled archives of a date say that no radar looked: each stands for the scans up to the next one. */
async function patchesOfArchives(
  engine: Queries,
  edition: Pick<Edition, 'files'>,
  paths: readonly string[],
  { times }: Scans,
): Promise<Patches[]> {
  const sampled = await engine.rows<{ scan_time: number; tile_path: string }>(ARCHIVES_SQL, [paths]);
  return Promise.all(
    sampled.map(async ({ scan_time, tile_path }, index) => {
      const next = sampled[index + 1];
      const last_ms = next === undefined ? (times.at(-1) ?? scan_time) : next.scan_time - 1;
      try {
        return await archivePatches(edition.files, tile_path, scan_time, last_ms);
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
        throw new DataUnavailable(tile_path, 'is gone, and its frame names it', { cause });
      }
    }),
  );
}
