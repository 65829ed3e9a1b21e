import { VERIFICATION_RADIUS_MI } from '../../schemas/resources/verification.ts';
import { CELL_GROW_MM, DETECTION_MIN_MM } from '../../schemas/size.ts';
import { ABSENCE_SENTENCE, awayInWords } from './overview-sentences.ts';
import { printable } from './printable.ts';
import type { NotRealMark } from './provenance-words.ts';
import type { ReportEvent } from './report-events.ts';
import type { ReportedHail } from './report-material.ts';
import { clockTime, confidenceText, counted, localSpan, shareInWords, sizeInWords, sizeName } from './words.ts';

/** Longest note that is shown, characters. */
export const NOTE_MAX = 400;

/** One subject of a summary. */
export interface SummaryPart {
  readonly title: string;
  readonly text: string;
}

/** Sentences on an event: radar, ground reports, reason of the verdict. */
export function eventSummary(event: ReportEvent, not_real: NotRealMark | null): SummaryPart[] {
  const aside = not_real?.aside ?? '';
  const { note } = event.event;
  return [
    { title: `Radar${aside}`, text: radarSentences(event).join(' ') },
    { title: `Ground reports${aside}`, text: reportSentences(event).join(' ') },
    { title: 'Verdict', text: verdictSentence(event) },
    ...(note === null ? [] : [{ title: 'Note', text: printable(note, NOTE_MAX) }]),
  ];
}

function radarSentences(row: ReportEvent): string[] {
  const { event, largest, overhead, has_radar, seen_in_part } = row;
  const { max_size_mm, n_detections } = event;
  if (!has_radar) return ['No radar data of this storm date are published: whether radar saw hail is not known.'];
  if (max_size_mm === null && seen_in_part?.share === 0)
    return ['No scan of this storm date saw the location: whether radar would have shown hail is not known.'];
  if (max_size_mm === null)
    return [
      `No radar signal of ${sizeInWords(CELL_GROW_MM)} or more within ${VERIFICATION_RADIUS_MI} miles of the location on this storm date${seen_in_part === null ? '' : `, of which radar saw ${shareInWords(seen_in_part.share)}`}.`,
    ];
  const size = sizeInWords(max_size_mm);
  const where = largest === null ? '' : `, ${awayInWords(largest.distance_m)}`;
  const above =
    overhead === null
      ? `The pixel over the location itself shows no signal of ${sizeInWords(CELL_GROW_MM)} or more.`
      : `The pixel over the location itself reached ${sizeInWords(overhead.max_mm)}.`;
  if (n_detections === 0)
    return [
      `Radar shows an echo of up to ${size}${where}.`,
      `That is below the ${sizeInWords(DETECTION_MIN_MM)} from which an echo counts as a detection; it may be no hail at all.`,
      above,
    ];
  return [
    `Radar estimates hail of up to ${size}, ${sizeName(max_size_mm)} size${where}.`,
    `${counted(n_detections, 'detection')} within ${VERIFICATION_RADIUS_MI} miles${spanInWords(row)}.`,
    above,
  ];
}

function spanInWords({ event, local }: ReportEvent): string {
  const { first_detected, last_detected, event_date } = event;
  if (first_detected === null || last_detected === null) return '';
  const [first_ms, last_ms] = [Date.parse(first_detected), Date.parse(last_detected)];
  const [first, last] = [clockTime(first_ms, event_date), clockTime(last_ms, event_date)];
  const here = local === null ? '' : ` (${localSpan(local, first_ms, last_ms)})`;
  return `${first === last ? ` at ${first}` : ` from ${first} to ${last}`} UTC${here}`;
}

function reportSentences(row: ReportEvent): string[] {
  const { event, reports, has_reports } = row;
  const [nearest] = reports;
  if (!has_reports)
    return ['No ground reports of this storm date were collected: whether anybody reported hail is not known.'];
  if (nearest === undefined)
    return [
      `None within ${VERIFICATION_RADIUS_MI} miles in the collected feeds. That nobody reported hail does not show that none fell.`,
    ];
  const largest = reports.reduce((best, report) => (report.size_mm > best.size_mm ? report : best));
  const one = reports.length === 1;
  return [
    one
      ? `One report within ${VERIFICATION_RADIUS_MI} miles: ${reportInWords(nearest, row)}.`
      : `${counted(reports.length, 'report')} within ${VERIFICATION_RADIUS_MI} miles. The nearest: ${reportInWords(nearest, row)}.${largest === nearest ? ' It is also the largest.' : ` The largest: ${reportInWords(largest, row)}.`}`,
    event.ground_truth.corroborated
      ? `${one ? 'It corroborates' : 'At least one of them corroborates'} the radar in size, place and time.`
      : `${one ? 'It corroborates' : 'They corroborate'} no radar detection in size, place and time.`,
  ];
}

function reportInWords({ size_mm, distance_m, time }: ReportedHail, { event, local }: ReportEvent): string {
  const here = local === null ? '' : ` (${localSpan(local, time, time)})`;
  return `${sizeInWords(size_mm)}, ${awayInWords(distance_m)}, at ${clockTime(time, event.event_date)} UTC${here}`;
}

function verdictSentence({ event }: ReportEvent): string {
  const confidence = `Confidence ${confidenceText(event.ml_confidence)} of 1.`;
  switch (event.verdict) {
    case 'hit':
      return event.ground_truth.corroborated
        ? `Hit: a radar detection that a ground report corroborates. ${confidence}`
        : `Hit: a strong radar detection close to the location, without a ground report that corroborates it. ${confidence}`;
    case 'marginal':
      return event.n_detections > 0
        ? `Marginal: a radar detection that no ground report corroborates and that is not strong enough alone. ${confidence}`
        : `Marginal: a ground report without a radar detection. ${confidence}`;
    case 'miss':
      return `Miss: a weak echo only, and no ground report. ${ABSENCE_SENTENCE} ${confidence}`;
  }
}
