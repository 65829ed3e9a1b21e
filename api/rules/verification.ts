import { createHash } from 'node:crypto';
import { distanceKm } from '../../schemas/geo/distance.ts';
import type { Position } from '../../schemas/geo/position.ts';
import {
  BANDS,
  BANDS_MI,
  type Band,
  METHODOLOGY_VERSION,
  VERIFICATION_RADIUS_MI,
  type Verification,
  type VerificationEvent,
} from '../../schemas/resources/verification.ts';
import { CELL_GROW_MM } from '../../schemas/size.ts';
import type { GroundReport } from '../../schemas/tables/feeds.ts';
import type { DayMax } from '../../schemas/tables/radar.ts';
import { timestamp } from '../../schemas/time.ts';
import { METRES_PER_MILE } from '../../schemas/units.ts';
import { canonical } from '../http/reply.ts';
import { stormDayInWords } from './date-range.ts';
import { OFF_RADAR } from './outside.ts';
import { boundedDistanceM, pixelKey } from './pixel-distance.ts';
import { pointConfidence, reportConfidence } from './point-confidence.ts';
import type { Coverage } from './radar-coverage.ts';
import { rounded } from './rounded.ts';

/** Outer bounds of the bands, m. */
const BANDS_M = BANDS_MI.map((miles) => miles * METRES_PER_MILE);
export const VERIFICATION_RADIUS_M = VERIFICATION_RADIUS_MI * METRES_PER_MILE;
/** An echo of this MESH is a signal. */
export const SIGNAL_MIN_MM = CELL_GROW_MM;

/** Smallest MESH of the nearest band with hail, mm. */
const BAND_MIN_MM = 19;
/** Weight of the largest MESH of each band: hail farther away is weaker evidence for the point. */
const BAND_WEIGHTS = [1, 0.85, 0.7] as const;
/** A detection without a report is a hit from this size, number of detections and confidence on, all in the nearest band. */
const STRONG = { size_mm: 38, detections: 3, confidence: 0.7 } as const;
/** Smallest size, largest distance and largest time difference of a report that corroborates a detection. */
const CORROBORATION = { size_mm: 13, distance_m: 8000, time_ms: 60 * 60_000 } as const;
/** Largest confidence where radars did not cover the point in more than this share of the scans. */
const GAPS = { share: 0.25, confidence: 0.5 } as const;
const NEAREST_REPORTS = 5;
const NO_RADAR = 'No radar data are published for the date: reports alone speak of it, without a confidence.';
const UNSEEN = 'No radar covered the point on the date: reports alone speak of it, without a confidence.';

/** A row of the day maxima: radar measurements of one pixel over a stretch of a storm date. */
export type PixelDay = Pick<
  DayMax,
  'storm_date' | 'row' | 'col' | 'max_mm' | 'max_time' | 'first_detected' | 'last_detected' | 'detection_scans'
>;

/** Columns of a ground report that a verdict uses. */
type ReportSeen = Pick<GroundReport, 'storm_date' | 'report_id' | 'source' | 'time' | 'lat' | 'lon' | 'size_mm'>;

/** A storm date with any signal within the radius. */
export interface Signs<Report extends ReportSeen = ReportSeen> {
  readonly storm_date: string;
  /** Those within the radius, and others read with them, from north and west. */
  readonly pixels: readonly Signal[];
  /** Those within the radius with their geodesic distance, by distance, then id. */
  readonly reports: readonly (Report & { readonly distance_m: number })[];
}

interface Circumstances {
  /** How well radar sees hail at the point, 0..1. */
  readonly hdqi: number;
  readonly has_radar: boolean;
  /** Null where no data exist. */
  readonly gaps: Pick<Coverage, 'scans' | 'uncovered'> | null;
  /** Every instant of the detections of a date by `pixelKey`, epoch milliseconds; null where they are not needed. */
  readonly times: ReadonlyMap<number, readonly number[]> | null;
}

/**
 * Storm dates with any signal within the radius of a point, ascending: an echo of 5 mm, or a report. Rows may come in any
 * order, and those farther away with them.
 */
export function signsAround<Report extends ReportSeen>(
  point: Position,
  pixels: readonly PixelDay[],
  reports: readonly Report[],
): Signs<Report>[] {
  const near = reports
    .map((report) => ({ ...report, distance_m: 1000 * distanceKm(point, report) }))
    .filter(({ distance_m }) => distance_m <= VERIFICATION_RADIUS_M)
    .sort((a, b) => a.distance_m - b.distance_m || (a.report_id < b.report_id ? -1 : 1));
  const pixelsOf = Map.groupBy(pixels, ({ storm_date }) => storm_date);
  const reportsOf = Map.groupBy(near, ({ storm_date }) => storm_date);
  return [...new Set([...pixelsOf.keys(), ...reportsOf.keys()])]
    .sort()
    .map((storm_date) => ({
      storm_date,
      pixels: signalsOf(point, pixelsOf.get(storm_date) ?? []),
      reports: reportsOf.get(storm_date) ?? [],
    }))
    .filter((signs) => signs.reports.length > 0 || signs.pixels.some(({ band }) => band !== null));
}

/** Index of the band of a distance, m; a bound belongs to the nearer band; null beyond the radius. */
export function bandAt(distance_m: number): number | null {
  const band = BANDS_M.findIndex((outer_m) => distance_m <= outer_m);
  return band < 0 ? null : band;
}

/** Pixels of a storm date with a signal, from north and west; the rows of several stretches are added up. */
function signalsOf(point: Position, rows: readonly PixelDay[]) {
  const seen = rows.filter(({ max_mm }) => max_mm >= SIGNAL_MIN_MM);
  const byPixel = Map.groupBy(seen, ({ row, col }) => pixelKey(row, col));
  const signals = Array.from(byPixel.values(), (stretches) => {
    const { row, col } = stretches[0] as PixelDay;
    const distance_m = boundedDistanceM(point, row, col, BANDS_M);
    const max_mm = Math.max(...stretches.map((one) => one.max_mm));
    return {
      row,
      col,
      max_mm,
      /** The earliest scan of that size. */
      max_time: Math.min(...stretches.filter((one) => one.max_mm === max_mm).map(({ max_time }) => max_time)),
      /** From the point to the pixel's rectangle, exact enough for its band. */
      distance_m,
      /** Index of its band; null beyond the radius. */
      band: bandAt(distance_m),
      /** Scans in which it was a detection. */
      detections: stretches.reduce((sum, { detection_scans }) => sum + detection_scans, 0),
      /** Instants at which it certainly was one, epoch milliseconds: the first, the last, and the largest of each stretch. */
      known_times: stretches
        .flatMap((one) => [one.detection_scans > 0 ? one.max_time : null, one.first_detected, one.last_detected])
        .filter((time) => time !== null),
    };
  });
  return signals.sort((a, b) => a.row - b.row || a.col - b.col);
}
type Signal = ReturnType<typeof signalsOf>[number];

/**
 * True when the day maxima cannot decide whether a report corroborates: its time lies between the first and the last detection of a
 * pixel and not within an hour of a known instant. The times of all detections are needed then.
 */
export function needsTimes(signs: Signs): boolean {
  return !isCorroborated(signs, null) && isCorroborated(signs, 'throughout');
}

/** The event of a storm date with signs. Its comparisons are of exact values; they are rounded last. */
export function eventOf(signs: Signs, { hdqi, has_radar, gaps, times }: Circumstances): VerificationEvent {
  const { storm_date, pixels, reports } = signs;
  const bands = BANDS.map((_, band) => {
    const here = pixels.filter((pixel) => pixel.band === band);
    return {
      max_mm: Math.max(0, ...here.map(({ max_mm }) => max_mm)),
      detections: here.reduce((sum, { detections }) => sum + detections, 0),
      has_report: reports.some(({ distance_m }) => bandAt(distance_m) === band),
    };
  });
  type BandFacts = (typeof bands)[number];
  const large = bands.findIndex(({ max_mm }) => max_mm >= BAND_MIN_MM);
  const nearestWith = (isSignal: (facts: BandFacts) => boolean) => (large < 0 ? bands.findIndex(isSignal) : large);
  const corroborated = isCorroborated(signs, times);
  const hasGaps = gaps !== null && gaps.uncovered > GAPS.share * gaps.scans;
  const evidence = {
    size_mm: Math.max(...bands.map(({ max_mm }, band) => max_mm * (BAND_WEIGHTS[band] as number))),
    n_detections: bands[nearestWith(({ max_mm }) => max_mm > 0)]?.detections ?? 0,
    ...{ corroborated, hdqi },
  };
  const reportBand = bands.findIndex(({ has_report }) => has_report);
  const reported = reportBand < 0 ? 0 : reportConfidence(BAND_WEIGHTS[reportBand] as number, hdqi);
  const confidence = Math.min(Math.max(pointConfidence(evidence), reported), hasGaps ? GAPS.confidence : 1);
  const isUnseen = gaps !== null && gaps.uncovered === gaps.scans && evidence.size_mm === 0;
  const max_mm = Math.max(...bands.map((band) => band.max_mm));
  const n_detections = bands.reduce((sum, { detections }) => sum + detections, 0);
  const detected = detectedIn(signs).flatMap(({ known_times }) => known_times);
  const [nearest] = bands as [BandFacts];
  const isStrong =
    nearest.max_mm >= STRONG.size_mm && nearest.detections >= STRONG.detections && confidence >= STRONG.confidence;
  return {
    event_date: storm_date,
    verdict: corroborated || isStrong ? 'hit' : reports.length > 0 || n_detections > 0 ? 'marginal' : 'miss',
    band: BANDS[nearestWith((facts) => facts.max_mm > 0 || facts.has_report)] as Band,
    max_size_mm: max_mm === 0 ? null : rounded(max_mm, 1),
    ml_confidence: has_radar && !isUnseen ? rounded(confidence, 3) : null,
    n_detections,
    first_detected: detected.length === 0 ? null : timestamp(Math.min(...detected)),
    last_detected: detected.length === 0 ? null : timestamp(Math.max(...detected)),
    ground_truth: {
      corroborated,
      nearest_reports: reports.slice(0, NEAREST_REPORTS).map(({ source, size_mm, distance_m }) => ({
        source,
        max_size_mm: rounded(size_mm, 1),
        distance_m: Math.round(distance_m),
      })),
    },
    note: noteOf(has_radar, isUnseen, hasGaps ? gaps : null),
  };
}

/** Why an event has no confidence, or a capped one (`gaps`); null where neither holds. */
function noteOf(has_radar: boolean, isUnseen: boolean, gaps: Circumstances['gaps']): string | null {
  if (!has_radar) return NO_RADAR;
  if (isUnseen) return UNSEEN;
  if (gaps === null) return null;
  return `No radar covered the point in ${gaps.uncovered} of the ${gaps.scans} scans of the date: the confidence is at most ${GAPS.confidence}.`;
}

/** Pixels within the radius with a detection. */
function detectedIn({ pixels }: Signs): readonly Signal[] {
  return pixels.filter(({ band, detections }) => band !== null && detections > 0);
}

/**
 * Whether a report of 13 mm or more lies within 8 km and 60 minutes of a detection within the radius. `times` are those of all
 * detections; null: only those of the day maxima; `throughout`: as if every pixel were a detection from its first to its last.
 */
function isCorroborated(signs: Signs, times: Circumstances['times'] | 'throughout'): boolean {
  const detected = detectedIn(signs);
  return signs.reports
    .filter(({ size_mm }) => size_mm >= CORROBORATION.size_mm)
    .some((report) =>
      detected.some(
        (pixel) =>
          isSeenAround(pixel, report.time, times) &&
          boundedDistanceM(report, pixel.row, pixel.col, [CORROBORATION.distance_m]) <= CORROBORATION.distance_m,
      ),
    );
}

function isSeenAround(
  { row, col, known_times }: Signal,
  time_ms: number,
  times: Circumstances['times'] | 'throughout',
): boolean {
  const isNear = (seen_ms: number) => Math.abs(seen_ms - time_ms) <= CORROBORATION.time_ms;
  if (known_times.some(isNear)) return true;
  if (times === 'throughout') return Math.min(...known_times) < time_ms && time_ms < Math.max(...known_times);
  return times?.get(pixelKey(row, col))?.some(isNear) ?? false;
}

/**
 * Fingerprint of a verification: `sha256:` and the hex digest of the canonical JSON (RFC 8785) of location, dates, events and
 * methodology: another run of the same data gives the same hash.
 */
export function verificationHash({
  date_range,
  events,
  location,
  methodology: { version },
}: Pick<Verification, 'date_range' | 'events' | 'location' | 'methodology'>): string {
  const content = canonical({ date_range, events, location, methodology: { version } });
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}

/** The rules of verdicts in words. */
export const VERDICT_RULES = [
  'Hail estimated by radar (MESH of MRMS, 0.01 degree pixels measured to their edge) and reported from the ground, within 5 miles of the point, storm date by storm date.',
  'hit: a detection (10 mm or more) that a ground report of 13 mm or more corroborates within 8 km and 60 minutes; or, without one, 38 mm or more with at least 3 detections within 1 mile and a confidence of .70 or more.',
  'marginal: any other detection, or a report without radar. miss: an echo of 5 to 10 mm only.',
  'The confidence is null where no radar data saw the point; a report that radar does not confirm raises it to .38 at most.',
  'Sizes are estimates. Absence of evidence is not proof of absence.',
].join(' ');
/** A date by local time would miss the hail of its evening. */
const EVENING = ' An evening in the United States falls on the next UTC date.';
const SOURCES = {
  observed: '',
  simulated: ' The data are simulated: they say nothing about real hail.',
  mixed: ' Some of the data are simulated: they say nothing about real hail.',
} as const;

interface DataAtHand {
  readonly hasReports: boolean;
  /** Storm dates of the range without radar data. */
  readonly without_data: number;
  /** Hour of UTC at which a storm date begins. */
  readonly storm_day_start_hour: number;
  /** Storm dates of the range whose ground reports were not collected. */
  readonly without_reports: number;
  /** False where the point lies outside the area of the published data. */
  readonly isPublished: boolean;
}

export function methodologyOf(
  data_source: Verification['data_source'],
  { hasReports, without_data, without_reports, isPublished, storm_day_start_hour }: DataAtHand,
): Verification['methodology'] {
  const limits = [
    [!isPublished, OFF_RADAR],
    [!hasReports, 'No ground reports are published here, so nothing is corroborated.'],
    [
      hasReports && without_reports > 0,
      `Storm dates of the range for which no ground reports were collected: ${without_reports}. That none is listed for them says nothing.`,
    ],
    [
      without_data > 0,
      `Storm dates of the range for which no radar data are published: ${without_data}. Where they have no event, that says nothing.`,
    ],
  ] as const;
  const limited = limits.flatMap(([holds, text]) => (holds ? [` ${text}`] : [])).join('');
  const source = data_source === null ? '' : SOURCES[data_source];
  const day = ` ${stormDayInWords(storm_day_start_hour)}${storm_day_start_hour === 0 ? EVENING : ''}`;
  const description = `${VERDICT_RULES}${day}${limited}${source}`;
  return { version: METHODOLOGY_VERSION, description, bands_mi: [...BANDS_MI] };
}
