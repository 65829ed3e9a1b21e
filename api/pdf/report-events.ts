import { latRow, lonCol } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import type { DateSeenInPart } from '../../schemas/resources/radar-gaps.ts';
import { BANDS_MI, type Verdict, type VerificationEvent } from '../../schemas/resources/verification.ts';
import { METRES_PER_MILE } from '../../schemas/units.ts';
import { isLarger, type RankedHail } from '../rules/largest-hail.ts';
import { type LocalTime, localTimeAt } from '../rules/local-time.ts';
import { boundedDistanceM, pixelDistanceM } from '../rules/pixel-distance.ts';
import { bandAt } from '../rules/verification.ts';
import type { EventMaterial, ReportedHail, ReportMaterial, ReportPixel } from './report-material.ts';

/** Most events that get a map. */
export const MAPS_MAX = 24;
/** Most ground reports that are listed for an event, and in a document. */
export const EVENT_REPORTS_MAX = 100;
export const REPORTS_MAX = 1000;

const BOUNDS_M = BANDS_MI.map((miles) => miles * METRES_PER_MILE);
/** A point so near to a pixel lies on its edge: no more than what rounding leaves, m. */
const EDGE_M = 0.01;
const VERDICT_RANK: Readonly<Record<Verdict, number>> = { hit: 2, marginal: 1, miss: 0 };

/** A pixel and how far its rectangle is from the point; 0 where it holds the point. */
export interface PlacedPixel extends ReportPixel {
  readonly distance_m: number;
}

/** Where the hail of a storm date was, by radar. */
interface HailPlaces {
  /** Largest pixel within the radius, the nearest of equals; null without any. */
  readonly largest: PlacedPixel | null;
  /** The pixel that holds the point, the largest of those on whose edge it lies; null where it has no signal. */
  readonly overhead: ReportPixel | null;
  /** Largest size in each distance band, mm, that over the point in the nearest; null without a signal. */
  readonly rings_mm: readonly (number | null)[];
}

/** A verdict with what a document shows of it. */
export interface ReportEvent extends HailPlaces {
  readonly event: VerificationEvent;
  readonly pixels: readonly ReportPixel[];
  /** All of them. */
  readonly reports: readonly ReportedHail[];
  /** The nearest of them, as many as are listed. */
  readonly listed: readonly ReportedHail[];
  readonly has_map: boolean;
  /** False where no radar data of the date are published: silence of the radar means nothing then. */
  readonly has_radar: boolean;
  /** False where no ground reports of the date were collected: that none is listed means nothing then. */
  readonly has_reports: boolean;
  /** What of the date radar saw of the point; null where that is all of it, or not known. */
  readonly seen_in_part: DateSeenInPart | null;
  /** Civil time at the point; null where there is UTC alone. */
  readonly local: LocalTime | null;
}

/**
 * The events of a document, ascending by date. Maps go to dates with hail on radar or on the ground, the strongest verdicts and the
 * largest hail first; lists of reports are cut, farthest first, where they would fill more than the document may.
 * Throws RangeError where the material's events are not those of the verification.
 */
export function reportEvents(material: ReportMaterial): ReportEvent[] {
  const { verification, events, radar_source } = material;
  const { dates_without_data, dates_seen_in_part } = verification.radar_gaps;
  const dark = new Set(dates_without_data);
  const in_part = new Map(dates_seen_in_part.map((date) => [date.date, date]));
  const unheard = new Set(material.dates_without_reports);
  const dates = verification.events.map(({ event_date }) => event_date).join(', ');
  const given = events.map(({ event_date }) => event_date).join(', ');
  if (given !== dates) throw new RangeError(`material is for '${given}', expected the events '${dates}'`);
  const mapped = mappedDates(verification.events);
  const local = localTimeAt(verification.location);
  let left = REPORTS_MAX;
  return verification.events.map((event, k) => {
    const { pixels, reports } = events[k] as EventMaterial;
    const listed = reports.slice(0, Math.min(EVENT_REPORTS_MAX, left));
    left -= listed.length;
    const has_map = mapped.has(event.event_date);
    const placed = inPixels(verification.location, pixels);
    const has_radar = event.max_size_mm !== null || (radar_source !== null && !dark.has(event.event_date));
    const has_reports = reports.length > 0 || !unheard.has(event.event_date);
    const seen_in_part = in_part.get(event.event_date) ?? null;
    return { event, ...placed, pixels, reports, listed, has_map, has_radar, has_reports, seen_in_part, local };
  });
}

/** Size that an event stands for: the largest of radar and, in `nearest_reports`, of the ground; mm. */
function sizeOf(event: VerificationEvent): number {
  return Math.max(event.max_size_mm ?? 0, ...event.ground_truth.nearest_reports.map(({ max_size_mm }) => max_size_mm));
}

/** False for a weak echo alone, which may be no hail at all. */
export function isHail({ verdict }: VerificationEvent): boolean {
  return verdict !== 'miss';
}

function mappedDates(events: readonly VerificationEvent[]): Set<string> {
  const strongest = events
    .filter(isHail)
    .sort((a, b) => VERDICT_RANK[b.verdict] - VERDICT_RANK[a.verdict] || sizeOf(b) - sizeOf(a));
  return new Set(strongest.slice(0, MAPS_MAX).map(({ event_date }) => event_date));
}

function inPixels(point: Position, pixels: readonly ReportPixel[]): HailPlaces {
  let best: (RankedHail & { readonly pixel: ReportPixel }) | null = null;
  let overhead: ReportPixel | null = null;
  const rings_mm: (number | null)[] = BANDS_MI.map(() => null);
  for (const pixel of pixels) {
    const { max_mm } = pixel;
    const [row, col] = [latRow(pixel.lat), lonCol(pixel.lon)];
    const distance_m = boundedDistanceM(point, row, col, BOUNDS_M);
    const band = bandAt(distance_m);
    if (band === null) continue;
    rings_mm[band] = Math.max(rings_mm[band] ?? 0, max_mm);
    if (distance_m < EDGE_M && (overhead === null || max_mm > overhead.max_mm)) overhead = pixel;
    const ranked = { max_mm, distance: distance_m, row, col, pixel };
    if (best === null || isLarger(ranked, best)) best = ranked;
  }
  if (best === null) return { largest: null, overhead, rings_mm };
  const distance_m = pixelDistanceM(point, best.row, best.col);
  return { largest: { ...best.pixel, distance_m: distance_m < EDGE_M ? 0 : distance_m }, overhead, rings_mm };
}
