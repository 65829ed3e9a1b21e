import { printable } from './printable.ts';
import type { ReportEvent } from './report-events.ts';
import type { ReportedHail } from './report-material.ts';
import { heading, PAGE, paragraph, type Sheet } from './sheet.ts';
import { CELL_STRONG, SMALL } from './styles.ts';
import { type Column, drawTable } from './table.ts';
import { clockTime, counted, inches, kilometres, miles, millimetres, sizeInWords, sizeName } from './words.ts';

/** Longest place name that is shown, characters. */
const PLACE_MAX = 80;
const FEEDS: Readonly<Record<ReportedHail['source'], string>> = {
  spc: 'SPC daily list',
  lsr: 'NWS local storm report',
};

interface Listed {
  readonly key: number;
  readonly report: ReportedHail;
  readonly event_date: string;
}

const sizeAt = (x: number): Column<Listed>[] => [
  { head: 'Size', x, width: 30, style: CELL_STRONG, text: ({ report }) => inches(report.size_mm) },
  { head: '', x: x + 32, width: 38, text: ({ report }) => millimetres(report.size_mm) },
];

const COMMON: readonly Column<Listed>[] = [
  { head: 'Distance', x: 206, width: 30, text: ({ report }) => miles(report.distance_m) },
  { head: '', x: 238, width: 36, text: ({ report }) => kilometres(report.distance_m) },
  { head: 'Time (UTC)', x: 282, width: 54, text: ({ report, event_date }) => clockTime(report.time, event_date) },
  { head: 'Source', x: 342, width: 88, text: ({ report }) => FEEDS[report.source] },
  { head: 'Place as reported', x: 436, width: 122, text: ({ report }) => printable(report.place, PLACE_MAX) },
];

/** Below the map of an event, whose numbers it explains. */
const NUMBERED: readonly Column<Listed>[] = [
  { head: 'No.', x: PAGE.left, width: 18, style: CELL_STRONG, text: ({ key }) => String(key) },
  ...sizeAt(76),
  { head: 'Size name', x: 152, width: 50, text: ({ report }) => sizeName(report.size_mm) },
  ...COMMON,
];

const DATED: readonly Column<Listed>[] = [
  { head: 'Storm date', x: PAGE.left, width: 56, style: CELL_STRONG, text: ({ event_date }) => event_date },
  ...sizeAt(120),
  ...COMMON,
];

/** The ground reports of an event, nearest first, numbered as on its map; nothing where there is none. */
export function reportList(sheet: Sheet, event: ReportEvent): void {
  drawReports(sheet, NUMBERED, [event]);
}

/** The ground reports of events without a map, by date and distance; nothing where there are none. */
export function furtherReports(sheet: Sheet, events: readonly ReportEvent[]): void {
  if (events.every(({ reports }) => reports.length === 0)) return;
  heading(sheet, 'Ground reports of the storm dates without a map', 60);
  drawReports(sheet, DATED, events);
}

/** What is cut is told. */
function drawReports(sheet: Sheet, columns: readonly Column<Listed>[], events: readonly ReportEvent[]): void {
  const rows = events.flatMap(({ event, listed }) =>
    listed.map((report, k) => ({ key: k + 1, report, event_date: event.event_date })),
  );
  if (rows.length > 0) drawTable(sheet, columns, rows);
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
