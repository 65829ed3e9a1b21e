import { METHODOLOGY_VERSION, VERIFICATION_RADIUS_MI } from '../../schemas/resources/verification.ts';
import { daysBetween } from '../../schemas/time.ts';
import { METRES_PER_MILE } from '../../schemas/units.ts';
import { SOURCE_WORDS } from './provenance-words.ts';
import type { ReportMaterial } from './report-material.ts';
import { artifact, NO_BREAK, PAGE, rule, type Sheet, TEXT_WIDTH, tagged, wrapped, write, writeLines } from './sheet.ts';
import { BODY, INK, LABEL, PLACE, TITLE } from './styles.ts';
import { coordinates, counted, instantInWords, kilometres, longDate } from './words.ts';

/** Name of the document, also of its metadata. */
export const DOCUMENT_NAME = 'Date-of-loss hail verification';

const COLUMN_GAP = 24;
const COLUMN = (TEXT_WIDTH - COLUMN_GAP) / 2;
const LABEL_WIDTH = 66;

/** Name of the document, the place, and what was asked, when, of which data. */
export function titleBlock(sheet: Sheet, material: ReportMaterial): void {
  const { doc } = sheet;
  const top = sheet.y;
  tagged(sheet, 'H1', () => write(sheet, DOCUMENT_NAME, PAGE.left, top + 18, TITLE));
  tagged(sheet, 'P', () =>
    write(sheet, `at ${coordinates(material.verification.location)}`, PAGE.left, top + 38, PLACE),
  );
  artifact(doc, 'Layout', () => rule(doc, PAGE.left, PAGE.right, top + 50, 1.6, INK));
  const facts = factsOf(material);
  const half = Math.ceil(facts.length / 2);
  const ends = [facts.slice(0, half), facts.slice(half)].map((column, k) => {
    const x = PAGE.left + k * (COLUMN + COLUMN_GAP);
    let y = top + 58;
    for (const [label, value] of column)
      tagged(sheet, 'P', () => {
        write(sheet, label, x, y + 7.2, LABEL);
        const lines = wrapped(sheet, value, COLUMN - LABEL_WIDTH, BODY);
        y = writeLines(sheet, lines, x + LABEL_WIDTH, y, BODY) + 2;
      });
    return y;
  });
  sheet.y = Math.max(...ends) + 6;
}

function factsOf({ report_id, generated_ms, verification, radar_source }: ReportMaterial): [string, string][] {
  const { date_range, methodology, data_as_of } = verification;
  const { start, end } = date_range;
  const dates = start === end ? longDate(start) : `${longDate(start)} to ${longDate(end)}`;
  return [
    ['Storm dates', `${dates} (${counted(daysBetween(start, end), 'day').replace(' ', NO_BREAK)})`],
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
