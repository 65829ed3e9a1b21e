import type { MixedProvenance } from '../../schemas/provenance.ts';
import { BANDS_MI, VERDICTS, type Verification, type VerificationEvent } from '../../schemas/resources/verification.ts';
import type { GroundReport } from '../../schemas/tables/feeds.ts';
import { localTimeAt } from '../rules/local-time.ts';
import { bandAt, type Signs } from '../rules/verification.ts';

/** Largest MESH of one pixel on one storm date, with the distance to its rectangle. */
export type ReportPixel = Pick<Signs['pixels'][number], 'row' | 'col' | 'max_mm' | 'distance_m'>;

/** A ground report within the radius, with its geodesic distance from the point. */
export type ReportedHail = Pick<
  Signs<GroundReport>['reports'][number],
  'source' | 'time' | 'lat' | 'lon' | 'size_mm' | 'place' | 'distance_m'
>;

export interface EventMaterial {
  /** Pixels of 5 mm and more around the point, also those a little outside the radius. */
  readonly pixels: readonly ReportPixel[];
  /** All reports within the radius, by distance. */
  readonly reports: readonly ReportedHail[];
}

/** Texts of the request that are printed on the document, unchecked and not part of the finding; null where absent. */
export interface ReportLabels {
  readonly prepared_for: string | null;
  readonly reference: string | null;
  readonly address: string | null;
}

export interface ReportMaterial {
  readonly report_id: string;
  /** Epoch milliseconds; the only difference between two documents of the same verification. */
  readonly generated_ms: number;
  readonly labels: ReportLabels;
  readonly verification: Verification;
  /** One for each event, in their order. */
  readonly events: readonly EventMaterial[];
  readonly radar_source: MixedProvenance | null;
  /** Storm dates of the range for which no ground reports were collected, ascending. */
  readonly dates_without_reports: readonly string[];
  /** Hour of UTC at which a storm date begins. */
  readonly storm_day_start_hour: number;
}

/** Limit of events with a map. */
export const MAPS_MAX = 24;
/** Limits of listed ground reports: of an event, of a document. */
const EVENT_REPORTS_MAX = 100;
const REPORTS_MAX = 1000;

/** A point within this distance of a pixel lies on its edge: the rest of rounding, m. */
const EDGE_M = 0.01;

/**
 * The events of a document, ascending by date. Dates with hail on radar or on the ground get maps, strongest verdicts and largest
 * hail first. Lists of reports beyond the limits lose their farthest reports.
 */
export function reportEvents({ verification, events, radar_source, dates_without_reports }: ReportMaterial) {
  const { dates_without_data, dates_seen_in_part } = verification.radar_gaps;
  const dark = new Set(dates_without_data);
  const in_part = new Map(dates_seen_in_part.map((date) => [date.date, date]));
  const unheard = new Set(dates_without_reports);
  const mapped = mappedDates(verification.events);
  const local = localTimeAt(verification.location);
  let left = REPORTS_MAX;
  return verification.events.map((event, k) => {
    const { pixels, reports } = events[k] as EventMaterial;
    const { event_date, max_size_mm } = event;
    const listed = reports.slice(0, Math.min(EVENT_REPORTS_MAX, left));
    left -= listed.length;
    return {
      event,
      pixels,
      reports,
      listed,
      has_map: mapped.has(event_date),
      /** False where no radar data of the date are published. */
      has_radar: max_size_mm !== null || (radar_source !== null && !dark.has(event_date)),
      /** False where no ground reports of the date were collected. */
      has_reports: reports.length > 0 || !unheard.has(event_date),
      /** Share of the date in which radar saw the point; null where that is all of it, or not known. */
      seen_in_part: in_part.get(event_date) ?? null,
      /** Local time at the point; null without a time zone. */
      local,
      ...placesIn(pixels),
    };
  });
}
export type ReportEvent = ReturnType<typeof reportEvents>[number];

/** False for a weak echo alone, which may not be hail. */
export function isHail({ verdict }: VerificationEvent): boolean {
  return verdict !== 'miss';
}

function mappedDates(events: readonly VerificationEvent[]): Set<string> {
  const rank = ({ verdict }: VerificationEvent) => VERDICTS.indexOf(verdict);
  /** Largest size by radar or in a report, mm. */
  const size = ({ max_size_mm, ground_truth: { nearest_reports } }: VerificationEvent) =>
    Math.max(max_size_mm ?? 0, ...nearest_reports.map((report) => report.max_size_mm));
  const strongest = events.filter(isHail).sort((a, b) => rank(a) - rank(b) || size(b) - size(a));
  return new Set(strongest.slice(0, MAPS_MAX).map(({ event_date }) => event_date));
}

/** Places of the hail of a storm date within the radius, by radar; null where there is none. */
function placesIn(pixels: readonly ReportPixel[]) {
  const near = pixels.filter(({ distance_m }) => bandAt(distance_m) !== null);
  const largestOf = (some: readonly ReportPixel[]) =>
    some.reduce<number | null>((most, { max_mm }) => Math.max(most ?? 0, max_mm), null);
  const largest_mm = largestOf(near);
  const nearest_m = Math.min(...near.filter(({ max_mm }) => max_mm === largest_mm).map(({ distance_m }) => distance_m));
  return {
    /** Distance of the largest pixel, among equals the nearest; 0 where it contains the point. */
    largest_m: largest_mm === null ? null : nearest_m < EDGE_M ? 0 : nearest_m,
    /** Size at the pixel that contains the point, mm; on an edge of the largest of its pixels. */
    overhead_mm: largestOf(near.filter(({ distance_m }) => distance_m < EDGE_M)),
    /** Largest size in each distance band, mm; the pixel over the point counts in the nearest. */
    rings_mm: BANDS_MI.map((_, band) => largestOf(near.filter(({ distance_m }) => bandAt(distance_m) === band))),
  };
}
