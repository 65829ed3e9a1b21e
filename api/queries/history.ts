import { boxAround } from '../../schemas/geo/around.ts';
import { distanceKm, isWithinKm } from '../../schemas/geo/distance.ts';
import { geohash } from '../../schemas/geo/geohash.ts';
import { colLon, rowLat } from '../../schemas/geo/lattice.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import { DETECTION_MIN_MM } from '../../schemas/size.ts';
import { type companionFields, type DayMax, detections } from '../../schemas/tables/radar.ts';
import { addDays, daysBetween, MS_PER_DAY } from '../../schemas/time.ts';
import type { Edition } from '../published/catalog.ts';
import type { Engine, Queries, SqlParameter } from '../published/duckdb.ts';
import { hailDuration } from '../rules/damage.ts';
import { pixelsAround } from '../rules/pixel-distance.ts';
import type { PixelDay } from '../rules/verification.ts';
import {
  columnsBy,
  DAY_MAX_SELECT,
  type DayMaxColumn,
  type DayMaxRows,
  type HistoryMemory,
  PLACE_COLUMNS,
} from './history-memory.ts';
import { FILES } from './sql.ts';

/** Asks for pixels around a point. `radius_km`: to their centres, at most 100; `first`, `last`: storm dates, both included. */
type PixelQuestion = Position &
  Readonly<Record<'radius_km' | 'min_size_mm', number> & Record<'first' | 'last', string>>;

/** Asks for the largest hail of each storm date around a point. `limit`: most dates; the newest are kept. */
export type HistoryQuestion = PixelQuestion & { readonly limit: number };

/** The largest detection of a storm date in the radius, as `largestPerDate` ranks them. */
export interface DayHail
  extends Pick<DayMax, keyof typeof companionFields>,
    Position,
    Readonly<Record<(typeof PLACE_COLUMNS)[number] | 'distance_km' | 'max_mm' | 'max_time' | 'confidence', number>> {
  readonly storm_date: string;
  readonly geohash5: string;
}

/** The largest hail of each storm date with a detection in the radius, newest date first. */
export async function dayHail(
  { engine, files }: { readonly engine: Engine; readonly files: HistoryMemory },
  edition: Edition,
  question: HistoryQuestion,
): Promise<DayHail[]> {
  const asked = { ...question, min_size_mm: Math.max(DETECTION_MIN_MM, question.min_size_mm) };
  const { inMemory, unread } = files.split(dayMaxFiles(edition, asked));
  const read = unread.length === 0 ? [] : [await readRows(engine, unread, asked)];
  const largest = largestPerDate([...inMemory, ...read], asked);
  return Promise.all(largest.slice(0, question.limit).map((pixel) => dayOf(engine, edition, pixel)));
}

/** Files of day maxima that may hold rows of a question. */
function dayMaxFiles(edition: Edition, question: PixelQuestion): string[] {
  const { first, last, radius_km, min_size_mm } = question;
  const { row0, row1, col0, col1 } = pixelsAround(question, 1000 * radius_km);
  if (row0 > row1 || col0 > col1) return [];
  return edition.dayMaxPaths(first, last, { bbox: boxAround(question, radius_km), min_size_mm });
}

/** Rows that a scan saw in the box around a question's circle; the parameters are those of `boxParameters`. */
const boxSql = (select: string) => `
  SELECT ${select} FROM ${FILES}
  WHERE "row" BETWEEN $2::USMALLINT AND $3::USMALLINT AND col BETWEEN $4::USMALLINT AND $5::USMALLINT
    AND max_mm >= $6 AND NOT interpolated AND storm_date BETWEEN $7::DATE AND $8::DATE`;

function boxParameters(paths: readonly string[], question: PixelQuestion): readonly SqlParameter[] {
  const { row0, row1, col0, col1 } = pixelsAround(question, 1000 * question.radius_km);
  return [paths, row0, row1, col0, col1, question.min_size_mm, question.first, question.last];
}

const ROWS_SQL = boxSql(`"row"::INTEGER AS "row", col::INTEGER AS col, ${DAY_MAX_SELECT}`);

/** Rows of some files in the box around a question's circle. */
async function readRows(queries: Queries, paths: readonly string[], question: PixelQuestion): Promise<DayMaxRows> {
  const read = await queries.columns<DayMaxColumn | 'row' | 'col'>(ROWS_SQL, boxParameters(paths, question));
  const [rows, cols] = [read.row as readonly number[], read.col as readonly number[]];
  return {
    columns: columnsBy((name) => ({ at: (index) => (read[name][index] as number | null) ?? Number.NaN })),
    inWindow: ({ row0, row1, col0, col1 }, visit) => {
      for (const [index, row] of rows.entries()) {
        const col = cols[index];
        if (row >= row0 && row <= row1 && col >= col0 && col <= col1) visit(index, row, col);
      }
    },
  };
}

const PIXEL_DAY_SQL = boxSql(
  'storm_date::VARCHAR AS storm_date, "row", col, max_mm, max_time, first_detected, last_detected, detection_scans',
);

/**
 * Pixel days in the box around a question's circle, in no order: all within the radius, and others in the corners. A pixel of a
 * running date may have several rows, which add up.
 */
export async function readPixelDays(queries: Queries, edition: Edition, question: PixelQuestion): Promise<PixelDay[]> {
  const paths = dayMaxFiles(edition, question);
  return paths.length === 0 ? [] : queries.rows<PixelDay>(PIXEL_DAY_SQL, boxParameters(paths, question));
}

/** The facts of a pixel. The day maxima of a running date lack those of its place: its detections give them. */
async function dayOf(
  engine: Queries,
  edition: Edition,
  { rows: { columns }, index, row: _row, col: _col, ...pixel }: ReturnType<typeof largestPerDate>[number],
): Promise<DayHail> {
  const values = Object.entries(columns).map(([name, { at }]) => [name, Number.isNaN(at(index)) ? null : at(index)]);
  const { day: _, ...facts } = Object.fromEntries(values) as Record<DayMaxColumn, number | null>;
  const hail = { ...pixel, geohash5: geohash(pixel.lat, pixel.lon, 5), ...facts } as DayHail;
  if (PLACE_COLUMNS.every((name) => facts[name] !== null)) return hail;
  const scans = await placeScans(engine, edition, hail);
  return {
    ...hail,
    place_first_detected: scans[0] ?? hail.max_time,
    place_last_detected: scans.at(-1) ?? hail.max_time,
    place_scans: scans.length,
    place_duration_min: hailDuration(scans),
  };
}

const PLACE_SQL = `
  SELECT DISTINCT epoch_ms(scan_time)::DOUBLE AS scan_time FROM ${FILES}
  WHERE geohash5 = $2 AND storm_date = $3::DATE ORDER BY 1`;

/** Side of a geohash5, degrees, rounded up: other pixels of a pixel's place lie at most this far from it. */
const PLACE_DEG = 0.044;

/** Scans of a storm date with a detection in the geohash5 place of a pixel, ascending, epoch milliseconds. */
async function placeScans(
  engine: Queries,
  edition: Edition,
  { storm_date, geohash5, lat, lon }: Position & { readonly storm_date: string; readonly geohash5: string },
): Promise<readonly number[]> {
  const bbox: Bbox = [lon - PLACE_DEG, lat - PLACE_DEG, lon + PLACE_DEG, lat + PLACE_DEG];
  const paths = edition.paths(detections.name, [storm_date], { bbox });
  if (paths.length === 0) return [];
  const rows = await engine.rows<{ scan_time: number }>(PLACE_SQL, [paths, geohash5, storm_date]);
  return rows.map(({ scan_time }) => scan_time);
}

/**
 * The largest pixel in the radius on each storm date that has one, newest date first: its row, and where it stands. Of equal sizes
 * the nearest counts, then the northernmost, then the westernmost; of one pixel in several files the earliest.
 */
function largestPerDate(sources: readonly DayMaxRows[], question: PixelQuestion) {
  const { radius_km, first } = question;
  const window = pixelsAround(question, 1000 * radius_km);
  const first_day = Date.parse(first) / MS_PER_DAY;
  const days = Math.max(0, daysBetween(first, question.last));
  const pixelOf = (rows: DayMaxRows, index: number, row: number, col: number) => {
    return { rows, index, row, col, lat: rowLat(row), lon: colLon(col) };
  };
  // By day since the first one: the largest size so far, and the pixels that have it.
  const size_mm = new Float64Array(days).fill(question.min_size_mm);
  const equals = Array.from({ length: days }, (): ReturnType<typeof pixelOf>[] => []);
  for (const rows of sources) {
    const { day, max_mm } = rows.columns;
    rows.inWindow(window, (index, row, col) => {
      const at = day.at(index) - first_day;
      if (at < 0 || at >= days) return;
      const mm = max_mm.at(index);
      const pixel = pixelOf(rows, index, row, col);
      if (mm < size_mm[at] || !isWithinKm(question, pixel, radius_km)) return;
      if (mm > size_mm[at]) equals[at] = [];
      size_mm[at] = mm;
      equals[at].push(pixel);
    });
  }
  const timeOf = ({ rows, index }: ReturnType<typeof pixelOf>) => rows.columns.max_time.at(index);
  return equals
    .flatMap((pixels, at) => {
      const storm_date = addDays(first, at);
      const [largest] = pixels
        .map((pixel) => ({ ...pixel, storm_date, distance_km: distanceKm(question, pixel) }))
        .sort((a, b) => a.distance_km - b.distance_km || a.row - b.row || a.col - b.col || timeOf(a) - timeOf(b));
      return largest ?? [];
    })
    .reverse();
}
