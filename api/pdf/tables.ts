import type { Content, ContentText, CustomTableLayout, TableCell } from 'pdfmake/interfaces.js';
import type { Position } from '../../schemas/geo/position.ts';
import { BANDS_MI } from '../../schemas/resources/verification.ts';
import type { LocalTime } from '../rules/local-time.ts';
import { INK, paragraph, RULE, TEXT_WIDTH, verdictMark } from './blocks.ts';
import { directionFrom } from './place.ts';
import {
  type EarlierHail,
  largestIn,
  largestReport,
  type ReportEvent,
  type ReportedHail,
  type ReportMaterial,
} from './report-material.ts';
import { gapRows } from './sentences.ts';
import { printable } from './text.ts';
import { counted, inches, kilometres, miles, millimetres, sizeInWords, sizeName, utcSpan } from './words.ts';

/** Marks a confidence that a note below the table explains. */
export const CAPPED = '†';
const FEEDS: Readonly<Record<ReportedHail['source'], string>> = {
  spc: 'SPC list',
  lsr: 'NWS report',
};
/** Longest place name that is shown, characters. */
const PLACE_MAX = 80;

/** A column of a table; its width in points. */
type Column<Row> = readonly [head: string, width: number, cell: (row: Row) => Content];

/** Space between two columns, points. */
const GAP = 5;
const LAYOUT: CustomTableLayout = {
  hLineWidth: (line) => (line === 0 ? 0 : line === 1 ? 0.8 : 0.4),
  hLineColor: (line) => (line === 1 ? INK : RULE),
  vLineWidth: () => 0,
  paddingLeft: () => 0,
  paddingRight: (k, { table }) => (k === (table.body[0]?.length ?? 0) - 1 ? 0 : GAP),
  paddingTop: () => 2.5,
  paddingBottom: () => 1.5,
};

/** A table whose rows stay whole, its head repeated on every page and never alone at the foot of one; the last column takes the rest. */
function tableOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): Content {
  const heads = columns.map(([text]): TableCell => ({ text, style: 'column_head', verticalAlignment: 'bottom' }));
  const taken = columns.slice(0, -1).reduce((sum, [, width]) => sum + width + GAP, 0);
  return {
    table: {
      headerRows: 1,
      keepWithHeaderRows: Math.min(2, rows.length),
      dontBreakRows: true,
      widths: columns.map(([, width], k) => (k === columns.length - 1 ? TEXT_WIDTH - taken : width)),
      body: [heads, ...rows.map((row) => columns.map(([, , cell]) => cell(row)))],
    },
    layout: LAYOUT,
    margin: [0, 0, 0, 6],
  };
}

type CellStyle = 'cell' | 'cell_strong' | 'cell_faint';

function cell(text: string, style: CellStyle = 'cell', noWrap = true): ContentText {
  return { text, style, noWrap };
}

function twoLines(first: Content, below: string): Content {
  return { stack: [first, cell(below, 'cell_faint')] };
}

/** The verdict of each event, by local time. */
export function verdictTable(events: readonly ReportEvent[], local: LocalTime): Content {
  return tableOf<ReportEvent>(
    [
      ['Local time; storm date (UTC)', 118, (row) => timeCell(row, local)],
      ['Verdict', 50, ({ event }) => verdictMark(event.verdict, 'cell_strong', 8)],
      [
        'At the location',
        42,
        (row) =>
          row.largest === null
            ? cell(`no radar ${row.has_radar ? 'signal' : 'data'}`)
            : sizeCell(row.overhead_mm, row.largest.max_mm),
      ],
      ...BANDS_MI.map(
        (outer, band): Column<ReportEvent> => [
          `${BANDS_MI[band - 1] ?? 0}–${outer} mi`,
          38,
          ({ largest, rings_mm }) => (largest === null ? '' : sizeCell(rings_mm[band] ?? null, largest.max_mm)),
        ],
      ),
      [
        'Confidence, detections',
        48,
        ({ event: { ml_confidence, note, n_detections } }) =>
          twoLines(
            cell(`${ml_confidence.toFixed(3)}${note === null ? '' : ` ${CAPPED}`}`),
            n_detections.toLocaleString('en-US'),
          ),
      ],
      [
        'Ground reports, largest',
        0,
        ({ event, reports, has_reports }) => {
          const largest = largestReport(reports);
          return largest === null
            ? cell(has_reports ? 'none' : 'not collected')
            : twoLines(
                cell(`${reports.length}: ${inches(largest.size_mm)}`),
                event.ground_truth.corroborated ? 'corroborated' : 'not corroborated',
              );
        },
      ],
    ],
    events,
  );
}

/** Local time of the hail of a storm date, above the date itself with the same time in UTC. */
function timeCell({ event: { event_date }, time }: Pick<ReportEvent, 'event' | 'time'>, local: LocalTime): Content {
  return twoLines(
    cell(local.words('medium', time.from_ms, time.to_ms).replace(/, (?=\d+:)/, ',\n'), 'cell_strong', false),
    `${event_date}, ${utcSpan(event_date, time.from_ms, time.to_ms)}`,
  );
}

/** A radar size; the largest of a storm date is bold. */
function sizeCell(size_mm: number | null, largest_mm: number): Content {
  if (size_mm === null) return cell('–');
  return twoLines(cell(inches(size_mm), size_mm === largest_mm ? 'cell_strong' : 'cell'), millimetres(size_mm));
}

/** Times about which nothing can be said; empty where the data have no gaps. */
export function gapTable(material: ReportMaterial, local: LocalTime): Content[] {
  const rows = gapRows(material, local);
  if (rows.length === 0) return [];
  const columns: Column<(typeof rows)[number]>[] = [
    ['Nothing can be said about', 126, ({ what }) => cell(what, 'cell_strong')],
    ['Local time', 230, ({ times }) => cell(times, 'cell', false)],
    ['Storm dates (UTC)', 0, ({ dates }) => cell(dates, 'cell_faint', false)],
  ];
  return [tableOf(columns, rows)];
}

/** Earlier hail at the place, a line for each storm date. */
export function earlierTable({ days }: EarlierHail, local: LocalTime): Content {
  const rows = days.map(({ storm_date, pixels, reports }) => {
    const { largest } = largestIn(pixels);
    const reported = largestReport(reports);
    return { storm_date, largest, reported, reports, time_ms: largest?.max_time ?? reported?.time ?? Number.NaN };
  });
  return tableOf<(typeof rows)[number]>(
    [
      ['Local time', 150, ({ time_ms }) => cell(local.words('medium', time_ms), 'cell_strong')],
      ['Storm date (UTC)', 60, ({ storm_date }) => cell(storm_date, 'cell_faint')],
      [
        'Largest by radar',
        140,
        ({ largest }) =>
          cell(
            largest === null
              ? 'no detection'
              : `${sizeInWords(largest.max_mm)}, ${largest.distance_m === 0 ? 'over the location' : miles(largest.distance_m)}`,
          ),
      ],
      [
        'Ground reports, largest',
        0,
        ({ reported, reports }) =>
          cell(reported === null ? 'none' : `${reports.length}: ${sizeInWords(reported.size_mm)}`),
      ],
    ],
    rows,
  );
}

/** Ground reports of events by date and distance, nearest first, and the number of those that were cut. */
export function reportList(location: Position, events: readonly ReportEvent[], local: LocalTime): Content[] {
  const rows = events.flatMap(({ event, listed }) => listed.map((report) => ({ report, date: event.event_date })));
  type Row = (typeof rows)[number];
  const cut = events.flatMap(({ listed, reports }) => reports.slice(listed.length));
  const largest_cut = largestReport(cut);
  const column = (head: string, width: number, textOf: (row: Row) => string, style?: CellStyle): Column<Row> => [
    head,
    width,
    (row) => cell(textOf(row), style),
  ];
  const columns: Column<Row>[] = [
    column('Local time', 84, ({ report }) => local.words('short', report.time), 'cell_strong'),
    column('UTC', 38, ({ report, date }) => utcSpan(date, report.time), 'cell_faint'),
    column('Size', 27, ({ report }) => inches(report.size_mm), 'cell_strong'),
    column('', 31, ({ report }) => millimetres(report.size_mm)),
    column('', 40, ({ report }) => sizeName(report.size_mm)),
    column('Distance', 34, ({ report }) => miles(report.distance_m)),
    column('', 30, ({ report }) => kilometres(report.distance_m)),
    column('', 42, ({ report }) => directionFrom(location, report)),
    column('Source', 44, ({ report }) => FEEDS[report.source]),
    ['Place as reported', 0, ({ report }) => cell(printable(report.place, PLACE_MAX), 'cell', false)],
  ];
  const far = `${counted(cut.length, 'report')} farther away ${cut.length === 1 ? 'is' : 'are'} not listed`;
  return [
    ...(rows.length === 0 ? [] : [tableOf(columns, rows)]),
    ...(largest_cut === null
      ? []
      : [paragraph(`${far}; the largest of them: ${sizeInWords(largest_cut.size_mm)}.`, 'small')]),
  ];
}
