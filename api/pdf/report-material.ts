import type { MixedProvenance, Provenance } from '../../schemas/provenance.ts';
import { BANDS_MI, VERDICTS, type Verification, type VerificationEvent } from '../../schemas/resources/verification.ts';
import { DETECTION_MIN_MM } from '../../schemas/size.ts';
import type { GroundReport } from '../../schemas/tables/feeds.ts';
import { localTimeAt } from '../rules/local-time.ts';
import { type Span, stormDateSpan } from '../rules/radar-coverage.ts';
import { bandAt, type Signs } from '../rules/verification.ts';

/** Marks of data that are not all observed; null for observed data. */
export const NOT_REAL = {
  observed: null,
  simulated: {
    /** Before the first sentence, as the source of the radar data, and on every map. */
    word: 'Simulated data',
    /** On every page, above and below, and in the title of the file. */
    band: 'SIMULATED DATA - NOT REAL WEATHER',
    sources:
      'The data are simulated by a computer program for tests and demonstrations. They are not real weather and prove nothing about this place.',
  },
  mixed: {
    word: 'Partly simulated data',
    band: 'PARTLY SIMULATED DATA - NOT ALL OF THIS IS REAL WEATHER',
    sources:
      'Some storm dates hold MESH of NOAA MRMS (Multi-Radar Multi-Sensor), others data simulated by a computer program, which are not real weather. This document must not be used as evidence.',
  },
} as const satisfies Record<MixedProvenance, object | null>;

/** Largest MESH of one pixel on one storm date with its time, and the distance to its rectangle. */
export type ReportPixel = Pick<Signs['pixels'][number], 'row' | 'col' | 'max_mm' | 'max_time' | 'distance_m'>;

/** A ground report within the radius, with its geodesic distance from the point. */
export type ReportedHail = Pick<
  Signs<GroundReport>['reports'][number],
  'source' | 'time' | 'lat' | 'lon' | 'size_mm' | 'place' | 'distance_m'
>;

export interface EventMaterial {
  /** Pixels of 5 mm and more within the radius, and others read with them. */
  readonly pixels: readonly ReportPixel[];
  /** All reports within the radius, by distance. */
  readonly reports: readonly ReportedHail[];
}

/** A warning that was in force at the point when the hail was largest; epoch milliseconds. */
export type HeldWarning = Readonly<{ event: string; end_ms: number; data_source: Provenance }>;

/** Storm dates with a detection or a report within the radius, newest first, in the year before the range. */
export interface EarlierHail {
  readonly first: string;
  readonly last: string;
  /** The newest of them, as many as are listed. */
  readonly days: readonly (EventMaterial & { readonly storm_date: string })[];
  readonly count: number;
  /** Number of storm dates of that year without radar data. */
  readonly without_data: number;
  readonly data_source: MixedProvenance | null;
}

export interface ReportMaterial {
  readonly report_id: string;
  /** Epoch milliseconds; the only difference between two documents of the same verification. */
  readonly generated_ms: number;
  /** Texts of the request that are printed, unchecked and not part of the finding; null where absent. */
  readonly labels: Readonly<Record<'prepared_for' | 'reference' | 'address', string | null>>;
  readonly verification: Verification;
  /** One for each event, in their order. */
  readonly events: readonly EventMaterial[];
  /** Of each event with a map, by storm date; null where warnings were never collected. */
  readonly warnings: ReadonlyMap<string, readonly HeldWarning[]> | null;
  readonly earlier: EarlierHail;
  readonly radar_source: MixedProvenance | null;
  /** Storm dates of the range for which no ground reports were collected, ascending. */
  readonly dates_without_reports: readonly string[];
  /** Hour of UTC at which a storm date begins. */
  readonly storm_day_start_hour: number;
}

/** Limits of events with a map, and of earlier storm dates in their list. */
export const MAPS_MAX = 24;
export const EARLIER_MAX = 8;
/** Limits of listed ground reports: of an event, of a document. */
const EVENT_REPORTS_MAX = 100;
const REPORTS_MAX = 1000;

/** A point within this distance of a pixel lies on its edge: the rest of rounding, m. */
const EDGE_M = 0.01;

/** The material of a document with what its parts share: its events by date, local time at the point, the mark of simulated data. */
export function readReport(material: ReportMaterial) {
  const { verification, earlier, warnings } = material;
  const { data_source } = verification;
  const context = [earlier.data_source, ...[...(warnings?.values() ?? [])].flat().map((held) => held.data_source)];
  const context_mark = context.every((source) => source === null || source === 'observed') ? null : NOT_REAL.mixed;
  return {
    ...material,
    events: readEvents(material),
    local: localTimeAt(verification.location),
    /** Earlier hail and warnings of a simulator mark a document whose finding is observed, too. */
    not_real: (data_source === null ? null : NOT_REAL[data_source]) ?? context_mark,
  };
}
export type Report = ReturnType<typeof readReport>;
export type ReportEvent = Report['events'][number];

/** Dates with hail get maps, strongest verdicts and largest hail first; lists of reports beyond the limits lose their farthest reports. */
function readEvents({
  verification,
  events,
  radar_source,
  dates_without_reports,
  storm_day_start_hour,
}: ReportMaterial) {
  const { dates_without_data, dates_seen_in_part } = verification.radar_gaps;
  const mapped = mappedDates(verification.events);
  let left = REPORTS_MAX;
  return verification.events.map((event, k) => {
    const found = events[k] as EventMaterial;
    const { event_date, max_size_mm } = event;
    const listed = found.reports.slice(0, Math.min(EVENT_REPORTS_MAX, left));
    left -= listed.length;
    return {
      event,
      ...found,
      listed,
      has_map: mapped.has(event_date),
      time: hailTime(event, found, storm_day_start_hour),
      /** False where no radar data of the date are published. */
      has_radar: max_size_mm !== null || (radar_source !== null && !dates_without_data.includes(event_date)),
      /** False where no ground reports of the date were collected. */
      has_reports: found.reports.length > 0 || !dates_without_reports.includes(event_date),
      /** What radar saw of the date at the point; null where that is all of it, or not known. */
      seen: dates_seen_in_part.find(({ date }) => date === event_date) ?? null,
      ...largestIn(found.pixels),
    };
  });
}

/** When the hail of a storm date was largest: by radar, else in a report, else as a weak echo; null without any. */
export function peakTime({ pixels, reports }: EventMaterial): number | null {
  const { largest } = largestIn(pixels);
  const reported_ms = largestReport(reports)?.time ?? null;
  const isDetection = largest !== null && largest.max_mm >= DETECTION_MIN_MM;
  return isDetection ? largest.max_time : (reported_ms ?? largest?.max_time ?? null);
}

/** When there was hail on a storm date: its detections, else its reports, else its largest echo. */
function hailTime(
  { event_date, first_detected, last_detected }: VerificationEvent,
  { pixels, reports }: EventMaterial,
  storm_day_start_hour: number,
): Span {
  if (first_detected !== null && last_detected !== null)
    return { from_ms: Date.parse(first_detected), to_ms: Date.parse(last_detected) };
  const times = reports.map(({ time }) => time);
  if (times.length > 0) return { from_ms: Math.min(...times), to_ms: Math.max(...times) };
  const { largest } = largestIn(pixels);
  return largest === null
    ? stormDateSpan(event_date, storm_day_start_hour)
    : { from_ms: largest.max_time, to_ms: largest.max_time };
}

/** Storm dates that get a map: a weak echo alone may not be hail. */
export function mappedDates(events: readonly VerificationEvent[]): Set<string> {
  const strongest = events.filter(({ verdict }) => verdict !== 'miss').sort(byStrength);
  return new Set(strongest.slice(0, MAPS_MAX).map(({ event_date }) => event_date));
}

/** Strongest verdict first, then the largest size by radar or in a report. */
export function byStrength(a: VerificationEvent, b: VerificationEvent): number {
  const rank = ({ verdict }: VerificationEvent) => VERDICTS.indexOf(verdict);
  const size_mm = ({ max_size_mm, ground_truth: { nearest_reports } }: VerificationEvent) =>
    Math.max(max_size_mm ?? 0, ...nearest_reports.map((report) => report.max_size_mm));
  return rank(a) - rank(b) || size_mm(b) - size_mm(a);
}

/** The largest of some reports, the nearest of equals; null without any. */
export function largestReport(reports: readonly ReportedHail[]): ReportedHail | null {
  return reports.toSorted((a, b) => b.size_mm - a.size_mm || a.distance_m - b.distance_m)[0] ?? null;
}

/** Hail of a storm date within the radius, by radar; null where there is none. */
export function largestIn(pixels: readonly ReportPixel[]) {
  const near = pixels
    .filter(({ distance_m }) => bandAt(distance_m) !== null)
    .map((pixel) => ({ ...pixel, distance_m: pixel.distance_m < EDGE_M ? 0 : pixel.distance_m }))
    .sort((a, b) => b.max_mm - a.max_mm || a.distance_m - b.distance_m);
  return {
    /** The largest pixel, among equals the nearest; its distance is 0 where it contains the point. */
    largest: near[0] ?? null,
    /** Size at the pixel that contains the point, mm; on an edge of the largest of its pixels. */
    overhead_mm: near.find(({ distance_m }) => distance_m === 0)?.max_mm ?? null,
    /** Largest size in each distance band, mm; the pixel over the point counts in the nearest. */
    rings_mm: BANDS_MI.map((_, band) => near.find(({ distance_m }) => bandAt(distance_m) === band)?.max_mm ?? null),
  };
}
