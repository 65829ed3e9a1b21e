import { isOnLattice } from '../../schemas/geo/lattice.ts';
import { VERDICTS, VERIFICATION_RADIUS_MI } from '../../schemas/resources/verification.ts';
import { CELL_GROW_MM, DETECTION_MIN_MM } from '../../schemas/size.ts';
import { daysBetween } from '../../schemas/time.ts';
import type { ReportEvent } from './report-events.ts';
import type { ReportMaterial } from './report-material.ts';
import {
  counted,
  datesInWords,
  distanceInWords,
  inches,
  longDate,
  miles,
  reportGapsInWords,
  seenInPartInWords,
  sizeInWords,
} from './words.ts';

/** A sentence of every document. */
export const ABSENCE_SENTENCE = 'Absence of evidence is not proof of absence.';

/** Gaps are printed for at most this number of dates; beyond it only the dates are printed. */
const DATES_WITH_GAPS_MAX = 12;

/** Hail on a storm date. */
interface Hail {
  readonly size_mm: number;
  /** From the location; 0 at the location; null where only the radius is known. */
  readonly distance_m: number | null;
  readonly event_date: string;
}

/** Sentence on the largest hail over the location and near it. Needs at least one event. */
export function headline(material: ReportMaterial, events: readonly ReportEvent[]): string {
  const over = largestHail(events, ({ overhead }) =>
    overhead === null ? [] : [{ size_mm: overhead.max_mm, distance_m: 0 }],
  );
  const near = largestHail(events, ({ event, largest }) =>
    event.max_size_mm === null ? [] : [{ size_mm: event.max_size_mm, distance_m: largest?.distance_m ?? null }],
  );
  if (over !== null && near !== null && isDetection(over))
    return `Radar estimates hail of up to ${overLocationAndNear(over, near)}.`;
  if (near !== null && isDetection(near))
    return `Radar estimates hail of up to ${inches(near.size_mm)}, ${distanceAndDate(near)}${overLocationClause(material, over, near)}.`;
  const reported = largestHail(events, ({ reports }) => reports);
  if (reported !== null) {
    const has_radar = events.some((row) => row.event.event_date === reported.event_date && row.has_radar);
    return `Hail of ${inches(reported.size_mm)} was reported on the ground, ${distanceAndDate(reported)}; no radar ${has_radar ? 'detection' : 'data'}.`;
  }
  return near === null
    ? `A signal within ${VERIFICATION_RADIUS_MI} miles.`
    : `A weak radar echo only, of up to ${inches(near.size_mm)}, ${distanceAndDate(near)}: it may be no hail at all.`;
}

function isDetection({ size_mm }: Hail): boolean {
  return size_mm >= DETECTION_MIN_MM;
}

/** The largest hail; among equals the nearest, then the earliest; null without any. */
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
function overLocationAndNear(over: Hail, near: Hail): string {
  const here = `${inches(over.size_mm)} over the location`;
  if (near.size_mm <= over.size_mm)
    return `${here} on ${longDate(over.event_date)}, the largest within ${VERIFICATION_RADIUS_MI} miles`;
  const reach = near.distance_m === null ? `${VERIFICATION_RADIUS_MI} miles` : miles(near.distance_m);
  const there = `up to ${inches(near.size_mm)} within ${reach}`;
  return over.event_date === near.event_date
    ? `${here} and ${there}, on ${longDate(near.event_date)}`
    : `${here} on ${longDate(over.event_date)}, and ${there} on ${longDate(near.event_date)}`;
}

/** Clause on radar over the location without a detection there; empty where that is not known. */
function overLocationClause({ verification }: ReportMaterial, over: Hail | null, near: Hail): string {
  if (near.distance_m === null) return '';
  if (over !== null) return '; a weak echo only over the location';
  const { dates_without_data, dates_seen_in_part, dates_with_unknown_scans } = verification.radar_gaps;
  const is_whole = dates_without_data.length + dates_seen_in_part.length + dates_with_unknown_scans.length === 0;
  return `; none over the location${is_whole ? '' : ' in the published data'}`;
}

/** `0.34 mi away, on May 1, 2026`. */
function distanceAndDate({ distance_m, event_date }: Hail): string {
  const where =
    distance_m === null
      ? `within ${VERIFICATION_RADIUS_MI} miles`
      : distance_m === 0
        ? 'at the location'
        : `${miles(distance_m)} away`;
  return `${where}, on ${longDate(event_date)}`;
}

export function countsSentence(material: ReportMaterial, events: readonly ReportEvent[]): string {
  const { verification, radar_source } = material;
  const { start, end } = verification.date_range;
  const days = daysBetween(start, end);
  const range = days === 1 ? 'on this storm date' : `in these ${days} storm dates`;
  if (events.length === 0) {
    if (!isOnLattice(verification.location)) return 'No radar data can exist for this location: nothing can be said.';
    if (radar_source === null)
      return `No radar data ${days === 1 ? 'for this storm date' : `for these ${days} storm dates`}: nothing can be said.`;
    const { dates_with_unknown_scans, dates_seen_in_part } = verification.radar_gaps;
    const unseen = unseenDays(material);
    if (unseen === days) return `Radar did not look at the location ${range}: nothing can be said.`;
    const silence = `No hail signal within ${VERIFICATION_RADIUS_MI} miles of the location`;
    if (dates_with_unknown_scans.length > 0 || dates_seen_in_part.some(({ share }) => share > 0))
      return `${silence} in what radar saw of it ${range}.`;
    return unseen === 0
      ? `${silence} ${range}.`
      : `${silence} on the ${days - unseen} of ${days} storm dates on which radar looked at it.`;
  }
  const counts = VERDICTS.map((verdict) => ({ verdict, count: eventCount(events, verdict) })).filter(
    ({ count }) => count > 0,
  );
  const parts = counts.map(({ verdict, count }) => counted(count, `${verdict} day`));
  const list = parts.length > 1 ? `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}` : parts[0];
  return `${list} ${days === 1 ? range : `among ${days} storm dates`}.`;
}

/** Storm dates of the range on which no scan saw the location. */
function unseenDays({ verification: { radar_gaps } }: ReportMaterial): number {
  return radar_gaps.dates_without_data.length + radar_gaps.dates_seen_in_part.filter(({ share }) => share === 0).length;
}

export function eventCount(events: readonly ReportEvent[], verdict: string): number {
  return events.filter(({ event }) => event.verdict === verdict).length;
}

export function largestSentences(material: ReportMaterial, events: readonly ReportEvent[]): string[] {
  const sentences: string[] = [];
  const radar = events
    .filter(({ event }) => event.max_size_mm !== null)
    .sort((a, b) => (b.event.max_size_mm ?? 0) - (a.event.max_size_mm ?? 0))[0];
  if (radar !== undefined)
    sentences.push(
      `Largest radar estimate within ${VERIFICATION_RADIUS_MI} miles: ${sizeInWords(radar.event.max_size_mm ?? 0)} on ${longDate(radar.event.event_date)}${radar.largest === null ? '' : `, ${awayInWords(radar.largest.distance_m)}`}.`,
    );
  const reported = events
    .flatMap(({ event, reports }) => reports.map((report) => ({ event, report })))
    .sort((a, b) => b.report.size_mm - a.report.size_mm || a.report.distance_m - b.report.distance_m)[0];
  if (reported === undefined && !hasCollectedReports(material)) return sentences;
  sentences.push(
    reported === undefined
      ? `The collected feeds hold no report of hail on the ground within ${VERIFICATION_RADIUS_MI} miles. ${ABSENCE_SENTENCE}`
      : `Largest hail reported on the ground: ${sizeInWords(reported.report.size_mm)} on ${longDate(reported.event.event_date)}, ${awayInWords(reported.report.distance_m)}.`,
  );
  return sentences;
}

/** `0.83 mi (1.34 km) from the location`, or `over the location itself` for a pixel that holds it. */
export function awayInWords(distance_m: number): string {
  return distance_m === 0 ? 'over the location itself' : `${distanceInWords(distance_m)} from the location`;
}

export function noSignalSentences(material: ReportMaterial): string[] {
  const { verification, radar_source } = material;
  const { detection_word } = verification.detection_quality;
  const days = daysBetween(verification.date_range.start, verification.date_range.end);
  const within = `within ${VERIFICATION_RADIUS_MI} miles`;
  const weak = detection_word === 'limited' || detection_word === 'fair';
  return [
    ...(radar_source === null || !isOnLattice(verification.location) || unseenDays(material) === days
      ? []
      : [`The radar data that were searched hold no echo of ${sizeInWords(CELL_GROW_MM)} or more ${within}.`]),
    ...(hasCollectedReports(material) ? [`The collected feeds hold no report of hail on the ground ${within}.`] : []),
    `This document does not say that no hail fell. ${ABSENCE_SENTENCE} Hail can be small, brief or narrow, fall where radar sees poorly, or go unreported.`,
    ...(weak && radar_source !== null && isOnLattice(verification.location)
      ? [`Radar detection at this place is ${detection_word}: silence of the radar means less here than elsewhere.`]
      : []),
  ];
}

/** One sentence for each kind of radar gap: no data, no scan of the location, seen in part, unknown scans. */
export function radarGapSentences(material: ReportMaterial): string[] {
  const { verification, radar_source } = material;
  const { dates_without_data, dates_with_unknown_scans, dates_seen_in_part } = verification.radar_gaps;
  if (radar_source === null)
    return verification.events.length === 0
      ? []
      : ['No radar data are published for these storm dates: the verdicts rest on ground reports alone.'];
  const sentences: string[] = [];
  if (dates_without_data.length > 0)
    sentences.push(
      `No radar data are published for ${counted(dates_without_data.length, 'storm date')} of the range, and nothing can be said about what radar saw on ${thisOrThese(dates_without_data)}: ${datesInWords(dates_without_data)}.`,
    );
  const unseen = dates_seen_in_part.filter(({ share }) => share === 0);
  const in_part = dates_seen_in_part.filter(({ share }) => share > 0);
  if (unseen.length > 0)
    sentences.push(
      `No scan saw the location on ${counted(unseen.length, 'storm date')}, and nothing can be said about what radar would have shown there: ${datesInWords(unseen.map(({ date }) => date))}.`,
    );
  if (in_part.length > 0) {
    const dates = in_part.map(({ date }) => date);
    const list =
      dates.length > DATES_WITH_GAPS_MAX
        ? datesInWords(dates)
        : in_part.map((date) => seenInPartInWords(date)).join(', ');
    sentences.push(
      `Radar saw the location only in part on ${counted(dates.length, 'storm date')}, and nothing can be said about the rest of ${thisOrThese(dates)}: ${list}.`,
    );
  }
  if (dates_with_unknown_scans.length > 0)
    sentences.push(
      `Of ${counted(dates_with_unknown_scans.length, 'storm date')} only the sum of the whole day is published, and when radar looked at the location is not known: ${datesInWords(dates_with_unknown_scans)}.`,
    );
  return sentences;
}

function thisOrThese({ length }: readonly string[]): string {
  return length === 1 ? 'this date' : 'these dates';
}

/** False when ground reports were collected for no storm date of the range. */
export function hasCollectedReports({ verification, dates_without_reports }: ReportMaterial): boolean {
  const { start, end } = verification.date_range;
  return dates_without_reports.length < daysBetween(start, end);
}

/** Sentences on dates without, or with only a part of, collected ground reports. */
export function reportGapSentences(material: ReportMaterial): string[] {
  const { verification, dates_without_reports } = material;
  const { start, end } = verification.date_range;
  const in_part = verification.report_gaps.dates_collected_in_part.map((date) => reportGapsInWords(date));
  const partly =
    in_part.length === 0
      ? []
      : [
          `Ground reports of ${counted(in_part.length, 'storm date')} were collected in part, and that none is listed for the rest says nothing: ${in_part.length > DATES_WITH_GAPS_MAX ? datesInWords(verification.report_gaps.dates_collected_in_part.map(({ date }) => date)) : in_part.join(', ')}.`,
        ];
  if (dates_without_reports.length === 0) return partly;
  if (!hasCollectedReports(material))
    return [
      `No ground reports of ${start === end ? 'this storm date' : 'these storm dates'} were collected: that none is listed says nothing.`,
    ];
  return [
    ...partly,
    `No ground reports of ${counted(dates_without_reports.length, 'storm date')} of the range were collected, and that none is listed for ${thisOrThese(dates_without_reports)} says nothing: ${datesInWords(dates_without_reports)}.`,
  ];
}
