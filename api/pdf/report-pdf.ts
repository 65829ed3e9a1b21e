import pdfmake from 'pdfmake';
import type { Content, DynamicContent, TDocumentDefinitions } from 'pdfmake/interfaces.js';
import { VERDICTS } from '../../schemas/resources/verification.ts';
import { CELL_GROW_MM } from '../../schemas/size.ts';
import { daysBetween } from '../../schemas/time.ts';
import { type LocalTime, localTimeAt } from '../rules/local-time.ts';
import {
  heading,
  INK,
  paragraph,
  rule,
  STYLES,
  section,
  TEXT_WIDTH,
  VERDICT_LOOKS,
  verdictMark,
  WARNING,
} from './blocks.ts';
import { eventMap, MAP_SIDE } from './event-map.ts';
import { placeInWords } from './place.ts';
import { isHail, MAPS_MAX, type ReportEvent, type ReportMaterial, reportEvents } from './report-material.ts';
import {
  eventSummary,
  LIMITS,
  labelsNote,
  leadSentence,
  methodSentence,
  NOT_REAL,
  NOTE_MAX,
  type NotRealMark,
  overviewSentences,
  periodNote,
  printedLabels,
  qualityInWords,
  reportFacts,
  unprintedLabels,
} from './sentences.ts';
import { CAPPED, earlierTable, gapTable, reportList, verdictTable } from './tables.ts';
import { FONT_FILES, printable } from './text.ts';
import { coordinates, counted, sizeInWords } from './words.ts';

const DOCUMENT_NAME = 'Date-of-loss hail verification';
/** Margins of the pages, points: left, top, right, bottom. */
const MARGINS: [number, number, number, number] = [54, 58, 54, 53];
const BAND_HEIGHT = 22;
/** Characters of the hash at the foot of a page: `sha256:` and twelve digits. */
const HASH_PREFIX = 19;
const LABEL_WIDTH = 66;
/** Longest description of the method that is printed, characters. */
const DESCRIPTION_MAX = 3000;
/** An event with up to this number of reports fits one page; a longer list begins on a new page and goes on. */
const WHOLE_REPORTS_MAX = 15;
const MAPS =
  'A rectangle is one radar pixel of 0.01 degree, about 0.6 by 0.7 mile (0.9 by 1.1 km), colored by the largest size of the storm date; from 0.75 in (19 mm) on its edge is dark, below that it is a weak echo or small hail. North is up, the cross is the location, and a dot is a ground report. What is paler lies outside the radius and does not count.';

const files = new Set<string>(Object.values(FONT_FILES).flatMap((family) => Object.values(family)));
pdfmake.setFonts(FONT_FILES);
pdfmake.setUrlAccessPolicy(() => false);
pdfmake.setLocalAccessPolicy((path) => files.has(path));

/**
 * The document of a verification: US Letter, selectable text, bookmarks, no external resources. Equal material gives equal bytes.
 * `compress` false leaves the pages readable in the file, for tests.
 */
export async function reportPdf(material: ReportMaterial, { compress = true } = {}): Promise<Buffer> {
  const { verification } = material;
  const { location, date_range, verification_hash } = verification;
  const events = reportEvents(material);
  const local = localTimeAt(location);
  const not_real = verification.data_source === null ? null : NOT_REAL[verification.data_source];
  const definition: TDocumentDefinitions = {
    content: [
      ...titleBlock(material, local),
      ...overview(material, events, local),
      ...(events.length === 0 ? [] : verdicts(events, local)),
      ...gapTable(material, local),
      ...earlierHail(material, local),
      section('How well radar sees this place', [paragraph(qualityInWords(verification), 'back')]),
      ...eventBlocks(events, material, local),
      section('Method', [
        paragraph(printable(verification.methodology.description, DESCRIPTION_MAX), 'back', 4),
        paragraph(methodSentence(material), 'back', 4),
      ]),
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
    header: pageHeader(material, not_real),
    footer: pageFooter(material, not_real),
    // A title whose table begins on the next page goes there, too.
    pageBreakBefore: ({ headlineLevel }, { getFollowingNodesOnPage }) =>
      headlineLevel !== undefined && !getFollowingNodesOnPage().some(({ table }) => table !== undefined),
    info: {
      title: `${DOCUMENT_NAME} at ${coordinates(location)}, ${date_range.start} to ${date_range.end}${not_real === null ? '' : ` (${not_real.band.toLowerCase()})`}`,
      author: 'hail',
      creator: 'hail',
      producer: 'hail',
      subject: `Report ${material.report_id}, ${verification_hash}`,
      keywords: 'hail, date of loss, verification, MESH',
      creationDate: new Date(material.generated_ms),
      ...unprintedLabels(material.labels),
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

/** Head of every page: its place from the second on, and a band where data are not real. */
function pageHeader({ verification }: ReportMaterial, not_real: NotRealMark | null): DynamicContent {
  const place = coordinates(verification.location);
  return (page) => [
    ...band(not_real, 0),
    page === 1
      ? ''
      : {
          columns: [DOCUMENT_NAME, { text: place, alignment: 'right' }],
          style: 'small',
          margin: [MARGINS[0], 34, MARGINS[2], 0],
        },
  ];
}

/** Foot of every page: report, hash and page number, and a band where data are not real. */
function pageFooter({ report_id, verification }: ReportMaterial, not_real: NotRealMark | null): DynamicContent {
  const hash_start = `${verification.verification_hash.slice(0, HASH_PREFIX)}…`;
  return (page, pages) => [
    {
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
    },
    ...band(not_real, MARGINS[3] - BAND_HEIGHT),
  ];
}

/** A band over the whole width, `y` points below the top of a page's head or foot: cropping one margin leaves the other band. */
function band(not_real: NotRealMark | null, y: number): Content[] {
  if (not_real === null) return [];
  const text = { text: not_real.band, fontSize: 11, bold: true, color: '#ffffff', alignment: 'center' as const };
  return [
    { canvas: [{ type: 'rect', x: 0, y: 0, w: 612, h: BAND_HEIGHT, color: WARNING }], absolutePosition: { x: 0, y } },
    { ...text, absolutePosition: { x: 0, y: y + 4.7 } },
  ];
}

/** Name of the document, place in words, labels of the request, and facts: period, radius, data, origin. */
function titleBlock(material: ReportMaterial, local: LocalTime): Content[] {
  const { location } = material.verification;
  const labels = printedLabels(material.labels);
  const facts = reportFacts(material, local).map(fact);
  const half = Math.floor(facts.length / 2);
  const place = placeInWords(location);
  return [
    { text: DOCUMENT_NAME, style: 'title', margin: [0, -8, 0, 0] },
    ...(place === null ? [] : [{ text: place, style: 'place' }]),
    { text: `${coordinates(location)} (WGS84, as given)`, style: 'small' },
    rule(1.6, 4, 7, INK),
    ...(labels.length === 0
      ? []
      : [...labels.map(fact), fact(['', { text: labelsNote(material.labels), style: 'small' }]), rule(0.4, 2, 7)]),
    { columns: [{ stack: facts.slice(0, half) }, { stack: facts.slice(half) }], columnGap: 24 },
    fact(['Check online', `GET /v1/verify/report/${material.report_id} (hash on the last page)`]),
    paragraph(periodNote(material, local), 'small', 10),
  ];
}

function fact([name, value]: readonly [string, Content]): Content {
  return {
    columns: [{ text: name, style: 'small', width: LABEL_WIDTH, margin: [0, 1.3, 0, 0] }, value],
    columnGap: 0,
    margin: [0, 0, 0, 2],
  };
}

/** The answer at a glance: the first sentence, the number of storm dates of each verdict, what silence means. */
function overview(material: ReportMaterial, events: readonly ReportEvent[], local: LocalTime): Content[] {
  const { data_source } = material.verification;
  const not_real = data_source === null ? null : NOT_REAL[data_source];
  const lead = leadSentence(material, events, local);
  return [
    paragraph(not_real === null ? lead : `${not_real.lead}: ${lead}`, 'lead', 8),
    ...(events.length === 0 ? [] : [verdictCounts(events)]),
    ...overviewSentences(material, events, local).map((sentence) => paragraph(sentence, 'body', 2)),
  ];
}

function verdictCounts(events: readonly ReportEvent[]): Content {
  const gap = 14;
  const width = (TEXT_WIDTH - 2 * gap) / VERDICTS.length;
  return {
    columns: VERDICTS.map((verdict) => {
      const { color, means } = VERDICT_LOOKS[verdict];
      return {
        width,
        stack: [
          { canvas: [{ type: 'rect', x: 0, y: 0, w: width, h: 2, color }], margin: [0, 0, 0, 5] },
          {
            columns: [
              {
                text: String(events.filter(({ event }) => event.verdict === verdict).length),
                style: 'figure',
                color,
                width: 'auto',
              },
              { stack: [verdictMark(verdict, 'lead', 13)], margin: [0, 11.7, 0, 0] },
            ],
            columnGap: 5,
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

/** The verdict of every storm date with a signal, and notes that explain the columns. */
function verdicts(events: readonly ReportEvent[], local: LocalTime): Content[] {
  return [
    { stack: heading('Verdicts'), unbreakable: true, headlineLevel: 1 },
    verdictTable(events, local),
    ...notesOf(events).map((note) => paragraph(`${CAPPED} ${note}`, 'small', 2)),
    paragraph(
      `Storm dates that are not listed have no signal in the published data. Sizes are the largest radar estimates (MESH) of the storm date, in bold the largest of all: at the location that of the pixel over it, which counts in the nearest ring, too; – is no signal of ${sizeInWords(CELL_GROW_MM)} or more. Confidence, from 0 to 1, is a judgement by fixed rules from size, distance, number of detections, reports and radar geometry; it is no measured frequency. Ground reports: their number and the largest size; corroborated where one of them fits a radar detection in size, place and time.`,
      'small',
    ),
  ];
}

/** Hail at the place in the year before the range. */
function earlierHail({ earlier }: ReportMaterial, local: LocalTime): Content[] {
  const { first, last, days, count, without_data } = earlier;
  const found = count === 0 ? 'none has' : count === 1 ? 'one has' : `${count} have`;
  const more = count > days.length ? `, and ${count - days.length} more are not listed` : '';
  const unseen = without_data === 0 ? '' : ` No radar data are published for ${without_data} of them.`;
  return [
    {
      stack: heading('Earlier hail at this place'),
      unbreakable: true,
      ...(days.length > 0 ? { headlineLevel: 1 } : {}),
    },
    ...(days.length === 0 ? [] : [earlierTable(earlier, local)]),
    paragraph(
      `Of the ${daysBetween(first, last)} storm dates before the period searched (${first} to ${last}) ${found} a detection or a ground report within 5 miles${more}.${unseen}`,
      'small',
    ),
  ];
}

function notesOf(events: readonly ReportEvent[]): string[] {
  const noted = events.flatMap(({ event }) =>
    event.note === null ? [] : [{ date: event.event_date, note: printable(event.note, NOTE_MAX) }],
  );
  return [...Map.groupBy(noted, ({ note }) => note)].map(
    ([note, of]) => `${of.map(({ date }) => date).join(', ')}: ${note}`,
  );
}

/** A block with a map for each storm date with hail, up to `MAPS_MAX`; the others only list their reports. */
function eventBlocks(events: readonly ReportEvent[], material: ReportMaterial, local: LocalTime): Content[] {
  const { location, data_source } = material.verification;
  const not_real = data_source === null ? null : NOT_REAL[data_source];
  const mapped = events.filter(({ has_map }) => has_map);
  const others = events.filter(({ has_map }) => !has_map);
  const title = [
    ...heading('Detections and reports by storm date'),
    paragraph(`${MAPS}${unmappedInWords(events)}`, 'small', 6),
  ];
  return [
    ...mapped.map((row, k): Content => {
      const whole = row.listed.length <= WHOLE_REPORTS_MAX;
      return {
        stack: [
          ...(k === 0 ? title : []),
          ...eventHead(row, local),
          {
            columns: [
              { svg: eventMap(location, row, not_real), width: MAP_SIDE },
              { stack: eventSummary(row, material, local).map(({ title, text }) => titled(title, text)) },
            ],
            columnGap: 20,
            margin: [0, 0, 0, 4],
          },
          ...reportList(location, [row], local),
        ],
        unbreakable: whole,
        ...(whole ? {} : { pageBreak: 'before' }),
      };
    }),
    ...(others.every(({ reports }) => reports.length === 0)
      ? []
      : [
          { stack: heading('Ground reports of the storm dates without a map'), unbreakable: true, headlineLevel: 1 },
          ...reportList(location, others, local),
        ]),
  ];
}

function titled(title: string, text: string): Content {
  return { text: [{ text: `${title}. `, style: 'strong' }, text], style: 'body', margin: [0, 0, 0, 4] };
}

function eventHead({ event, time }: ReportEvent, local: LocalTime): Content[] {
  return [
    rule(0.5, 0, 5),
    {
      columns: [
        { text: local.words('date', time.from_ms, time.to_ms), style: 'lead', width: 'auto' },
        { stack: [verdictMark(event.verdict, 'lead', 13)], width: 90 },
        {
          text: `storm date ${event.event_date} (UTC)`,
          style: 'small',
          alignment: 'right',
          margin: [0, 4, 0, 0],
        },
      ],
      columnGap: 20,
      margin: [0, 0, 0, 2],
    },
  ];
}

/** Storm dates without a map and the reason; empty where all have one. */
function unmappedInWords(events: readonly ReportEvent[]): string {
  const hail = events.filter(({ event }) => isHail(event)).length;
  const weak = events.length - hail;
  const unmapped = ` Maps are drawn for ${MAPS_MAX} of ${hail} storm dates with hail, those with the strongest verdicts and the largest hail; of the others the table of verdicts has the radar's part, and a list after the maps every report.`;
  const without = ` ${counted(weak, 'storm date')} with a weak echo only ${weak === 1 ? 'has' : 'have'} no map.`;
  return `${hail > MAPS_MAX ? unmapped : ''}${weak > 0 ? without : ''}`;
}

/** The hash, its content, and the command that reproduces it. */
function hash(verification_hash: string): Content[] {
  return [
    ...heading('Verification hash'),
    { text: verification_hash, style: 'code', margin: [0, 0, 0, 4] },
    paragraph(
      'SHA-256 of location, date range, all events and version of the method as canonical JSON (RFC 8785). The report checked online has the same; or ask POST /v1/verify the same question, compare its verification_hash, and make the digest of the saved answer with the line below. A later answer may differ where data came or changed: compare "Data as of" on the first page.',
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
