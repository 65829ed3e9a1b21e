import type { LocalTime } from '../rules/local-time.ts';
import { printable } from './printable.ts';
import type { ReportEvent } from './report-events.ts';
import type { ReportedHail } from './report-material.ts';
import { heading, PAGE, paragraph, type Sheet } from './sheet.ts';
import { CELL_STRONG, SMALL } from './styles.ts';
import { drawTable, type TableColumn } from './table.ts';
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
} from './words.ts';

/** Longest place name that is shown, characters. */
const PLACE_MAX = 80;
const FEEDS: Readonly<Record<ReportedHail['source'], string>> = {
  spc: 'SPC daily list',
  lsr: 'NWS storm report',
};

interface Listed {
  readonly key: number;
  readonly report: ReportedHail;
  readonly event_date: string;
}

const NUMBER: TableColumn<Listed> = {
  head: 'No.',
  x: PAGE.left,
  width: 18,
  style: CELL_STRONG,
  text: ({ key }) => String(key),
};
const STORM_DATE: TableColumn<Listed> = {
  head: 'Storm date',
  x: PAGE.left,
  width: 46,
  style: CELL_STRONG,
  text: ({ event_date }) => event_date,
};

/** Columns of a list after its `first`, with local time where there is a time zone. */
function columnsOf(
  first: TableColumn<Listed>,
  local: LocalTime | null,
  times_ms: readonly number[],
): TableColumn<Listed>[] {
  const left = first.x + first.width + 8;
  const column = (offset: number, width: number, head: string, text: (row: Listed) => string): TableColumn<Listed> => ({
    head,
    x: left + offset,
    width,
    text,
  });
  const source_x = local === null ? 254 : 324;
  const place_x = source_x + 72;
  return [
    first,
    { ...column(0, 28, 'Size', ({ report }) => inches(report.size_mm)), style: CELL_STRONG },
    column(31, 34, '', ({ report }) => millimetres(report.size_mm)),
    column(70, 46, 'Size name', ({ report }) => sizeName(report.size_mm)),
    column(122, 32, 'Distance', ({ report }) => miles(report.distance_m)),
    column(156, 36, '', ({ report }) => kilometres(report.distance_m)),
    column(198, 52, 'Time (UTC)', ({ report, event_date }) => clockTime(report.time, event_date)),
    ...(local === null
      ? []
      : [column(254, 66, `Local (${localNames(local, times_ms)})`, ({ report }) => localTime(local, report.time))]),
    column(source_x, 68, 'Source', ({ report }) => FEEDS[report.source]),
    column(place_x, PAGE.right - left - place_x, 'Place as reported', ({ report }) =>
      printable(report.place, PLACE_MAX),
    ),
  ];
}

/** Draws the ground reports of an event, nearest first, numbered as on its map; nothing without reports. */
export function drawEventReports(sheet: Sheet, event: ReportEvent): void {
  drawReports(sheet, NUMBER, [event]);
}

/** Draws the ground reports of events without a map, by date and distance; nothing without reports. */
export function drawUnmappedReports(sheet: Sheet, events: readonly ReportEvent[]): void {
  if (events.every(({ reports }) => reports.length === 0)) return;
  heading(sheet, 'Ground reports of the storm dates without a map', 60);
  drawReports(sheet, STORM_DATE, events);
}

/** Draws the list, and the number of reports that were cut from it. */
function drawReports(sheet: Sheet, first: TableColumn<Listed>, events: readonly ReportEvent[]): void {
  const rows = events.flatMap(({ event, listed }) =>
    listed.map((report, k) => ({ key: k + 1, report, event_date: event.event_date })),
  );
  if (rows.length > 0) {
    const times_ms = rows.map(({ report }) => report.time).sort((a, b) => a - b);
    drawTable(sheet, columnsOf(first, events[0]?.local ?? null, times_ms), rows);
  }
  const cut = events.flatMap(({ listed, reports }) => reports.slice(listed.length));
  if (cut.length === 0) return;
  sheet.y += 5;
  const largest_mm = cut.reduce((most, { size_mm }) => Math.max(most, size_mm), 0);
  paragraph(
    sheet,
    `${counted(cut.length, 'report')} farther away ${cut.length === 1 ? 'is' : 'are'} not listed; the largest of them: ${sizeInWords(largest_mm)}.`,
    SMALL,
  );
}
