import type { Alignment, Content, ContentText, CustomTableLayout, TableCell } from 'pdfmake/interfaces.js';
import { BANDS_MI, type VerificationEvent } from '../../schemas/resources/verification.ts';
import type { LocalTime } from '../rules/local-time.ts';
import { INK, paragraph, RULE, verdictMark } from './blocks.ts';
import type { ReportEvent, ReportedHail } from './report-material.ts';
import { printable } from './text.ts';
import {
  clockTime,
  counted,
  inches,
  kilometres,
  localNames,
  localTime,
  miles,
  millimetres,
  sizeInWords,
  sizeName,
  thousands,
} from './words.ts';

/** Marks a confidence that a note below the table explains. */
export const CAPPED = '†';
const WEEKDAY = new Intl.DateTimeFormat('en-US', { weekday: 'long', timeZone: 'UTC' });
const FEEDS: Readonly<Record<ReportedHail['source'], string>> = {
  spc: 'SPC daily list',
  lsr: 'NWS storm report',
};
/** Longest place name that is shown, characters. */
const PLACE_MAX = 80;

/** A column of a table; its width in points. */
type Column<Row> = readonly [head: string, width: number, cell: (row: Row) => Content, align?: 'right'];

/** Space between two columns, points. */
const GAP = 4;
const LAYOUT: CustomTableLayout = {
  hLineWidth: (line) => (line === 0 ? 0 : line === 1 ? 0.8 : 0.4),
  hLineColor: (line) => (line === 1 ? INK : RULE),
  vLineWidth: () => 0,
  paddingLeft: () => 0,
  paddingRight: (k, { table }) => (k === (table.body[0]?.length ?? 0) - 1 ? 0 : GAP),
  paddingTop: () => 2.5,
  paddingBottom: () => 1.5,
};

/** A table whose rows stay whole, its head repeated on every page and never alone at the foot of one. */
function tableOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): Content {
  const heads = columns.map(
    ([text, , , alignment]): TableCell => ({
      text,
      style: 'column_head',
      alignment: alignment ?? 'left',
      verticalAlignment: 'bottom',
    }),
  );
  return {
    table: {
      headerRows: 1,
      keepWithHeaderRows: Math.min(2, rows.length),
      dontBreakRows: true,
      widths: columns.map(([, width]) => width),
      body: [heads, ...rows.map((row) => columns.map(([, , cell]) => cell(row)))],
    },
    layout: LAYOUT,
    margin: [0, 0, 0, 6],
  };
}

type CellStyle = 'cell' | 'cell_strong' | 'cell_faint';

function cell(text: string, style: CellStyle = 'cell'): ContentText {
  return { text, style, noWrap: true };
}

function twoLines(first: Content, below: string, alignment: Alignment = 'left'): Content {
  return { stack: [first, ...(below === '' ? [] : [cell(below, 'cell_faint')])], alignment };
}

export function verdictTable(events: readonly ReportEvent[]): Content {
  const local = events[0]?.local ?? null;
  const columns: Column<ReportEvent>[] = [
    [
      'Storm date (UTC)',
      48,
      ({ event: { event_date } }) => twoLines(cell(event_date, 'cell_strong'), WEEKDAY.format(new Date(event_date))),
    ],
    ['Verdict', 46, ({ event }) => verdictMark(event.verdict, 'cell_strong', 8)],
    [
      'At the location',
      34,
      (row) =>
        row.event.max_size_mm === null
          ? cell(`no radar ${row.has_radar ? 'signal' : 'data'}`)
          : sizeCell(row.overhead_mm, row),
    ],
    ...BANDS_MI.map(
      (outer, band): Column<ReportEvent> => [
        `${BANDS_MI[band - 1] ?? 0}–${outer} mi`,
        34,
        (row) => (row.event.max_size_mm === null ? '' : sizeCell(row.rings_mm[band] ?? null, row)),
      ],
    ),
    [
      'Confidence, detections',
      44,
      ({ event: { ml_confidence, note, n_detections } }) =>
        twoLines(
          cell(`${ml_confidence.toFixed(3)}${note === null ? '' : ` ${CAPPED}`}`),
          thousands(n_detections),
          'right',
        ),
      'right',
    ],
    ['', 1, () => ''],
    seenColumn('First seen', local, ({ first_detected }) => first_detected),
    seenColumn('Last seen', local, ({ last_detected }) => last_detected),
    [
      'Ground reports, largest',
      65,
      ({ event, reports, has_reports }) =>
        reports.length === 0
          ? cell(has_reports ? 'none' : 'not collected')
          : twoLines(
              cell(`${reports.length}: ${inches(largestOf(reports))}`),
              event.ground_truth.corroborated ? 'corroborated' : 'not corroborated',
            ),
    ],
  ];
  return tableOf(columns, events);
}

/** A radar size; the largest of a storm date is bold. */
function sizeCell(size_mm: number | null, { event }: ReportEvent): Content {
  if (size_mm === null) return cell('–');
  return twoLines(cell(inches(size_mm), size_mm === event.max_size_mm ? 'cell_strong' : 'cell'), millimetres(size_mm));
}

/** A column of scan times, UTC above local time. */
function seenColumn(
  head: string,
  local: LocalTime | null,
  timeOf: (event: VerificationEvent) => string | null,
): Column<ReportEvent> {
  return [
    local === null ? `${head} (UTC)` : `${head}: UTC, local`,
    62,
    ({ event }) => {
      const time = timeOf(event);
      if (time === null) return cell('–');
      const time_ms = Date.parse(time);
      return twoLines(cell(clockTime(time_ms, event.event_date)), local === null ? '' : localTime(local, time_ms));
    },
  ];
}

function largestOf(reports: readonly ReportedHail[]): number {
  return reports.reduce((most, { size_mm }) => Math.max(most, size_mm), 0);
}

/**
 * Ground reports of events by date and distance, nearest first, and the number of those that were cut; `first` is the column
 * that names a report: its number on the map of its event, or the storm date.
 */
export function reportList(first: 'No.' | 'Storm date', events: readonly ReportEvent[]): Content[] {
  const rows = events.flatMap(({ event, listed }) =>
    listed.map((report, k) => ({ name: first === 'No.' ? String(k + 1) : event.event_date, report, event })),
  );
  type Row = (typeof rows)[number];
  const cut = events.flatMap(({ listed, reports }) => reports.slice(listed.length));
  const local = events[0]?.local ?? null;
  const times = rows.map(({ report }) => report.time).sort((a, b) => a - b);
  const column = (
    head: string,
    width: number,
    textOf: (row: Row) => string,
    style: CellStyle = 'cell',
  ): Column<Row> => [head, width, (row) => cell(textOf(row), style)];
  const name_width = first === 'No.' ? 18 : 46;
  const columns = [
    column(first, name_width, ({ name }) => name, 'cell_strong'),
    column('Size', 28, ({ report }) => inches(report.size_mm), 'cell_strong'),
    column('', 34, ({ report }) => millimetres(report.size_mm)),
    column('Size name', 46, ({ report }) => sizeName(report.size_mm)),
    column('Distance', 32, ({ report }) => miles(report.distance_m)),
    column('', 36, ({ report }) => kilometres(report.distance_m)),
    column('Time (UTC)', 54, ({ report, event }) => clockTime(report.time, event.event_date)),
    ...(local === null
      ? []
      : [column(`Local (${localNames(local, times)})`, 66, ({ report }) => localTime(local, report.time))]),
    column('Source', 66, ({ report }) => FEEDS[report.source]),
    [
      'Place as reported',
      (local === null ? 176 : 106) - name_width,
      ({ report }) => ({ text: printable(report.place, PLACE_MAX), style: 'cell' }),
    ] satisfies Column<Row>,
  ];
  const far = `${counted(cut.length, 'report')} farther away ${cut.length === 1 ? 'is' : 'are'} not listed`;
  return [
    ...(rows.length === 0 ? [] : [tableOf(columns, rows)]),
    ...(cut.length === 0 ? [] : [paragraph(`${far}; the largest of them: ${sizeInWords(largestOf(cut))}.`, 'small')]),
  ];
}
