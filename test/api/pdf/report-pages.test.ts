import test from 'ava';
import type { ReportMaterial } from '../../../api/pdf/report-material.ts';
import { reportPdf } from '../../../api/pdf/report-pdf.ts';
import { placedTexts, textsIn } from '../../support/data/pdf-reading.ts';
import { longMaterial, reportMaterial } from '../../support/data/report-material.ts';

/** What stands above other things, never last on a page: titles of sections, a column of each table. */
const HEADS = new Set([
  'Verdicts',
  'How well radar sees this place',
  'Reading the maps',
  'Detections and reports by storm date',
  'Ground reports of the storm dates without a map',
  'Method',
  'Limits',
  'Verification hash',
  'detections',
  'No.',
  'Place as reported',
]);
/** Baselines of the blocks, points above the lower edge; what stands on every page is outside. */
const BODY = { from: 53, to: 742 };
/** Fewer are a few. */
const LINES_MIN = 14;

/** What is wrong with the pages of a document. */
async function faultsOf(name: string, material: ReportMaterial): Promise<string[]> {
  const pdf = await reportPdf(material, { compress: false });
  const all = placedTexts(pdf);
  const faults = all.flat().length === textsIn(pdf).length ? [] : [`${name}: a text has no page`];
  for (const [k, texts] of all.entries()) {
    const page = `${name}, page ${k + 1} of ${all.length}`;
    const body = texts.filter(({ above }) => above > BODY.from && above < BODY.to);
    // Header, and the three texts at the foot.
    const furniture = k === 0 ? 3 : 5;
    if (texts.length - body.length !== furniture) faults.push(`${page}: text runs into what stands on every page`);
    const lines = new Set(body.map(({ above }) => above));
    if (lines.size < LINES_MIN) faults.push(`${page}: ${lines.size} lines`);
    const lowest = Math.min(...lines);
    for (const { text, above } of body)
      if (above === lowest && HEADS.has(text)) faults.push(`${page}: '${text}' with nothing below`);
  }
  const words = all.map((texts) => texts.map(({ text }) => text));
  for (const title of ['Limits', 'Verification hash'])
    if (words.at(-1)?.includes(title) !== true) faults.push(`${name}: '${title}' before the last page`);
  return faults;
}

/** A description of the method of so many more lines moves what follows by these. */
function withMoreLines(material: ReportMaterial, lines: number): ReportMaterial {
  const { verification } = material;
  const description = `${verification.methodology.description}${' Words that fill a line of the method, so that what follows stands lower on the page, or on the next one.'.repeat(lines)}`;
  return {
    ...material,
    verification: { ...verification, methodology: { ...verification.methodology, description } },
  };
}

test('whatever number of events and reports, no page holds a few lines only, and no title or head stands at its foot', async (t) => {
  const faults: string[] = [];
  for (const days of [1, 2, 3, 5, 13, 26])
    for (const reports of [0, 1, 3, 9, 14])
      faults.push(...(await faultsOf(`${days} days, ${reports} reports each`, longMaterial(days, 0, reports))));
  t.deepEqual(faults, []);
});

test('wherever the method ends, the hash stands below the limits on a last page of more than a few lines', async (t) => {
  const faults: string[] = [];
  const range = { start: '2026-05-01', end: '2026-05-30' };
  for (const [name, material] of [
    ['nothing found', reportMaterial(range, [])],
    ['one event', longMaterial(1, 0, 1)],
  ] as const)
    for (let lines = 0; lines <= 14; lines++)
      faults.push(...(await faultsOf(`${name}, ${lines} lines more`, withMoreLines(material, lines))));
  t.deepEqual(faults, []);
});
