import { isOnLattice } from '../../schemas/geo/lattice.ts';
import {
  METHODOLOGY_VERSION,
  VERIFICATION_RADIUS_MI,
  type Verification,
} from '../../schemas/resources/verification.ts';
import { daysBetween, stormDateStart } from '../../schemas/time.ts';
import { METRES_PER_MILE } from '../../schemas/units.ts';
import { OFF_LATTICE } from '../rules/detection-quality.ts';
import { localTimeAt } from '../rules/local-time.ts';
import { ABSENCE_SENTENCE, hasCollectedReports } from './overview-sentences.ts';
import { isTransliterated, printable } from './printable.ts';
import { SOURCE_WORDS } from './provenance-words.ts';
import type { ReportLabels, ReportMaterial } from './report-material.ts';
import { counted, distanceInWords, heightInWords, instantInWords, kilometres, localNames, longDate } from './words.ts';

/** Limits of every document of this kind. */
export const LIMITS = [
  `${ABSENCE_SENTENCE} No signal, no report or a miss does not show that no hail fell.`,
  'MESH, the maximum estimated size of hail, is an upper estimate from radar reflectivity aloft, no measurement on the ground. It says too much in tall storms in warm, weakly sheared air, too little in some rotating storms; above 2 in (50 mm) it separates poorly.',
  'Hail drifts as it falls, typically 0.6 to 3 miles (1 to 5 km): it need not have fallen under the pixel that shows it.',
  'A pixel is about 0.6 mile (1 km) wide and stands for all of it. Hail varies within it; no value is that of one roof.',
  'Ground reports are made by people: places are good to about 0.6 to 3 miles (1 to 5 km), times to 5 to 15 minutes, and sizes gather at those of known objects. Few are made at night and where few people live.',
  'Radar does not see everywhere alike: distance, terrain and outages hide hail, above all small hail at low levels.',
  'This document speaks of hail, not of damage, and replaces no inspection. NOAA, named as the source, does not endorse it.',
] as const;

/** Version, bands and sources of the verdicts. */
export function methodSentence(material: ReportMaterial): string {
  const { version, bands_mi } = material.verification.methodology;
  return `Method version ${version}: equal inputs give equal verdicts. Distance bands end at ${bands_mi.join(', ')} miles; a bound belongs to the nearer band. ${sourceSentence(material)}`;
}

function sourceSentence(material: ReportMaterial): string {
  const { data_source, radar_source } = material;
  const radar =
    radar_source === null
      ? 'No radar data are published for these dates.'
      : 'Radar data: MESH of NOAA MRMS (Multi-Radar Multi-Sensor).';
  switch (data_source) {
    case 'observed':
      return hasCollectedReports(material)
        ? `${radar} Ground reports: Storm Prediction Center, National Weather Service.`
        : radar;
    case 'simulated':
      return 'The data are simulated by a computer program for tests and demonstrations. They are not real weather and prove nothing about this place.';
    case 'mixed':
      return 'Some storm dates hold MESH of NOAA MRMS (Multi-Radar Multi-Sensor), others data simulated by a computer program, which are not real weather. This document must not be used as evidence.';
    case null:
      return radar;
  }
}

/** How well radar sees the place. */
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
/** Printed for a text without any printable character. */
const NOT_PRINTABLE = '(not printable)';
/** Texts of the request that are printed, by label. */
export function printedLabels({ prepared_for, reference, address }: ReportLabels): [string, string][] {
  const given = [
    ['Prepared for', prepared_for],
    ['Reference', reference],
    ['Address', address],
  ] as const;
  return given.flatMap(([label, text]): [string, string][] =>
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
    ['Searched', `within ${VERIFICATION_RADIUS_MI} miles (${kilometres(VERIFICATION_RADIUS_MI * METRES_PER_MILE)})`],
    ['Radar data', radar_source === null ? 'None published for these dates' : SOURCE_WORDS[radar_source]],
    ['Data as of', data_as_of === null ? 'Not known: nothing is published' : instantInWords(Date.parse(data_as_of))],
    ['Report', report_id ?? 'none: printed by the operator'],
    ['Generated', instantInWords(generated_ms)],
    [
      'Method',
      `version ${methodology.version}${methodology.version === METHODOLOGY_VERSION ? '' : ' (an earlier one)'}`,
    ],
    ['Coordinates', 'WGS84, as given, to 5 decimals'],
  ];
}
