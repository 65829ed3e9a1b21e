import { boxAround } from '../../schemas/geo/around.ts';
import { distanceKm } from '../../schemas/geo/distance.ts';
import { geohash } from '../../schemas/geo/geohash.ts';
import { colLon, LATTICE, latRow, lonCol, rowLat } from '../../schemas/geo/lattice.ts';
import { LOCAL_SLACK, localScale } from '../../schemas/geo/local-scale.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import { DETECTION_MIN_MM } from '../../schemas/size.ts';
import { type DayMax, dayMax } from '../../schemas/tables/day-max.ts';
import { companionFields, detections } from '../../schemas/tables/detections.ts';
import type { Edition } from '../catalog.ts';
import type { Engine } from '../duckdb.ts';
import { hailDuration } from '../rules/damage.ts';
import type { FileMemory } from './file-memory.ts';
import { largestPixels, type Within } from './largest-pixels.ts';
import { PIXEL_FILE, type PixelFile, type PixelWindow } from './pixel-file.ts';
import { PLACE_FILE } from './place-file.ts';
import { FILES, filesOfAnyVersion } from './select.ts';

/** What is asked: the largest hail of each storm date around a point. */
export interface HistoryQuestion extends Position {
  readonly radius_km: number;
  /** Storm dates, both included. */
  readonly first: string;
  readonly last: string;
  readonly min_size_mm: number;
  /** Most dates; the newest are kept. */
  readonly limit: number;
  /** Whether the radar products are wanted; they are null else. */
  readonly products: boolean;
}

type Companions = Pick<DayMax, keyof typeof companionFields>;

/** The largest detection of a storm date in the radius; of equals the nearest. */
export interface DayHail extends Companions {
  readonly storm_date: string;
  readonly lat: number;
  readonly lon: number;
  readonly geohash5: string;
  readonly distance_km: number;
  readonly max_mm: number;
  readonly max_time: number;
  readonly confidence: number;
  /** Of the geohash5 on that date, as are those below. */
  readonly place_first_detected: number;
  readonly place_last_detected: number;
  readonly place_scans: number;
  readonly place_duration_min: number;
}

type PlaceFacts = Pick<DayHail, keyof DayHail & `place_${string}`>;

const HAIL_COLUMNS = [
  'max_time',
  'confidence',
  'place_first_detected',
  'place_last_detected',
  'place_scans',
  'place_duration_min',
] as const satisfies readonly (keyof DayMax)[];
const COMPANION_COLUMNS = Object.keys(companionFields) as (keyof Companions)[];

/**
 * One pass over the box: of each date the largest pixel that is certainly inside, and every pixel so close to the rim that
 * only the geodesic can tell. Rows and columns are small integers, so less is read than of latitudes and longitudes.
 */
function largestSql(columns: readonly string[], files = FILES): string {
  const details = columns.map((name) => `"${name}"`).join(', ');
  return `
  WITH boxed AS (
    SELECT storm_date, "row"::INTEGER AS r, col::INTEGER AS c, max_mm, ${details},
      (54995 - 10 * "row"::INTEGER) / 1000.0 - $8 AS dy, (-129995 + 10 * col::INTEGER) / 1000.0 - $9 AS dx
    FROM ${files}
    WHERE "row" BETWEEN $2::USMALLINT AND $3::USMALLINT AND col BETWEEN $4::USMALLINT AND $5::USMALLINT
      AND max_mm >= $10 AND NOT interpolated AND storm_date BETWEEN $6::DATE AND $7::DATE),
  measured AS (
    SELECT *, struct_pack(r, c, max_mm, ${details}) AS pixel,
      pow(dx * ($11 + dy * ($12 + dy * $13)), 2) + pow(dy * ($14 + dy * $15), 2) AS km2
    FROM boxed),
  daily AS (
    SELECT storm_date,
      arg_max(pixel, struct_pack(max_mm, near := -km2, north := -r, west := -c)) FILTER (km2 <= $16) AS largest,
      list(pixel) FILTER (km2 > $16 AND km2 <= $17) AS rim
    FROM measured WHERE km2 <= $17 GROUP BY storm_date)
  SELECT storm_date::VARCHAR AS storm_date, unnest(list_append(coalesce(rim, []), largest), recursive := true) FROM daily`;
}

const LARGEST_SQL = largestSql(HAIL_COLUMNS);
/** With the radar products, which take as long again to read. */
const LARGEST_WITH_PRODUCTS_SQL = largestSql([...HAIL_COLUMNS, ...COMPANION_COLUMNS]);
const LARGEST_OF_ANY_VERSION_SQL = largestSql([...HAIL_COLUMNS, ...COMPANION_COLUMNS], filesOfAnyVersion(dayMax));
const NO_PRODUCTS: Companions = {
  posh_pct: null,
  vil_kg_m2: null,
  echo_top_18_km: null,
  echo_top_50_km: null,
  max_reflectivity_dbz: null,
  reflectivity_minus20c_dbz: null,
  azshear_0_2km_per_s: null,
  lowest_reflectivity_dbz: null,
};

/** A pixel of 10 mm or more that a scan saw: its times and confidence are known. */
interface PixelRow extends Partial<Companions> {
  readonly storm_date: string;
  /** Null where a date has pixels at the rim only. */
  readonly r: number | null;
  readonly c: number;
  readonly max_mm: number;
  readonly max_time: number;
  readonly confidence: number;
  readonly place_first_detected: number | null;
  readonly place_last_detected: number | null;
  readonly place_scans: number | null;
  readonly place_duration_min: number | null;
}

/** What answers: published files, from memory as far as they are there. */
export interface HistorySources {
  readonly engine: Engine;
  readonly files: FileMemory;
}

/** The largest hail of each storm date with a detection in the radius, newest date first. */
export async function dayHail(
  sources: HistorySources,
  edition: Edition,
  question: HistoryQuestion,
): Promise<DayHail[]> {
  const { radius_km, first, last } = question;
  const min_size_mm = Math.max(DETECTION_MIN_MM, question.min_size_mm);
  const bbox = boxAround(question, radius_km);
  const paths = edition.dayMaxPaths(first, last, { bbox, min_size_mm });
  const window = pixelWindow(bbox);
  if (paths.length === 0 || window === null) return [];
  const scale = localScale(question, Math.max(question.lat - bbox[1], bbox[3] - question.lat));
  const within = { centre: question, radius_km, window, scale, first, last, min_size_mm };
  const rows: PixelRow[] = [];
  const unread: string[] = [];
  for (const path of paths) {
    const file = sources.files.of(PIXEL_FILE, path);
    if (file === null) unread.push(path);
    else
      for (const { storm_date, index, row, col } of largestPixels(file, within))
        rows.push({ storm_date, r: row, c: col, ...pixelAt(file, index, question.products) });
  }
  const ofProducts = edition.holdsOlder(dayMax) ? LARGEST_OF_ANY_VERSION_SQL : LARGEST_WITH_PRODUCTS_SQL;
  rows.push(...(await largestRows(sources.engine, unread, within, question.products ? ofProducts : LARGEST_SQL)));
  const newest = largestPerDate(rows, question)
    .sort((a, b) => (a.storm_date < b.storm_date ? 1 : -1))
    .slice(0, question.limit);
  return Promise.all(newest.map((day) => completed(sources, edition, day)));
}

/** What is known of a pixel beside its date and place. */
type KnownPixel = Omit<PixelRow, 'storm_date' | 'r' | 'c'>;

function pixelAt({ columns }: PixelFile, index: number, products: boolean): KnownPixel {
  const at = (name: keyof typeof columns) => columns[name].values[columns[name].codeOf(index)];
  const orNull = (name: keyof typeof columns) => (Number.isNaN(at(name)) ? null : at(name));
  const hail = {
    max_mm: at('max_mm'),
    max_time: at('max_time'),
    confidence: at('confidence'),
    place_first_detected: orNull('place_first_detected'),
    place_last_detected: orNull('place_last_detected'),
    place_scans: orNull('place_scans'),
    place_duration_min: orNull('place_duration_min'),
  };
  return products ? { ...hail, ...Object.fromEntries(COMPANION_COLUMNS.map((name) => [name, orNull(name)])) } : hail;
}

/**
 * The largest pixels of files that are not in memory. They are asked in two halves at the same time: one statement over small
 * files keeps one core busy, whatever the number of threads.
 */
async function largestRows(
  engine: Engine,
  paths: readonly string[],
  { centre, radius_km, window, scale, first, last, min_size_mm }: Within,
  sql: string,
): Promise<PixelRow[]> {
  const parameters = [
    ...window,
    first,
    last,
    centre.lat,
    centre.lon,
    min_size_mm,
    ...scale.east,
    ...scale.north,
    (radius_km * (1 - LOCAL_SLACK)) ** 2,
    (radius_km * (1 + LOCAL_SLACK)) ** 2,
  ];
  const halves = [0, 1]
    .map((half) => paths.filter((_, index) => index % 2 === half))
    .filter(({ length }) => length > 0);
  const rows = await Promise.all(halves.map((half) => engine.rows<PixelRow>(sql, [half, ...parameters])));
  return rows.flat();
}

/** First and last row, first and last column of a box on the lattice; null when it lies outside. */
function pixelWindow([west, south, east, north]: Bbox): PixelWindow | null {
  const rows = [Math.max(0, latRow(north)), Math.min(LATTICE.rows - 1, latRow(south))] as const;
  const cols = [Math.max(0, lonCol(west)), Math.min(LATTICE.cols - 1, lonCol(east))] as const;
  return rows[0] > rows[1] || cols[0] > cols[1] ? null : [...rows, ...cols];
}

type Placed = PixelRow & Position & { readonly r: number; readonly distance_km: number };

function largestPerDate(rows: readonly PixelRow[], question: HistoryQuestion): Placed[] {
  const best = new Map<string, Placed>();
  for (const row of rows) {
    const { r, storm_date } = row;
    if (r === null) continue;
    const position = { lat: rowLat(r), lon: colLon(row.c) };
    const distance_km = distanceKm(question, position);
    if (distance_km > question.radius_km) continue;
    const candidate = { ...row, ...position, r, distance_km };
    const known = best.get(storm_date);
    if (known === undefined || isLarger(candidate, known)) best.set(storm_date, candidate);
  }
  return [...best.values()];
}

/** Of equals the nearest, of those the northernmost, then the westernmost; of one pixel in several files the earliest. */
function isLarger(a: Placed, b: Placed): boolean {
  if (a.max_mm !== b.max_mm) return a.max_mm > b.max_mm;
  if (a.distance_km !== b.distance_km) return a.distance_km < b.distance_km;
  if (a.r !== b.r) return a.r < b.r;
  return a.c !== b.c ? a.c < b.c : a.max_time < b.max_time;
}

/** Fills in what the day maxima of a running date do not know yet, from its detections. */
async function completed(sources: HistorySources, edition: Edition, day: Placed): Promise<DayHail> {
  const { r, c, place_first_detected, place_last_detected, place_scans, place_duration_min, ...rest } = day;
  const known = { ...NO_PRODUCTS, ...rest, geohash5: geohash(day.lat, day.lon, 5) };
  if (
    place_first_detected !== null &&
    place_last_detected !== null &&
    place_scans !== null &&
    place_duration_min !== null
  )
    return { ...known, place_first_detected, place_last_detected, place_scans, place_duration_min };
  return { ...known, ...(await placeFromDetections(sources, edition, known)) };
}

/** Side of a geohash5, degrees, rounded up: so far from a pixel other pixels of its place may lie. */
const PLACE_DEG = 0.044;

const PLACE_SQL = `
  SELECT DISTINCT scan_time FROM ${FILES} WHERE geohash5 = $2 AND storm_date = $3::DATE`;

async function placeFromDetections(
  { engine, files }: HistorySources,
  edition: Edition,
  { storm_date, geohash5, lat, lon, max_time }: Pick<DayHail, 'storm_date' | 'geohash5' | 'max_time'> & Position,
): Promise<PlaceFacts> {
  const bbox: Bbox = [lon - PLACE_DEG, lat - PLACE_DEG, lon + PLACE_DEG, lat + PLACE_DEG];
  const paths = edition.paths(detections.name, [storm_date], { bbox });
  const seen: number[] = [];
  const unread: string[] = [];
  for (const path of paths) {
    const file = files.of(PLACE_FILE, path);
    if (file === null) unread.push(path);
    else seen.push(...file.scansOf(geohash5));
  }
  if (unread.length > 0) {
    const rows = await engine.rows<{ scan_time: number }>(PLACE_SQL, [unread, geohash5, storm_date]);
    seen.push(...rows.map(({ scan_time }) => scan_time));
  }
  const scans = [...new Set(seen)].sort((a, b) => a - b);
  return {
    place_first_detected: scans[0] ?? max_time,
    place_last_detected: scans.at(-1) ?? max_time,
    place_scans: scans.length,
    place_duration_min: hailDuration(scans),
  };
}
