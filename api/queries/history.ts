import type { Logger } from 'pino';
import { geohash } from '../../schemas/geo/geohash.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { DETECTION_MIN_MM } from '../../schemas/size.ts';
import type { companionFields, DayMax } from '../../schemas/tables/radar.ts';
import { addDays } from '../../schemas/time.ts';
import type { Catalog, Edition } from '../published/catalog.ts';
import type { Engine } from '../published/duckdb.ts';
import { hailDuration } from '../rules/damage.ts';
import { type LargestPixel, largestPerDate, type PixelQuestion } from '../rules/largest-hail.ts';
import {
  COMPANION_COLUMNS,
  DAY_MAX_FILE,
  type DayMaxColumn,
  type DayMaxRows,
  dayMaxFiles,
  readCandidates,
} from './day-max-rows.ts';
import type { FileMemory } from './file-memory.ts';
import { placeScans } from './place-scans.ts';

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
  readonly files: FileMemory;
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

/** Storm dates that a question may look back. */
const READ_AHEAD_DAYS = 365;

/**
 * Reads the day maxima of each edition's last year into memory, newest first, while there is room: days that are in no month yet,
 * then the months. No answer waits for it. Returns the function that stops it.
 */
export function startReadingAhead(
  { catalog, files }: { readonly catalog: Catalog; readonly files: FileMemory },
  log: Logger,
): () => Promise<void> {
  return catalog.afterEdition({
    react: async (edition) => {
      const last = edition.dates.at(-1);
      const paths = last === undefined ? [] : edition.dayMaxPaths(addDays(last, 1 - READ_AHEAD_DAYS), last);
      files.readAhead(DAY_MAX_FILE, paths.reverse());
    },
    failed: (error) => log.warn({ err: error }, 'Data:ReadAhead:Failed'),
  });
}
