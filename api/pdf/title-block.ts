import { METHODOLOGY_VERSION, VERIFICATION_RADIUS_MI } from '../../schemas/resources/verification.ts';
import { daysBetween, stormDateStart } from '../../schemas/time.ts';
import { METRES_PER_MILE } from '../../schemas/units.ts';
import { localTimeAt } from '../rules/local-time.ts';
import type { PagePoint } from './map-markers.ts';
import { isTransliterated, printable } from './printable.ts';
import { SOURCE_WORDS } from './provenance-words.ts';
import type { ReportLabels, ReportMaterial } from './report-material.ts';
import {
  artifact,
  NO_BREAK,
  PAGE,
  rule,
  type Sheet,
  TEXT_WIDTH,
  tagged,
  wrapText,
  writeLine,
  writeLines,
} from './sheet.ts';
import { BODY, INK, LABEL, PLACE, SMALL, TITLE } from './styles.ts';
import { coordinates, counted, instantInWords, kilometres, localNames, longDate } from './words.ts';

/** Name of the document, also of its metadata. */
export const DOCUMENT_NAME = 'Date-of-loss hail verification';

const COLUMN_GAP = 24;
const COLUMN = (TEXT_WIDTH - COLUMN_GAP) / 2;
const LABEL_WIDTH = 66;

/** Longest printed text of a request, characters: 200 letters of another script become more when transliterated. */
const LABEL_MAX = 800;
/** Printed for a text without any printable character. */
const NOT_PRINTABLE = '(not printable)';

/** Draws name of the document, place, labels of the request, and facts: dates, search radius, data, report, method. */
export function drawTitleBlock(sheet: Sheet, material: ReportMaterial): void {
  const { doc } = sheet;
  const top = sheet.y;
  tagged(sheet, 'H1', () => writeLine(sheet, DOCUMENT_NAME, PAGE.left, top + 18, TITLE));
  tagged(sheet, 'P', () =>
    writeLine(sheet, `at ${coordinates(material.verification.location)}`, PAGE.left, top + 38, PLACE),
  );
  artifact(doc, 'Layout', () => rule(doc, PAGE.left, PAGE.right, top + 50, 1.6, INK));
  let y = top + 58;
  const labels = printedLabels(material.labels);
  for (const [label, value] of labels) y = drawFact(sheet, label, value, { x: PAGE.left, y, width: TEXT_WIDTH });
  if (labels.length > 0) {
    const note = wrapText(sheet, labelsNote(labels, material.labels), TEXT_WIDTH - LABEL_WIDTH, SMALL);
    const note_top = y;
    tagged(sheet, 'P', () => writeLines(sheet, note, PAGE.left + LABEL_WIDTH, note_top, SMALL));
    y += note.length * SMALL.leading + 4;
    artifact(doc, 'Layout', () => rule(doc, PAGE.left, PAGE.right, y, 0.4));
    y += 7;
  }
  const facts = reportFacts(material);
  const half = Math.ceil(facts.length / 2);
  const ends = [facts.slice(0, half), facts.slice(half)].map((column, k) => {
    const x = PAGE.left + k * (COLUMN + COLUMN_GAP);
    return column.reduce((end, [label, value]) => drawFact(sheet, label, value, { x, y: end, width: COLUMN }), y);
  });
  sheet.y = Math.max(...ends) + 6;
}

/** Writes a label and its value with their upper left corner at a spot; returns the y of the next fact. */
function drawFact(sheet: Sheet, label: string, value: string, at: PagePoint & { readonly width: number }): number {
  const { x, y, width } = at;
  const lines = wrapText(sheet, value, width - LABEL_WIDTH, BODY);
  tagged(sheet, 'P', () => {
    writeLine(sheet, label, x, y + 7.2, LABEL);
    writeLines(sheet, lines, x + LABEL_WIDTH, y, BODY);
  });
  return y + lines.length * BODY.leading + 2;
}

/** Texts of the request that are printed, by label. */
function printedLabels({ prepared_for, reference, address }: ReportLabels): [string, string][] {
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
function labelsNote(labels: readonly (readonly [string, string])[], given: ReportLabels): string {
  const names = new Intl.ListFormat('en').format(labels.map(([label], k) => (k === 0 ? label : label.toLowerCase())));
  const searched = given.address === null ? '' : ' The coordinates above were searched.';
  const is_rewritten = Object.values(given).some((text) => text !== null && isTransliterated(text));
  return `${names}: as given, not checked.${searched}${is_rewritten ? ' Scripts other than Latin, Greek and Cyrillic are written in Latin letters.' : ''}`;
}

function reportFacts({ report_id, generated_ms, verification, radar_source }: ReportMaterial): [string, string][] {
  const { date_range, methodology, data_as_of, location } = verification;
  const { start, end } = date_range;
  const dates = start === end ? longDate(start) : `${longDate(start)} to ${longDate(end)}`;
  const local = localTimeAt(location);
  const ends_ms = [start, end].map((date) => stormDateStart(date, 12));
  return [
    ['Storm dates', `${dates} (${counted(daysBetween(start, end), 'day').replace(' ', NO_BREAK)})`],
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
