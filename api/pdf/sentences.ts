import { isOnLattice } from '../../schemas/geo/lattice.ts';
import type { DateSeenInPart } from '../../schemas/resources/radar-gaps.ts';
import { VERIFICATION_RADIUS_MI, type Verification } from '../../schemas/resources/verification.ts';
import { CELL_GROW_MM, DETECTION_MIN_MM } from '../../schemas/size.ts';
import { addDays, daysBetween, MS_PER_MIN, stormDate } from '../../schemas/time.ts';
import { METRES_PER_MILE } from '../../schemas/units.ts';
import type { LocalTime } from '../rules/local-time.ts';
import { OFF_RADAR } from '../rules/outside.ts';
import { type Span, stormDateSpan } from '../rules/radar-coverage.ts';
import { byStrength, largestReport, NOT_REAL, peakTime, type Report, type ReportEvent } from './report-material.ts';
import { printable, visible } from './text.ts';
import {
  awayInWords,
  counted,
  distanceInWords,
  heightInWords,
  inches,
  instantInWords,
  kilometres,
  miles,
  sizeInWords,
  sizeName,
} from './words.ts';

const WITHIN = `within ${VERIFICATION_RADIUS_MI} miles`;
const ABSENCE_SENTENCE = 'Absence of evidence is not proof of absence.';
/** Times that are printed of one kind of gap; the longest are printed. */
const GAPS_PRINTED_MAX = 8;
/** Longest printed text of a request, characters. */
const LABEL_MAX = 400;

/** The first sentence: local time, size and distance of the largest hail of the strongest verdict, or what silence means. */
export function leadSentence(report: Report): string {
  const { events, local, not_real } = report;
  const [strongest] = events.toSorted((a, b) => byStrength(a.event, b.event));
  const mark = not_real === null ? '' : `${not_real.word}: `;
  if (strongest === undefined) return `${mark}${silence(report)}.`;
  // Detections of a storm date may span a day of several storms.
  const peak_ms = peakTime(strongest) ?? strongest.time.from_ms;
  return `${mark}${local.words('long', peak_ms)}: ${hailInWords(strongest)}.`;
}

function hailInWords({ largest, overhead_mm, reports, has_radar }: ReportEvent): string {
  const away = (distance_m: number) => (distance_m === 0 ? ' over the location' : `, ${miles(distance_m)} away`);
  if (largest !== null && largest.max_mm >= DETECTION_MIN_MM)
    return `radar estimates hail of up to ${inches(largest.max_mm)}${away(largest.distance_m)}${overLocation(largest.distance_m, overhead_mm)}`;
  const reported = largestReport(reports);
  if (reported !== null)
    return `hail of ${inches(reported.size_mm)} was reported on the ground${away(reported.distance_m)}; no radar ${has_radar ? 'detection' : 'data'}`;
  return largest === null
    ? `a signal ${WITHIN}`
    : `a weak radar echo only, of up to ${inches(largest.max_mm)}${away(largest.distance_m)}: it may be no hail at all`;
}

/** Clause on radar over the location where the largest hail was elsewhere. */
function overLocation(largest_m: number, overhead_mm: number | null): string {
  if (largest_m === 0) return '';
  if (overhead_mm === null) return '; none seen over the location';
  return overhead_mm < DETECTION_MIN_MM
    ? '; a weak echo only over the location'
    : `, and ${inches(overhead_mm)} over the location`;
}

/** Meaning of a range without events. */
function silence({ verification, radar_source }: Report): string {
  const { location, date_range, radar_gaps } = verification;
  const { dates_without_data, dates_seen_in_part, dates_with_unknown_scans } = radar_gaps;
  if (!isOnLattice(location)) return 'No radar data can exist for this location: nothing can be said';
  if (radar_source === null) return 'No radar data are published for the period searched: nothing can be said';
  const unseen = dates_without_data.length + dates_seen_in_part.filter(({ share }) => share === 0).length;
  if (unseen === daysBetween(date_range.start, date_range.end))
    return 'Radar did not look at the location in the period searched: nothing can be said';
  const is_whole = dates_without_data.length + dates_seen_in_part.length + dates_with_unknown_scans.length === 0;
  return `No hail signal ${WITHIN} of the location in ${is_whole ? '' : 'what radar saw of '}the period searched`;
}

/** Sentences below the first: the largest hail on the ground, and what no signal and no report mean. */
export function overviewSentences(report: Report): string[] {
  const { events, local } = report;
  const reported = largestReport(events.flatMap(({ reports }) => reports));
  const silent = hasCollectedReports(report)
    ? [`The collected feeds hold no report of hail on the ground ${WITHIN}.`]
    : [];
  const on_ground =
    reported === null
      ? silent
      : [
          `Largest hail reported on the ground: ${sizeInWords(reported.size_mm)}, ${awayInWords(reported.distance_m)}, on ${local.words('medium', reported.time)}.`,
        ];
  if (events.length > 0) return on_ground;
  return [
    ...on_ground,
    `This document does not say that no hail fell. ${ABSENCE_SENTENCE} Hail can be small, brief or narrow, fall where radar sees poorly, or go unreported.`,
  ];
}

/** False when ground reports were collected for no storm date of the range. */
function hasCollectedReports({ verification: { date_range }, dates_without_reports }: Report): boolean {
  return dates_without_reports.length < daysBetween(date_range.start, date_range.end);
}

/** Kinds of gaps in the data, each with its times in local words and its storm dates; a gap says nothing about hail. */
export function gapRows({ verification, dates_without_reports, storm_day_start_hour, local }: Report) {
  const { radar_gaps, report_gaps } = verification;
  const spanOf = (date: string) => stormDateSpan(date, storm_day_start_hour);
  const whole = (dates: readonly string[]) => dates.map((date) => ({ date, spans: [spanOf(date)] }));
  const inPart = (days: readonly (Pick<DateSeenInPart, 'date' | 'gaps'> & { readonly until?: string | null })[]) =>
    days.map(({ date, gaps, until = null }) => ({
      date,
      spans: [
        ...gaps.map(({ from, to }) => ({ from_ms: Date.parse(from), to_ms: Date.parse(to) })),
        ...(until === null ? [] : [{ from_ms: Date.parse(until), to_ms: spanOf(date).to_ms }]),
      ],
    }));
  const uncollected = [...whole(dates_without_reports), ...inPart(report_gaps.dates_collected_in_part)];
  const kinds = [
    ['Radar: no data published', whole(radar_gaps.dates_without_data)],
    ['Radar: no scan of the location', inPart(radar_gaps.dates_seen_in_part)],
    ['Radar: times of scans not known', whole(radar_gaps.dates_with_unknown_scans)],
    ['Ground reports: not collected', uncollected],
  ] as const;
  return kinds
    .filter(([, days]) => days.length > 0)
    .map(([what, days]) => {
      const runs = joined(days.map(({ date }) => spanOf(date)));
      const dateAt = (time_ms: number) => stormDate(time_ms, storm_day_start_hour);
      return {
        what,
        times: spansInWords(local, joined(days.flatMap(({ spans }) => spans))),
        dates: runs
          .map(({ from_ms, to_ms }) => [...new Set([dateAt(from_ms), dateAt(to_ms - 1)])].join(' to '))
          .join(', '),
      };
    });
}

/** Spans in order of time; those that touch are one. */
function joined(spans: readonly Span[]): Span[] {
  const runs: Span[] = [];
  for (const span of spans.toSorted((a, b) => a.from_ms - b.from_ms)) {
    const last = runs.at(-1);
    if (last === undefined || span.from_ms > last.to_ms) runs.push(span);
    else runs[runs.length - 1] = { from_ms: last.from_ms, to_ms: Math.max(last.to_ms, span.to_ms) };
  }
  return runs;
}

/** The longest of some spans in local time. */
function spansInWords(local: LocalTime, spans: readonly Span[]): string {
  const longest = spans
    .filter(({ from_ms, to_ms }) => to_ms - from_ms >= MS_PER_MIN)
    .sort((a, b) => b.to_ms - b.from_ms - (a.to_ms - a.from_ms))
    .slice(0, GAPS_PRINTED_MAX);
  const printed = joined(longest).map(({ from_ms, to_ms }) => local.words('short', from_ms, to_ms));
  return [...printed, ...(longest.length < spans.length ? ['shorter times'] : [])].join('; ');
}

/** Titled sentences on an event with hail: radar, ground reports, warnings. */
export function eventSummary(
  row: ReportEvent,
  { warnings, local }: Report,
): (readonly [title: string, text: string])[] {
  const held = warnings?.get(row.event.event_date) ?? [];
  const in_force = held.map(({ event, end_ms }) => `${event} until ${local.words('short', end_ms)}`).join('; ');
  return [
    ['Radar', radarSentence(row, local)],
    ['Ground reports', reportSentence(row)],
    [
      'Warnings in force at the location when the hail was largest',
      warnings === null
        ? 'Warnings were not collected.'
        : `${in_force || 'None in the collected feed, which may not reach back to this date'}.`,
    ],
  ];
}

function radarSentence(row: ReportEvent, local: LocalTime): string {
  const { event, largest, overhead_mm, has_radar, seen: part, time } = row;
  if (!has_radar) return 'No radar data of this storm date are published: whether radar saw hail is not known.';
  if (largest === null && part?.share === 0)
    return 'No scan of this storm date saw the location: whether radar would have shown hail is not known.';
  const until = part?.until ? ` up to ${local.words('short', Date.parse(part.until))}` : '';
  const seen =
    part === null || part.share === 1
      ? ''
      : ` Radar saw ${Number((100 * part.share).toFixed(1))}\u00a0% of this storm date${until}.`;
  if (largest === null) return `No signal of ${sizeInWords(CELL_GROW_MM)} or more ${WITHIN}.${seen}`;
  const { max_mm, distance_m, max_time } = largest;
  const over = overhead_mm === null ? `no signal of ${sizeInWords(CELL_GROW_MM)} or more` : sizeInWords(overhead_mm);
  const size =
    event.n_detections === 0
      ? `An echo of up to ${sizeInWords(max_mm)}, below the ${sizeInWords(DETECTION_MIN_MM)} of a detection: it may be no hail at all`
      : `Up to ${sizeInWords(max_mm)}, ${sizeName(max_mm)} size`;
  const detections =
    event.n_detections === 0
      ? ''
      : ` ${counted(event.n_detections, 'detection')} ${WITHIN}, ${local.words('short', time.from_ms, time.to_ms)}.`;
  return `${size}, ${awayInWords(distance_m)}, at ${local.words('short', max_time)}.${detections} Over the location itself: ${over}.${seen}`;
}

function reportSentence({ event, reports, has_reports }: ReportEvent): string {
  if (!has_reports) return 'Not collected for this storm date: whether anybody reported hail is not known.';
  if (reports.length === 0)
    return `None ${WITHIN} in the collected feeds. That nobody reported hail does not show that none fell.`;
  const corroborates = event.ground_truth.corroborated ? 'at least one corroborates' : 'none corroborates';
  return `${reports.length} ${WITHIN}, listed below; ${corroborates} the radar in size, place and time.`;
}

export const LIMITS = [
  `${ABSENCE_SENTENCE} No signal, no report or a miss does not show that no hail fell.`,
  'MESH, the maximum estimated size of hail, is an upper estimate from radar reflectivity aloft, no measurement on the ground. It says too much in tall storms in warm, weakly sheared air, too little in some rotating storms; above 2 in (50 mm) it separates poorly.',
  'Hail drifts as it falls, typically 0.6 to 3 miles (1 to 5 km): it need not have fallen under the pixel that shows it.',
  'A pixel is about 0.6 mile (1 km) wide and stands for all of it. Hail varies within it; no value is that of one roof.',
  'Ground reports are made by people: places are good to about 0.6 to 3 miles (1 to 5 km), times to 5 to 15 minutes, and sizes gather at those of known objects. Few are made at night and where few people live.',
  'Radar does not see everywhere alike: distance, terrain and outages hide hail, above all small hail at low levels.',
  'This document speaks of hail, not of damage, and replaces no inspection. NOAA, named as the source, does not endorse it.',
] as const;

/** Version of the method, distance bands and sources. */
export function methodSentence(report: Report): string {
  const { methodology, data_source } = report.verification;
  const reports = hasCollectedReports(report)
    ? ' Ground reports: Storm Prediction Center, National Weather Service.'
    : '';
  const observed = data_source === null ? '' : `Radar data: MESH of NOAA MRMS (Multi-Radar Multi-Sensor).${reports}`;
  return `Method version ${methodology.version}: equal inputs give equal verdicts. Distance bands end at ${methodology.bands_mi.join(', ')} miles; a bound belongs to the nearer band. ${report.not_real?.sources ?? observed}`;
}

export function qualityInWords({ detection_quality, location }: Verification): string {
  // Geometry alone could call such a place excellent, but radar data there are not searched.
  if (!isOnLattice(location)) return `${OFF_RADAR} What radars near it see is not searched here.`;
  const { hdqi, detection_word, resolution, nearest_radar, beam_height_m, freezing_level_m } = detection_quality;
  const near =
    nearest_radar === null
      ? 'No weather radar is known.'
      : `The nearest weather radar, ${nearest_radar.id}, is ${distanceInWords(1000 * nearest_radar.distance_km)} away.`;
  const beam =
    beam_height_m === null
      ? 'No usable beam reaches it.'
      : `The middle of its lowest usable beam passes ${heightInWords(beam_height_m)} above the ground.`;
  return `Detection here is ${detection_word} (index ${hdqi.toFixed(2)} of 1, from radar geometry; it is not a measured hit rate). ${near} ${beam} Resolution: ${resolution}. Freezing level on a day with hail in the month the range begins: ${heightInWords(freezing_level_m)} above sea level.`;
}

/** Texts of the request: label, printable text, and the original where the fonts lack a character. */
export function requestTexts({ labels: { prepared_for, reference, address } }: Report) {
  const given = { 'Prepared for': prepared_for, Reference: reference, Address: address };
  return Object.entries(given).flatMap(([label, text]) => {
    if (text === null) return [];
    const shown = printable(text, LABEL_MAX);
    // A longer word would run off the page.
    const broken = shown.replace(/\S{48}/gu, '$& ');
    return [{ label, shown: broken, unprinted: shown === visible(text) ? null : visible(text) }];
  });
}

/** Note that the texts of the request were not checked, and where the characters are that the fonts lack. */
export function requestNote(report: Report): string {
  const searched = report.labels.address === null ? '' : ' The coordinates above were searched.';
  const lacking = requestTexts(report).every(({ unprinted }) => unprinted === null)
    ? ''
    : ' Characters that the fonts of this document lack are printed as their Unicode numbers (U+...); the properties of the file hold the text as given.';
  return `As given, not checked.${searched}${lacking}`;
}

/** Facts of the document by label: the period in local time and in storm dates, radius, data, origin. */
export function reportFacts({ generated_ms, verification, radar_source, storm_day_start_hour, local }: Report) {
  const { start, end } = verification.date_range;
  const { from_ms, to_ms } = stormDateSpan(start, storm_day_start_hour, end);
  const as_of = verification.data_as_of;
  return [
    ['Searched', local.words('medium', from_ms, to_ms)],
    [
      'Storm dates',
      `${start === end ? start : `${start} to ${end}`} (UTC, ${counted(daysBetween(start, end), 'day')})`,
    ],
    ['Time zone', local.zone],
    ['Radius', `${VERIFICATION_RADIUS_MI} miles (${kilometres(VERIFICATION_RADIUS_MI * METRES_PER_MILE)})`],
    [
      'Radar data',
      radar_source === null
        ? 'None published for these dates'
        : (NOT_REAL[radar_source]?.word ?? 'NOAA MRMS radar (MESH), observed'),
    ],
    ['Data as of', as_of === null ? 'Not known: nothing is published' : instantInWords(Date.parse(as_of))],
    ['Generated', instantInWords(generated_ms)],
  ] as const;
}

/** Where the search ends in local time, and which storm date goes on. */
export function periodNote({ verification, storm_day_start_hour, local }: Report): string {
  const { end } = verification.date_range;
  const { to_ms } = stormDateSpan(end, storm_day_start_hour);
  return `Storm dates begin at ${String(storm_day_start_hour).padStart(2, '0')}:00 UTC. Hail from ${local.words('short', to_ms)} on is of storm date ${addDays(end, 1)}, which was not searched.`;
}
