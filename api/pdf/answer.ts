import { isOnLattice } from '../../schemas/geo/lattice.ts';
import { VERDICTS, VERIFICATION_RADIUS_MI } from '../../schemas/resources/verification.ts';
import { CELL_GROW_MM } from '../../schemas/size.ts';
import { daysBetween } from '../../schemas/time.ts';
import { reportGapsInWords, seenInPartInWords } from './gap-words.ts';
import { headline } from './headline.ts';
import type { NotRealMark } from './provenance-words.ts';
import type { ReportEvent } from './report-events.ts';
import type { ReportMaterial } from './report-material.ts';
import {
  artifact,
  PAGE,
  paragraph,
  room,
  type Sheet,
  TEXT_WIDTH,
  tagged,
  wrapped,
  write,
  writeLines,
} from './sheet.ts';
import { BODY, FIGURE, LEAD, SMALL, STRONG } from './styles.ts';
import { drawMark, VERDICT_LOOKS } from './verdict-mark.ts';
import { counted, datesInWords, distanceInWords, longDate, sizeInWords } from './words.ts';

/** The sentence that every document holds, whatever was found. */
export const ABSENCE_SENTENCE = 'Absence of evidence is not proof of absence.';

const GAP = 14;
const COLUMN = (TEXT_WIDTH - 2 * GAP) / 3;
const PANEL_HEIGHT = 68;
/** Most dates seen in part whose gaps are printed; of more only the dates are. */
const GAPS_TOLD_MAX = 12;

/** The one-glance answer: how many days of each verdict, the largest hail, and the days about which nothing is known. */
export function answer(
  sheet: Sheet,
  material: ReportMaterial,
  events: readonly ReportEvent[],
  not_real: NotRealMark | null,
): void {
  sheet.y += 4;
  const lead = events.length > 0 ? headline(material, events) : leadOf(material, events);
  paragraph(sheet, not_real === null ? lead : `${not_real.lead} ${lead}`, LEAD, 6);
  if (events.length > 0) {
    paragraph(sheet, leadOf(material, events), BODY, 6);
    countPanels(sheet, events);
    for (const sentence of largestOf(material, events)) paragraph(sheet, sentence, BODY, 2);
  } else for (const sentence of silenceOf(material)) paragraph(sheet, sentence, BODY, 5);
  for (const sentence of unseenOf(material)) paragraph(sheet, sentence, STRONG, 2);
  for (const sentence of unheardOf(material)) paragraph(sheet, sentence, STRONG, 2);
}

function leadOf(material: ReportMaterial, events: readonly ReportEvent[]): string {
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
  const counts = VERDICTS.map((verdict) => ({ verdict, count: countOf(events, verdict) })).filter(
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

function countOf(events: readonly ReportEvent[], verdict: string): number {
  return events.filter(({ event }) => event.verdict === verdict).length;
}

function countPanels(sheet: Sheet, events: readonly ReportEvent[]): void {
  const { doc } = sheet;
  room(sheet, PANEL_HEIGHT);
  const top = sheet.y;
  for (const [k, verdict] of VERDICTS.entries()) {
    const { word, color, means } = VERDICT_LOOKS[verdict];
    const x = PAGE.left + k * (COLUMN + GAP);
    artifact(doc, 'Layout', () => doc.rect(x, top, COLUMN, 2).fill(color));
    tagged(sheet, 'P', () => {
      const count = String(countOf(events, verdict));
      write(sheet, count, x, top + 30, { ...FIGURE, color });
      const beside = x + 19 * count.length;
      drawMark(sheet, verdict, beside + 5, top + 25, 5);
      write(sheet, word, beside + 16, top + 29.5, { ...LEAD, color });
      writeLines(sheet, wrapped(sheet, means, COLUMN, SMALL), x, top + 38, SMALL);
    });
  }
  sheet.y = top + PANEL_HEIGHT;
}

function largestOf(material: ReportMaterial, events: readonly ReportEvent[]): string[] {
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
  if (reported === undefined && !isHeard(material)) return sentences;
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

function silenceOf(material: ReportMaterial): string[] {
  const { verification, radar_source } = material;
  const { detection_word } = verification.detection_quality;
  const days = daysBetween(verification.date_range.start, verification.date_range.end);
  const within = `within ${VERIFICATION_RADIUS_MI} miles`;
  const weak = detection_word === 'limited' || detection_word === 'fair';
  return [
    ...(radar_source === null || !isOnLattice(verification.location) || unseenDays(material) === days
      ? []
      : [`The radar data that were searched hold no echo of ${sizeInWords(CELL_GROW_MM)} or more ${within}.`]),
    ...(isHeard(material) ? [`The collected feeds hold no report of hail on the ground ${within}.`] : []),
    `This document does not say that no hail fell. ${ABSENCE_SENTENCE} Hail can be small, brief or narrow, fall where radar sees poorly, or go unreported.`,
    ...(weak && radar_source !== null && isOnLattice(verification.location)
      ? [`Radar detection at this place is ${detection_word}: silence of the radar means less here than elsewhere.`]
      : []),
  ];
}

/** The dates that radar did not see, not wholly, or not at this place: a sentence for each kind there is. */
function unseenOf(material: ReportMaterial): string[] {
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
      dates.length > GAPS_TOLD_MAX ? datesInWords(dates) : in_part.map((date) => seenInPartInWords(date)).join(', ');
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

/** False where of no storm date of the range ground reports were collected. */
export function isHeard({ verification, dates_without_reports }: ReportMaterial): boolean {
  const { start, end } = verification.date_range;
  return dates_without_reports.length < daysBetween(start, end);
}

/** The dates whose ground reports were not collected: silence of people says nothing there. */
function unheardOf(material: ReportMaterial): string[] {
  const { verification, dates_without_reports } = material;
  const { start, end } = verification.date_range;
  const in_part = verification.report_gaps.dates_collected_in_part.map((date) => reportGapsInWords(date));
  const partly =
    in_part.length === 0
      ? []
      : [
          `Ground reports of ${counted(in_part.length, 'storm date')} were collected in part, and that none is listed for the rest says nothing: ${in_part.length > GAPS_TOLD_MAX ? datesInWords(verification.report_gaps.dates_collected_in_part.map(({ date }) => date)) : in_part.join(', ')}.`,
        ];
  if (dates_without_reports.length === 0) return partly;
  if (!isHeard(material))
    return [
      `No ground reports of ${start === end ? 'this storm date' : 'these storm dates'} were collected: that none is listed says nothing.`,
    ];
  return [
    ...partly,
    `No ground reports of ${counted(dates_without_reports.length, 'storm date')} of the range were collected, and that none is listed for ${thisOrThese(dates_without_reports)} says nothing: ${datesInWords(dates_without_reports)}.`,
  ];
}
