import { VERIFICATION_RADIUS_MI } from '../../schemas/resources/verification.ts';
import { DETECTION_MIN_MM } from '../../schemas/size.ts';
import type { ReportEvent } from './report-events.ts';
import type { ReportMaterial } from './report-material.ts';
import { inches, longDate, miles } from './words.ts';

/** Hail on a storm date. */
interface Hail {
  readonly size_mm: number;
  /** From the point; 0 over it; null where only the radius is known. */
  readonly distance_m: number | null;
  readonly event_date: string;
}

/** Where the largest hail was, in a sentence: over the location and near it. At least one event. */
export function headline(material: ReportMaterial, events: readonly ReportEvent[]): string {
  const over = largestHail(events, ({ overhead }) =>
    overhead === null ? [] : [{ size_mm: overhead.max_mm, distance_m: 0 }],
  );
  const near = largestHail(events, ({ event, largest }) =>
    event.max_size_mm === null ? [] : [{ size_mm: event.max_size_mm, distance_m: largest?.distance_m ?? null }],
  );
  if (over !== null && near !== null && isDetection(over))
    return `Radar estimates hail of up to ${overAnd(over, near)}.`;
  if (near !== null && isDetection(near))
    return `Radar estimates hail of up to ${inches(near.size_mm)}, ${awayOn(near)}${elsewhere(material, over, near)}.`;
  const reported = largestHail(events, ({ reports }) => reports);
  if (reported !== null) {
    const has_radar = events.some((row) => row.event.event_date === reported.event_date && row.has_radar);
    return `Hail of ${inches(reported.size_mm)} was reported on the ground, ${awayOn(reported)}; no radar ${has_radar ? 'detection' : 'data'}.`;
  }
  return near === null
    ? `A signal within ${VERIFICATION_RADIUS_MI} miles.`
    : `A weak radar echo only, of up to ${inches(near.size_mm)}, ${awayOn(near)}: it may be no hail at all.`;
}

function isDetection({ size_mm }: Hail): boolean {
  return size_mm >= DETECTION_MIN_MM;
}

/** The largest, of equals the nearest, then the earliest; null without any. */
function largestHail(
  events: readonly ReportEvent[],
  hailOf: (row: ReportEvent) => readonly Omit<Hail, 'event_date'>[],
): Hail | null {
  const all = events.flatMap((row) =>
    hailOf(row).map(({ size_mm, distance_m }) => ({ size_mm, distance_m, event_date: row.event.event_date })),
  );
  const sorted = all.sort((a, b) => b.size_mm - a.size_mm || (a.distance_m ?? 0) - (b.distance_m ?? 0));
  return sorted[0] ?? null;
}

/** `1.41 in over the location and up to 1.82 in within 0.34 mi, on May 1, 2026`. */
function overAnd(over: Hail, near: Hail): string {
  const here = `${inches(over.size_mm)} over the location`;
  if (near.size_mm <= over.size_mm)
    return `${here} on ${longDate(over.event_date)}, the largest within ${VERIFICATION_RADIUS_MI} miles`;
  const reach = near.distance_m === null ? `${VERIFICATION_RADIUS_MI} miles` : miles(near.distance_m);
  const there = `up to ${inches(near.size_mm)} within ${reach}`;
  return over.event_date === near.event_date
    ? `${here} and ${there}, on ${longDate(near.event_date)}`
    : `${here} on ${longDate(over.event_date)}, and ${there} on ${longDate(near.event_date)}`;
}

/** What radar saw over the location where that was no detection; nothing where it is not known. */
function elsewhere({ verification }: ReportMaterial, over: Hail | null, near: Hail): string {
  if (near.distance_m === null) return '';
  if (over !== null) return '; a weak echo only over the location';
  const { dates_without_data, dates_seen_in_part, dates_with_unknown_scans } = verification.radar_gaps;
  const is_whole = dates_without_data.length + dates_seen_in_part.length + dates_with_unknown_scans.length === 0;
  return `; none over the location${is_whole ? '' : ' in the published data'}`;
}

/** `0.34 mi away, on May 1, 2026`. */
function awayOn({ distance_m, event_date }: Hail): string {
  const where =
    distance_m === null
      ? `within ${VERIFICATION_RADIUS_MI} miles`
      : distance_m === 0
        ? 'at the location'
        : `${miles(distance_m)} away`;
  return `${where}, on ${longDate(event_date)}`;
}
