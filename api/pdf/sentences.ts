import { isOnLattice } from '../../schemas/geo/lattice.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';
import {
  VERDICTS,
  VERIFICATION_RADIUS_MI,
  type Verdict,
  type Verification,
} from '../../schemas/resources/verification.ts';
import { CELL_GROW_MM, DETECTION_MIN_MM } from '../../schemas/size.ts';
import { daysBetween, stormDateStart } from '../../schemas/time.ts';
import { METRES_PER_MILE } from '../../schemas/units.ts';
import { OFF_LATTICE } from '../rules/detection-quality.ts';
import { type LocalTime, localTimeAt } from '../rules/local-time.ts';
import type { ReportEvent, ReportedHail, ReportLabels, ReportMaterial } from './report-material.ts';
import { isTransliterated, printable } from './text.ts';
import {
  clockTime,
  counted,
  datesInWords,
  distanceInWords,
  heightInWords,
  inches,
  instantInWords,
  kilometres,
  localNames,
  localSpan,
  longDate,
  miles,
  reportGapsInWords,
  seenInPartInWords,
  shareInWords,
  sizeInWords,
  sizeName,
} from './words.ts';

/** Marks of data that are not all observed; null for observed data. */
export const NOT_REAL = {
  observed: null,
  simulated: {
    /** On every page, above and below. */
    band: 'SIMULATED DATA - NOT REAL WEATHER',
    map: 'SIMULATED',
    /** Before the first sentence of the summary. */
    lead: 'Simulated data:',
    /** In the title of the file. */
    title: 'simulated data, not real weather',
    /** After the name of every source. */
    aside: ' (simulated)',
    sources:
      'The data are simulated by a computer program for tests and demonstrations. They are not real weather and prove nothing about this place.',
  },
  mixed: {
    band: 'PARTLY SIMULATED DATA - NOT ALL OF THIS IS REAL WEATHER',
    map: 'PARTLY SIMULATED',
    lead: 'Partly simulated data:',
    title: 'partly simulated data, not all of this is real weather',
    aside: ' (may be simulated)',
    sources:
      'Some storm dates hold MESH of NOAA MRMS (Multi-Radar Multi-Sensor), others data simulated by a computer program, which are not real weather. This document must not be used as evidence.',
  },
} as const satisfies Record<MixedProvenance, object | null>;
export type NotRealMark = NonNullable<(typeof NOT_REAL)[MixedProvenance]>;

/** Source of the radar data, in a line. */
const SOURCE_WORDS: Readonly<Record<MixedProvenance, string>> = {
  observed: 'NOAA MRMS radar (MESH), observed',
  simulated: 'Simulated, not real weather',
  mixed: 'NOAA MRMS radar (MESH) and simulated data: not all of this is real weather',
};

const WITHIN = `within ${VERIFICATION_RADIUS_MI} miles`;
const NO_REPORT = `The collected feeds hold no report of hail on the ground ${WITHIN}.`;
const ABSENCE_SENTENCE = 'Absence of evidence is not proof of absence.';

/** Gaps are printed for at most this number of dates; beyond it only the dates are printed. */
const DATES_WITH_GAPS_MAX = 12;

interface Hail {
  readonly size_mm: number;
  /** From the location; 0 at the location. */
  readonly distance_m: number;
  readonly event_date: string;
}

/** The largest hail by radar within the radius. */
function nearHail(events: readonly ReportEvent[]): Hail | null {
  return largestHail(events, ({ event: { max_size_mm: size_mm }, largest_m: distance_m }) =>
    size_mm === null || distance_m === null ? [] : [{ size_mm, distance_m }],
  );
}

/** Sentence on the largest hail over the location and near it. Needs at least one event. */
export function headline(material: ReportMaterial, events: readonly ReportEvent[]): string {
  const near = nearHail(events);
  const over = largestHail(events, ({ overhead_mm: size_mm }) =>
    size_mm === null ? [] : [{ size_mm, distance_m: 0 }],
  );
  if (over !== null && near !== null && over.size_mm >= DETECTION_MIN_MM)
    return `Radar estimates hail of up to ${overLocationAndNear(over, near)}.`;
  if (near !== null && near.size_mm >= DETECTION_MIN_MM)
    return `Radar estimates hail of up to ${inches(near.size_mm)}, ${distanceAndDate(near)}${overLocationClause(material, over)}.`;
  const reported = largestHail(events, ({ reports }) => reports);
  if (reported !== null) {
    const has_radar = events.some((row) => row.event.event_date === reported.event_date && row.has_radar);
    return `Hail of ${inches(reported.size_mm)} was reported on the ground, ${distanceAndDate(reported)}; no radar ${has_radar ? 'detection' : 'data'}.`;
  }
  return near === null
    ? `A signal ${WITHIN}.`
    : `A weak radar echo only, of up to ${inches(near.size_mm)}, ${distanceAndDate(near)}: it may be no hail at all.`;
}

/** The largest hail; among equals the nearest, then the earliest; null without any. */
function largestHail(
  events: readonly ReportEvent[],
  hailOf: (row: ReportEvent) => readonly Omit<Hail, 'event_date'>[],
): Hail | null {
  const all = events.flatMap((row) =>
    hailOf(row).map(({ size_mm, distance_m }) => ({ size_mm, distance_m, event_date: row.event.event_date })),
  );
  const sorted = all.sort((a, b) => b.size_mm - a.size_mm || a.distance_m - b.distance_m);
  return sorted[0] ?? null;
}

/** `1.41 in over the location and up to 1.82 in within 0.34 mi, on May 1, 2026`. */
function overLocationAndNear(over: Hail, near: Hail): string {
  const here = `${inches(over.size_mm)} over the location`;
  if (near.size_mm <= over.size_mm) return `${here} on ${longDate(over.event_date)}, the largest ${WITHIN}`;
  const there = `up to ${inches(near.size_mm)} within ${miles(near.distance_m)}`;
  return over.event_date === near.event_date
    ? `${here} and ${there}, on ${longDate(near.event_date)}`
    : `${here} on ${longDate(over.event_date)}, and ${there} on ${longDate(near.event_date)}`;
}

/** Clause on radar over the location without a detection there. */
function overLocationClause({ verification }: ReportMaterial, over: Hail | null): string {
  if (over !== null) return '; a weak echo only over the location';
  const { dates_without_data, dates_seen_in_part, dates_with_unknown_scans } = verification.radar_gaps;
  const is_whole = dates_without_data.length + dates_seen_in_part.length + dates_with_unknown_scans.length === 0;
  return `; none over the location${is_whole ? '' : ' in the published data'}`;
}

/** `0.34 mi away, on May 1, 2026`. */
function distanceAndDate({ distance_m, event_date }: Hail): string {
  return `${distance_m === 0 ? 'at the location' : `${miles(distance_m)} away`}, on ${longDate(event_date)}`;
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
    const silence = `No hail signal ${WITHIN} of the location`;
    if (dates_with_unknown_scans.length > 0 || dates_seen_in_part.some(({ share }) => share > 0))
      return `${silence} in what radar saw of it ${range}.`;
    return unseen === 0
      ? `${silence} ${range}.`
      : `${silence} on the ${days - unseen} of ${days} storm dates on which radar looked at it.`;
  }
  const counts = VERDICTS.flatMap((verdict) => {
    const count = eventCount(events, verdict);
    return count === 0 ? [] : [counted(count, `${verdict} day`)];
  });
  return `${new Intl.ListFormat('en-GB').format(counts)} ${days === 1 ? range : `among ${days} storm dates`}.`;
}

/** Storm dates of the range on which no scan saw the location. */
function unseenDays({ verification: { radar_gaps } }: ReportMaterial): number {
  return radar_gaps.dates_without_data.length + radar_gaps.dates_seen_in_part.filter(({ share }) => share === 0).length;
}

export function eventCount(events: readonly ReportEvent[], verdict: string): number {
  return events.filter(({ event }) => event.verdict === verdict).length;
}

export function largestSentences(material: ReportMaterial, events: readonly ReportEvent[]): string[] {
  const sizeAndPlace = ({ size_mm, distance_m, event_date }: Hail) =>
    `${sizeInWords(size_mm)} on ${longDate(event_date)}, ${awayInWords(distance_m)}`;
  const radar = nearHail(events);
  const reported = largestHail(events, ({ reports }) => reports);
  return [
    ...(radar === null ? [] : [`Largest radar estimate ${WITHIN}: ${sizeAndPlace(radar)}.`]),
    ...(reported === null ? [] : [`Largest hail reported on the ground: ${sizeAndPlace(reported)}.`]),
    ...(reported === null && hasCollectedReports(material) ? [`${NO_REPORT} ${ABSENCE_SENTENCE}`] : []),
  ];
}

/** `0.83 mi (1.34 km) from the location`, or `over the location itself` for a pixel that holds it. */
function awayInWords(distance_m: number): string {
  return distance_m === 0 ? 'over the location itself' : `${distanceInWords(distance_m)} from the location`;
}

export function noSignalSentences(material: ReportMaterial): string[] {
  const { verification, radar_source } = material;
  const { detection_word } = verification.detection_quality;
  const days = daysBetween(verification.date_range.start, verification.date_range.end);
  const is_searched = radar_source !== null && isOnLattice(verification.location);
  const is_weak = detection_word === 'limited' || detection_word === 'fair';
  return [
    is_searched &&
      unseenDays(material) < days &&
      `The radar data that were searched hold no echo of ${sizeInWords(CELL_GROW_MM)} or more ${WITHIN}.`,
    hasCollectedReports(material) && NO_REPORT,
    `This document does not say that no hail fell. ${ABSENCE_SENTENCE} Hail can be small, brief or narrow, fall where radar sees poorly, or go unreported.`,
    is_searched &&
      is_weak &&
      `Radar detection at this place is ${detection_word}: silence of the radar means less here than elsewhere.`,
  ].filter((sentence) => sentence !== false);
}

/** One sentence for each kind of radar gap: no data, no scan of the location, seen in part, unknown scans. */
export function radarGapSentences({ verification, radar_source }: ReportMaterial): string[] {
  const { dates_without_data, dates_with_unknown_scans, dates_seen_in_part } = verification.radar_gaps;
  if (radar_source === null)
    return verification.events.length === 0
      ? []
      : ['No radar data are published for these storm dates: the verdicts rest on ground reports alone.'];
  const unseen = dates_seen_in_part.filter(({ share }) => share === 0).map(({ date }) => date);
  const in_part = dates_seen_in_part.filter(({ share }) => share > 0);
  return [
    ...onDates(
      dates_without_data,
      (count, these) =>
        `No radar data are published for ${count} of the range, and nothing can be said about what radar saw on ${these}`,
    ),
    ...onDates(
      unseen,
      (count) =>
        `No scan saw the location on ${count}, and nothing can be said about what radar would have shown there`,
    ),
    ...onDates(
      in_part.map(({ date }) => date),
      (count, these) =>
        `Radar saw the location only in part on ${count}, and nothing can be said about the rest of ${these}`,
      withGaps(in_part, seenInPartInWords),
    ),
    ...onDates(
      dates_with_unknown_scans,
      (count) =>
        `Of ${count} only the sum of the whole day is published, and when radar looked at the location is not known`,
    ),
  ];
}

/** A sentence on some storm dates that lists them at its end; none without dates. */
function onDates(
  dates: readonly string[],
  sentence: (count: string, these: string) => string,
  listed = datesInWords(dates),
): string[] {
  const these = dates.length === 1 ? 'this date' : 'these dates';
  return dates.length === 0 ? [] : [`${sentence(counted(dates.length, 'storm date'), these)}: ${listed}.`];
}

/** Dates with their gaps; of many dates the dates alone. */
function withGaps<Day extends { readonly date: string }>(days: readonly Day[], inWords: (day: Day) => string): string {
  if (days.length > DATES_WITH_GAPS_MAX) return datesInWords(days.map(({ date }) => date));
  return days.map(inWords).join(', ');
}

/** False when ground reports were collected for no storm date of the range. */
function hasCollectedReports({ verification, dates_without_reports }: ReportMaterial): boolean {
  const { start, end } = verification.date_range;
  return dates_without_reports.length < daysBetween(start, end);
}

/** Sentences on dates without, or with only a part of, collected ground reports. */
export function reportGapSentences(material: ReportMaterial): string[] {
  const { verification, dates_without_reports } = material;
  const { start, end } = verification.date_range;
  if (!hasCollectedReports(material))
    return [
      `No ground reports of ${start === end ? 'this storm date' : 'these storm dates'} were collected: that none is listed says nothing.`,
    ];
  const in_part = verification.report_gaps.dates_collected_in_part;
  return [
    ...onDates(
      in_part.map(({ date }) => date),
      (count) => `Ground reports of ${count} were collected in part, and that none is listed for the rest says nothing`,
      withGaps(in_part, reportGapsInWords),
    ),
    ...onDates(
      dates_without_reports,
      (count, these) =>
        `No ground reports of ${count} of the range were collected, and that none is listed for ${these} says nothing`,
    ),
  ];
}

/** Longest note that is shown, characters. */
export const NOTE_MAX = 400;

/** Titled sentences on an event: radar, ground reports, reason of the verdict. */
export function eventSummary(event: ReportEvent, not_real: NotRealMark | null): { title: string; text: string }[] {
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
  const { event, largest_m, overhead_mm, has_radar, seen_in_part } = row;
  const { max_size_mm, n_detections } = event;
  if (!has_radar) return ['No radar data of this storm date are published: whether radar saw hail is not known.'];
  if (max_size_mm === null && seen_in_part?.share === 0)
    return ['No scan of this storm date saw the location: whether radar would have shown hail is not known.'];
  if (max_size_mm === null)
    return [
      `No radar signal of ${sizeInWords(CELL_GROW_MM)} or more ${WITHIN} of the location on this storm date${seen_in_part === null ? '' : `, of which radar saw ${shareInWords(seen_in_part.share)}`}.`,
    ];
  const size = sizeInWords(max_size_mm);
  const where = largest_m === null ? '' : `, ${awayInWords(largest_m)}`;
  const above =
    overhead_mm === null
      ? `The pixel over the location itself shows no signal of ${sizeInWords(CELL_GROW_MM)} or more.`
      : `The pixel over the location itself reached ${sizeInWords(overhead_mm)}.`;
  if (n_detections === 0)
    return [
      `Radar shows an echo of up to ${size}${where}.`,
      `That is below the ${sizeInWords(DETECTION_MIN_MM)} from which an echo counts as a detection; it may be no hail at all.`,
      above,
    ];
  return [
    `Radar estimates hail of up to ${size}, ${sizeName(max_size_mm)} size${where}.`,
    `${counted(n_detections, 'detection')} ${WITHIN}${spanInWords(row)}.`,
    above,
  ];
}

function spanInWords({ event, local }: ReportEvent): string {
  const { first_detected, last_detected, event_date } = event;
  if (first_detected === null || last_detected === null) return '';
  const [first_ms, last_ms] = [Date.parse(first_detected), Date.parse(last_detected)];
  const [first, last] = [clockTime(first_ms, event_date), clockTime(last_ms, event_date)];
  return `${first === last ? ` at ${first}` : ` from ${first} to ${last}`} UTC${inLocalTime(local, first_ms, last_ms)}`;
}

/** ` (May 1, 3:12 p.m. to 4:04 p.m. CDT)`; empty without a time zone. */
function inLocalTime(local: LocalTime | null, first_ms: number, last_ms = first_ms): string {
  return local === null ? '' : ` (${localSpan(local, first_ms, last_ms)})`;
}

function reportSentences(row: ReportEvent): string[] {
  const { event, reports, has_reports } = row;
  const [nearest] = reports;
  if (!has_reports)
    return ['No ground reports of this storm date were collected: whether anybody reported hail is not known.'];
  if (nearest === undefined)
    return [`None ${WITHIN} in the collected feeds. That nobody reported hail does not show that none fell.`];
  const largest = reports.reduce((best, report) => (report.size_mm > best.size_mm ? report : best));
  const one = reports.length === 1;
  return [
    one
      ? `One report ${WITHIN}: ${reportInWords(nearest, row)}.`
      : `${counted(reports.length, 'report')} ${WITHIN}. The nearest: ${reportInWords(nearest, row)}.${largest === nearest ? ' It is also the largest.' : ` The largest: ${reportInWords(largest, row)}.`}`,
    event.ground_truth.corroborated
      ? `${one ? 'It corroborates' : 'At least one of them corroborates'} the radar in size, place and time.`
      : `${one ? 'It corroborates' : 'They corroborate'} no radar detection in size, place and time.`,
  ];
}

function reportInWords({ size_mm, distance_m, time }: ReportedHail, { event, local }: ReportEvent): string {
  return `${sizeInWords(size_mm)}, ${awayInWords(distance_m)}, at ${clockTime(time, event.event_date)} UTC${inLocalTime(local, time)}`;
}

function verdictSentence({ event }: ReportEvent): string {
  const { corroborated } = event.ground_truth;
  const reasons: Readonly<Record<Verdict, string>> = {
    hit: corroborated
      ? 'Hit: a radar detection that a ground report corroborates.'
      : 'Hit: a strong radar detection close to the location, without a ground report that corroborates it.',
    marginal:
      event.n_detections > 0
        ? 'Marginal: a radar detection that no ground report corroborates and that is not strong enough alone.'
        : 'Marginal: a ground report without a radar detection.',
    miss: `Miss: a weak echo only, and no ground report. ${ABSENCE_SENTENCE}`,
  };
  return `${reasons[event.verdict]} Confidence ${event.ml_confidence.toFixed(3)} of 1.`;
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

export function methodSentence(material: ReportMaterial): string {
  const { version, bands_mi } = material.verification.methodology;
  return `Method version ${version}: equal inputs give equal verdicts. Distance bands end at ${bands_mi.join(', ')} miles; a bound belongs to the nearer band. ${sourceSentence(material)}`;
}

function sourceSentence(material: ReportMaterial): string {
  const { radar_source, verification } = material;
  const { data_source } = verification;
  const mark = data_source === null ? null : NOT_REAL[data_source];
  if (mark !== null) return mark.sources;
  const radar =
    radar_source === null
      ? 'No radar data are published for these dates.'
      : 'Radar data: MESH of NOAA MRMS (Multi-Radar Multi-Sensor).';
  const has_reports = data_source !== null && hasCollectedReports(material);
  return `${radar}${has_reports ? ' Ground reports: Storm Prediction Center, National Weather Service.' : ''}`;
}

export function qualityInWords({ detection_quality, location }: Verification): string {
  // Geometry alone could call such a place excellent, but radar data there are not searched.
  if (!isOnLattice(location)) return `${OFF_LATTICE} What radars near it see is not searched here.`;
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
/** Longest printed text of a request, characters: 200 letters of another script become more when transliterated. */
const LABEL_MAX = 800;
const NOT_PRINTABLE = '(not printable)';
/** Texts of the request that are printed, by label. */
export function printedLabels({ prepared_for, reference, address }: ReportLabels): [string, string][] {
  const given = { 'Prepared for': prepared_for, Reference: reference, Address: address };
  return Object.entries(given).flatMap(([label, text]): [string, string][] =>
    text === null ? [] : [[label, printable(text, LABEL_MAX) || NOT_PRINTABLE]],
  );
}

/** Note that the labels were not checked, and whether they were transliterated. */
export function labelsNote(labels: readonly (readonly [string, string])[], given: ReportLabels): string {
  const names = new Intl.ListFormat('en').format(labels.map(([label], k) => (k === 0 ? label : label.toLowerCase())));
  const searched = given.address === null ? '' : ' The coordinates above were searched.';
  const is_rewritten = Object.values(given).some((text) => text !== null && isTransliterated(text));
  return `${names}: as given, not checked.${searched}${is_rewritten ? ' Scripts other than Latin, Greek and Cyrillic are written in Latin letters.' : ''}`;
}

/** Facts of the document by label: dates, search radius, data, report, method. */
export function reportFacts({
  report_id,
  generated_ms,
  verification,
  radar_source,
}: ReportMaterial): [string, string][] {
  const { date_range, methodology, data_as_of, location } = verification;
  const { start, end } = date_range;
  const dates = start === end ? longDate(start) : `${longDate(start)} to ${longDate(end)}`;
  const local = localTimeAt(location);
  const ends_ms = [start, end].map((date) => stormDateStart(date, 12));
  return [
    ['Storm dates', `${dates} (${counted(daysBetween(start, end), 'day').replace(' ', '\u00a0')})`],
    ['Local time', local === null ? 'UTC: no time zone here' : `${local.zone} (${localNames(local, ends_ms)})`],
    ['Searched', `${WITHIN} (${kilometres(VERIFICATION_RADIUS_MI * METRES_PER_MILE)})`],
    ['Radar data', radar_source === null ? 'None published for these dates' : SOURCE_WORDS[radar_source]],
    ['Data as of', data_as_of === null ? 'Not known: nothing is published' : instantInWords(Date.parse(data_as_of))],
    ['Report', report_id],
    ['Generated', instantInWords(generated_ms)],
    ['Method', `version ${methodology.version}`],
    ['Coordinates', 'WGS84, as given, to 5 decimals'],
  ];
}
