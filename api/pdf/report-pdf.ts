import pdfmake from 'pdfmake';
import type { Content, DynamicContent, TDocumentDefinitions } from 'pdfmake/interfaces.js';
import { VERDICTS } from '../../schemas/resources/verification.ts';
import { VERDICT_RULES } from '../rules/verification.ts';
import { heading, INK, paragraph, rule, STYLES, section, TEXT_WIDTH, VERDICT_LOOKS, WARNING } from './blocks.ts';
import { eventMap, legend, MAP_SIDE } from './event-map.ts';
import { placeInWords } from './place.ts';
import { MAPS_MAX, type Report, type ReportEvent, type ReportMaterial, readReport } from './report-material.ts';
import {
  eventSummary,
  LIMITS,
  leadSentence,
  methodSentence,
  overviewSentences,
  periodNote,
  qualityInWords,
  reportFacts,
  requestNote,
  requestTexts,
} from './sentences.ts';
import { earlierHail, gapTable, groundReports, verdicts } from './tables.ts';
import { FONT_FILES } from './text.ts';
import { coordinates, counted } from './words.ts';

const DOCUMENT_NAME = 'Date-of-loss hail verification';
/** Margins of the pages, points: left, top, right, bottom. */
const MARGINS: [number, number, number, number] = [54, 58, 54, 53];
const BAND_HEIGHT = 22;
/** Characters of the hash at the foot of a page: `sha256:` and twelve digits. */
const HASH_PREFIX = 19;
const LABEL_WIDTH = 66;
const MAPS = `A rectangle is one radar pixel of 0.01 degree within the radius, about 0.6 by 0.7 mile (0.9 by 1.1 km), colored by the largest size of the storm date; from 0.75 in (19 mm) on its edge is dark, below that it is a weak echo or small hail. North is up, the cross is the location, and a dot is a ground report. Storm dates with hail have a map, at most ${MAPS_MAX}, those with the strongest verdicts and the largest hail.`;

const files = new Set<string>(Object.values(FONT_FILES).flatMap((family) => Object.values(family)));
pdfmake.setFonts(FONT_FILES);
pdfmake.setUrlAccessPolicy(() => false);
pdfmake.setLocalAccessPolicy((path) => files.has(path));

/**
 * The document of a verification: US Letter, selectable text, bookmarks, no external resources. Equal material gives equal bytes.
 * `compress` false leaves the pages readable in the file, for tests.
 */
export async function reportPdf(material: ReportMaterial, { compress = true } = {}): Promise<Buffer> {
  const report = readReport(material);
  const { location, date_range, verification_hash } = report.verification;
  const definition: TDocumentDefinitions = {
    content: [
      ...titleBlock(report),
      paragraph(leadSentence(report), 'lead', 8),
      ...(report.events.length === 0 ? [] : [verdictCounts(report.events)]),
      ...overviewSentences(report).map((sentence) => paragraph(sentence, 'body', 2)),
      ...verdicts(report),
      ...gapTable(report),
      ...earlierHail(report),
      section('How well radar sees this place', [paragraph(qualityInWords(report.verification), 'back')]),
      ...maps(report),
      ...groundReports(report),
      section('Method', [paragraph(VERDICT_RULES, 'back', 4), paragraph(methodSentence(report), 'back', 4)]),
      // One block keeps the hash from standing alone on the last page.
      {
        stack: [
          ...heading('Limits'),
          { ul: LIMITS.map((limit) => paragraph(limit, 'back', 2)) },
          ...hash(verification_hash),
        ],
        unbreakable: true,
      },
    ],
    background: bands(report),
    footer: pageFooter(report),
    // A title whose table begins on the next page goes there, too.
    pageBreakBefore: ({ headlineLevel }, { getFollowingNodesOnPage }) =>
      headlineLevel !== undefined && !getFollowingNodesOnPage().some(({ table }) => table !== undefined),
    info: {
      title: `${DOCUMENT_NAME} at ${coordinates(location)}, ${date_range.start} to ${date_range.end}${report.not_real === null ? '' : ` (${report.not_real.band.toLowerCase()})`}`,
      author: 'hail',
      creator: 'hail',
      producer: 'hail',
      subject: `Report ${report.report_id}, ${verification_hash}`,
      keywords: 'hail, date of loss, verification, MESH',
      creationDate: new Date(report.generated_ms),
      ...Object.fromEntries(requestTexts(report).map(({ label, unprinted }) => [label, unprinted])),
    },
    pageSize: 'LETTER',
    pageMargins: MARGINS,
    defaultStyle: { font: 'Arimo', color: INK, ...STYLES.body },
    styles: STYLES,
    version: '1.7',
    language: 'en-US',
    displayTitle: true,
    compress,
  };
  return pdfmake.createPdf(definition).getBuffer();
}

/** Foot of every page: report, hash and page number. */
function pageFooter({ report_id, verification }: Report): DynamicContent {
  const hash_start = `${verification.verification_hash.slice(0, HASH_PREFIX)}…`;
  return (page, pages) => ({
    stack: [
      rule(0.5, 5, 4),
      {
        columns: [
          `Report ${report_id}`,
          { text: hash_start, alignment: 'center' },
          { text: `Page ${page} of ${pages}`, alignment: 'right' },
        ],
        style: 'small',
      },
    ],
    margin: [MARGINS[0], 0, MARGINS[2], 0],
  });
}

/** Bands above and below on every page where data are not real: cropping one margin leaves the other band. */
function bands({ not_real }: Report): Content[] {
  if (not_real === null) return [];
  const tops = [0, 792 - BAND_HEIGHT];
  const rects = tops.map((y) => ({ type: 'rect' as const, x: 0, y, w: 612, h: BAND_HEIGHT, color: WARNING }));
  const text = { text: not_real.band, fontSize: 11, bold: true, color: '#ffffff', alignment: 'center' as const };
  return [
    { canvas: rects, absolutePosition: { x: 0, y: 0 } },
    ...tops.map((y) => ({ ...text, absolutePosition: { x: 0, y: y + 4.7 } })),
  ];
}

/** Name of the document, place in words, texts of the request, and facts: period, radius, data, origin. */
function titleBlock(report: Report): Content[] {
  const { location } = report.verification;
  const texts = requestTexts(report);
  const facts = reportFacts(report).map(fact);
  const half = Math.floor(facts.length / 2);
  return [
    { text: DOCUMENT_NAME, style: 'title', margin: [0, -8, 0, 0] },
    { text: placeInWords(location) ?? '', style: 'place' },
    { text: `${coordinates(location)} (WGS84, as given)`, style: 'small' },
    rule(1.6, 4, 7, INK),
    ...texts.map(({ label, shown }) => fact([label, shown])),
    ...(texts.length === 0 ? [] : [fact(['', { text: requestNote(report), style: 'small' }]), rule(0.4, 2, 7)]),
    { columns: [{ stack: facts.slice(0, half) }, { stack: facts.slice(half) }], columnGap: 24 },
    fact(['Check online', `GET /v1/verify/report/${report.report_id} (hash on the last page)`]),
    paragraph(periodNote(report), 'small', 10),
  ];
}

function fact([name, value]: readonly [string, Content]): Content {
  return {
    columns: [{ text: name, style: 'small', width: LABEL_WIDTH, margin: [0, 1.3, 0, 0] }, value],
    columnGap: 0,
    margin: [0, 0, 0, 2],
  };
}

/** The answer at a glance: number of storm dates and meaning of each verdict. */
function verdictCounts(events: readonly ReportEvent[]): Content {
  const gap = 14;
  const width = (TEXT_WIDTH - 2 * gap) / VERDICTS.length;
  return {
    columns: VERDICTS.map((verdict) => {
      const { word, color, means } = VERDICT_LOOKS[verdict];
      const count = events.filter(({ event }) => event.verdict === verdict).length;
      return {
        width,
        stack: [
          { canvas: [{ type: 'rect', x: 0, y: 0, w: width, h: 2, color }], margin: [0, 0, 0, 5] },
          {
            text: [
              { text: `${count} `, style: 'figure' },
              { text: word, style: 'lead' },
            ],
            color,
          },
          { text: means, style: 'small' },
        ],
      };
    }),
    columnGap: gap,
    unbreakable: true,
    margin: [0, 0, 0, 10],
  };
}

/** A map and its summary for each storm date with hail, up to `MAPS_MAX`; empty without hail. */
function maps(report: Report): Content[] {
  const { events, verification, not_real, local } = report;
  const mapped = events.filter(({ has_map }) => has_map);
  const title = [
    ...heading('Detections by storm date'),
    paragraph(`${MAPS} ${mapped.length} of ${counted(events.length, 'storm date')} have a map.`, 'small'),
    { svg: legend(), margin: [0, 0, 0, 6] } satisfies Content,
  ];
  return mapped.map((row, k) => ({
    stack: [
      ...(k === 0 ? title : []),
      rule(0.5, 0, 5),
      {
        columns: [
          { svg: eventMap(verification.location, row, not_real), width: MAP_SIDE },
          {
            stack: [
              {
                text: [
                  `${local.words('date', row.time.from_ms, row.time.to_ms)}   `,
                  { text: VERDICT_LOOKS[row.event.verdict].word, color: VERDICT_LOOKS[row.event.verdict].color },
                ],
                style: 'lead',
              },
              paragraph(`storm date ${row.event.event_date} (UTC)`, 'small'),
              ...eventSummary(row, report).map(([name, text]) => ({
                text: [{ text: `${name}. `, bold: true }, text],
                margin: [0, 0, 0, 4] satisfies [number, number, number, number],
              })),
            ],
          },
        ],
        columnGap: 20,
        margin: [0, 0, 0, 6],
      },
    ],
    unbreakable: true,
  }));
}

/** The hash, its content, and the command that reproduces it. */
function hash(verification_hash: string): Content[] {
  return [
    ...heading('Verification hash'),
    { text: verification_hash, style: 'code', margin: [0, 0, 0, 4] },
    paragraph(
      'SHA-256 of location, date range, all events and version of the method as canonical JSON (RFC 8785). To check it, compare the answer of "Check online" on the first page, or ask POST /v1/verify the same question and make the digest of the saved answer with the line below. A later answer may differ where data came or changed: compare "Data as of".',
      'back',
      4,
    ),
    {
      text: "jq -jcS '{date_range, events, location, methodology: {version: .methodology.version}}' answer.json | sha256sum",
      style: 'code_small',
      noWrap: true,
    },
  ];
}
