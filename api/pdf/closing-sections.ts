import { isOnLattice } from '../../schemas/geo/lattice.ts';
import { SIZE_COLORS } from '../../schemas/palette.ts';
import type { Verification } from '../../schemas/resources/verification.ts';
import { OFF_LATTICE } from '../rules/detection-quality.ts';
import { edgeColor } from './event-map.ts';
import { ABSENCE_SENTENCE, hasCollectedReports } from './overview-sentences.ts';
import { printable } from './printable.ts';
import type { ReportMaterial } from './report-material.ts';
import {
  artifact,
  heading,
  PAGE,
  paragraph,
  paragraphHeight,
  type Sheet,
  TEXT_WIDTH,
  tagged,
  wrapText,
  writeLine,
  writeLines,
} from './sheet.ts';
import { stepInches, stepName } from './size-legend.ts';
import { BACK, CODE, CODE_SMALL, SMALL } from './styles.ts';
import { distanceInWords, heightInWords } from './words.ts';

/** Longest description of the method that is printed, characters. */
const DESCRIPTION_MAX = 3000;
const BULLET_INDENT = 10;
const BULLET_GAP = 2;
const PARAGRAPH_GAP = 4;
const LEGEND_COLUMNS = 4;
const LEGEND_ROW = 22;
const MAP_WORDS =
  'Each little rectangle is one radar pixel of 0.01 degree, about 0.6 by 0.7 mile (0.9 by 1.1 km), colored by the largest size of the storm date; from 0.75 in (19 mm) on its edge is dark. North is up; the cross is the location; rings stand at 1, 3 and 5 miles. What is paler lies outside the radius and does not count. A number is a ground report of the list below the map; where numbers would cover each other, a line leads to the place.';

const HASH_CHECK =
  "jq -jcS '{date_range, events, location, methodology: {version: .methodology.version}}' answer.json | sha256sum";

const HASH_WORDS =
  'SHA-256 of location, date range, all events and version of the method as canonical JSON (RFC 8785). To check it, ask POST /v1/verify the same question, compare its verification_hash, and make the digest of the saved answer with the line below. A later answer may differ where data came or changed: compare "Data as of" on the first page.';

/** Limits of every document of this kind. */
const LIMITS = [
  `${ABSENCE_SENTENCE} No signal, no report or a miss does not show that no hail fell.`,
  'MESH, the maximum estimated size of hail, is an upper estimate from radar reflectivity aloft, no measurement on the ground. It says too much in tall storms in warm, weakly sheared air, too little in some rotating storms; above 2 in (50 mm) it separates poorly.',
  'Hail drifts as it falls, typically 0.6 to 3 miles (1 to 5 km): it need not have fallen under the pixel that shows it.',
  'A pixel is about 0.6 mile (1 km) wide and stands for all of it. Hail varies within it; no value is that of one roof.',
  'Ground reports are made by people: places are good to about 0.6 to 3 miles (1 to 5 km), times to 5 to 15 minutes, and sizes gather at those of known objects. Few are made at night and where few people live.',
  'Radar does not see everywhere alike: distance, terrain and outages hide hail, above all small hail at low levels.',
  'This document speaks of hail, not of damage, and replaces no inspection. NOAA, named as the source, does not endorse it.',
] as const;

/** Draws how to read the maps: every colour with its sizes. */
export function drawMapLegend(sheet: Sheet): void {
  const { doc } = sheet;
  const column = TEXT_WIDTH / LEGEND_COLUMNS;
  const rows = Math.ceil(SIZE_COLORS.length / LEGEND_COLUMNS);
  heading(sheet, 'Reading the maps', paragraphHeight(sheet, MAP_WORDS, BACK) + PARAGRAPH_GAP + rows * LEGEND_ROW);
  paragraph(sheet, MAP_WORDS, BACK, PARAGRAPH_GAP);
  const top = sheet.y;
  for (const [k, step] of SIZE_COLORS.entries()) {
    const x = PAGE.left + Math.floor(k / rows) * column;
    const y = top + (k % rows) * LEGEND_ROW;
    artifact(doc, 'Layout', () =>
      doc
        .rect(x, y + 1, 12, 16)
        .lineWidth(0.3)
        .fillAndStroke(step.color, edgeColor(step)),
    );
    tagged(sheet, 'P', () => {
      writeLine(sheet, `from ${stepInches(step)} in (${step.mm_min} mm)`, x + 17, y + 8, SMALL);
      writeLine(sheet, stepName(step), x + 17, y + 16.5, SMALL);
    });
  }
  sheet.y = top + rows * LEGEND_ROW + PARAGRAPH_GAP;
}

/** Draws how well radar sees the place. */
export function drawDetectionQuality(sheet: Sheet, verification: Verification): void {
  const words = qualityInWords(verification);
  heading(sheet, 'How well radar sees this place', paragraphHeight(sheet, words, BACK));
  paragraph(sheet, words, BACK, PARAGRAPH_GAP);
}

/** Draws method and data of the verdicts, on one page. */
export function drawMethod(sheet: Sheet, material: ReportMaterial): void {
  const { verification } = material;
  const { version, description, bands_mi } = verification.methodology;
  const shown = printable(description, DESCRIPTION_MAX);
  const sources = `Method version ${version}: equal inputs give equal verdicts. Distance bands end at ${bands_mi.join(', ')} miles; a bound belongs to the nearer band. ${sourceSentence(material)}`;
  heading(sheet, 'Method', paragraphHeight(sheet, shown, BACK) + PARAGRAPH_GAP + paragraphHeight(sheet, sources, BACK));
  paragraph(sheet, shown, BACK, PARAGRAPH_GAP);
  paragraph(sheet, sources, BACK, PARAGRAPH_GAP);
}

/** Draws the limits on one page, together with the next `with_height` points. */
export function drawLimits(sheet: Sheet, with_height: number): void {
  const bullets = LIMITS.map((limit) => wrapText(sheet, limit, TEXT_WIDTH - BULLET_INDENT, BACK));
  const height = bullets.reduce((sum, lines) => sum + lines.length * BACK.leading + BULLET_GAP, 0);
  heading(sheet, 'Limits', height + with_height);
  for (const lines of bullets) drawBullet(sheet, lines);
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

function qualityInWords({ detection_quality, location }: Verification): string {
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

function drawBullet(sheet: Sheet, lines: readonly string[]): void {
  const top = sheet.y;
  tagged(sheet, 'P', () => {
    writeLine(sheet, '•', PAGE.left, top + BACK.size * 0.8, BACK);
    sheet.y = writeLines(sheet, lines, PAGE.left + BULLET_INDENT, top, BACK) + BULLET_GAP;
  });
}

/** Height of the hash section below its heading, points. */
export function hashHeight(sheet: Sheet): number {
  return CODE.leading + PARAGRAPH_GAP + paragraphHeight(sheet, HASH_WORDS, BACK) + PARAGRAPH_GAP + CODE_SMALL.leading;
}

/** Draws the hash, its content, and the command that reproduces it, on one page. */
export function drawHash(sheet: Sheet, verification_hash: string): void {
  heading(sheet, 'Verification hash', hashHeight(sheet));
  code(sheet, verification_hash, CODE);
  paragraph(sheet, HASH_WORDS, BACK, PARAGRAPH_GAP);
  code(sheet, HASH_CHECK, CODE_SMALL);
}

function code(sheet: Sheet, text: string, style: typeof CODE): void {
  const top = sheet.y;
  tagged(sheet, 'Code', () => writeLine(sheet, text, PAGE.left, top + style.size, style));
  sheet.y = top + style.leading + PARAGRAPH_GAP;
}
