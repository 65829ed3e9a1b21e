import { geohash } from '../../schemas/geo/geohash.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import { DETECTION_MIN_MM } from '../../schemas/size.ts';
import { type companionFields, type DayMax, detections } from '../../schemas/tables/radar.ts';
import type { Edition } from '../published/catalog.ts';
import type { Engine } from '../published/duckdb.ts';
import { hailDuration } from '../rules/damage.ts';
import { type LargestPixel, largestPerDate, type PixelQuestion } from '../rules/largest-hail.ts';
import { COMPANION_COLUMNS, type DayMaxColumn, type DayMaxRows, dayMaxFiles, readCandidates } from './day-max-rows.ts';
import { DAY_MAX_FILE, type HistoryMemory, PLACE_SCANS_FILE } from './history-memory.ts';
import { FILES } from './sql.ts';

/** Asks for the largest hail of each storm date around a point. */
export interface HistoryQuestion extends PixelQuestion {
  /** Most dates; the newest are kept. */
  readonly limit: number;
  /** Whether to read the radar products; they are null otherwise. */
  readonly products: boolean;
}

/** The largest detection of a storm date in the radius, as `isLarger` ranks them. */
export interface DayHail extends Pick<DayMax, keyof typeof companionFields>, Position {
  readonly storm_date: string;
  readonly geohash5: string;
  readonly distance_km: number;
  readonly max_mm: number;
  readonly max_time: number;
  readonly confidence: number;
  /** Of the geohash5 place on that date, like the three below. */
  readonly place_first_detected: number;
  readonly place_last_detected: number;
  readonly place_scans: number;
  readonly place_duration_min: number;
}

/** Published files: from memory where they are there, else read by the engine. */
interface HistorySources {
  readonly engine: Engine;
  readonly files: HistoryMemory;
}

/** The largest hail of each storm date with a detection in the radius, newest date first. */
export async function dayHail(
  sources: HistorySources,
  edition: Edition,
  question: HistoryQuestion,
): Promise<DayHail[]> {
  const asked = { ...question, min_size_mm: Math.max(DETECTION_MIN_MM, question.min_size_mm) };
  const { inMemory, unread } = sources.files.split(DAY_MAX_FILE, dayMaxFiles(edition, asked));
  const read = await readCandidates(sources.engine, unread, asked);
  const largest = largestPerDate<DayMaxRows>([...inMemory, ...read], asked);
  return Promise.all(
    largest.slice(0, question.limit).map((pixel) => dayOf(sources, edition, pixel, question.products)),
  );
}

/** The facts of a pixel. The day maxima of a running date lack those of its place: its detections give them. */
async function dayOf(
  sources: HistorySources,
  edition: Edition,
  { rows: { columns }, index, ...pixel }: LargestPixel<DayMaxRows>,
  products: boolean,
): Promise<DayHail> {
  const at = (name: DayMaxColumn) => columns[name].at(index);
  const orNull = (value: number) => (Number.isNaN(value) ? null : value);
  const hail = {
    ...pixel,
    geohash5: geohash(pixel.lat, pixel.lon, 5),
    max_mm: at('max_mm'),
    max_time: at('max_time'),
    confidence: at('confidence'),
    ...(Object.fromEntries(COMPANION_COLUMNS.map((name) => [name, products ? orNull(at(name)) : null])) as Pick<
      DayMax,
      keyof typeof companionFields
    >),
  };
  const place = {
    place_first_detected: at('place_first_detected'),
    place_last_detected: at('place_last_detected'),
    place_scans: at('place_scans'),
    place_duration_min: at('place_duration_min'),
  };
  if (!Object.values(place).some(Number.isNaN)) return { ...hail, ...place };
  const scans = await placeScans(sources, edition, hail);
  return {
    ...hail,
    place_first_detected: scans[0] ?? hail.max_time,
    place_last_detected: scans.at(-1) ?? hail.max_time,
    place_scans: scans.length,
    place_duration_min: hailDuration(scans),
  };
}

const PLACE_SQL = `
  SELECT DISTINCT epoch_ms(scan_time)::DOUBLE AS scan_time FROM ${FILES} WHERE geohash5 = $2 AND storm_date = $3::DATE`;

/** Side of a geohash5, degrees, rounded up: other pixels of a pixel's place lie at most this far from it. */
const PLACE_DEG = 0.044;

/** Scans of a storm date with a detection in the geohash5 place of a pixel, ascending, epoch milliseconds. */
async function placeScans(
  { engine, files }: HistorySources,
  edition: Edition,
  { storm_date, geohash5, lat, lon }: Position & { readonly storm_date: string; readonly geohash5: string },
): Promise<number[]> {
  const bbox: Bbox = [lon - PLACE_DEG, lat - PLACE_DEG, lon + PLACE_DEG, lat + PLACE_DEG];
  const { inMemory, unread } = files.split(PLACE_SCANS_FILE, edition.paths(detections.name, [storm_date], { bbox }));
  const scans = new Set(inMemory.flatMap(({ scansOf }) => scansOf(geohash5)));
  if (unread.length > 0) {
    const { scan_time } = await engine.numbers<'scan_time'>(PLACE_SQL, [unread, geohash5, storm_date]);
    for (const time of scan_time) scans.add(time);
  }
  return [...scans].sort((a, b) => a - b);
}
