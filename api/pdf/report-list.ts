import { printable } from './printable.ts';
import type { ReportEvent } from './report-events.ts';
import type { ReportedHail } from './report-material.ts';
import { PAGE, paragraph, type Sheet } from './sheet.ts';
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

const COLUMNS: readonly Column<Listed>[] = [
  { head: 'No.', x: PAGE.left, width: 18, style: CELL_STRONG, text: ({ key }) => String(key) },
  { head: 'Size', x: 76, width: 40, style: CELL_STRONG, text: ({ report }) => inches(report.size_mm) },
  { head: '', x: 116, width: 46, text: ({ report }) => millimetres(report.size_mm) },
  { head: 'Size name', x: 164, width: 58, text: ({ report }) => sizeName(report.size_mm) },
  { head: 'Distance', x: 226, width: 38, text: ({ report }) => miles(report.distance_m) },
  { head: '', x: 266, width: 40, text: ({ report }) => kilometres(report.distance_m) },
  { head: 'Time (UTC)', x: 312, width: 56, text: ({ report, event_date }) => clockTime(report.time, event_date) },
  { head: 'Source', x: 372, width: 86, text: ({ report }) => FEEDS[report.source] },
  { head: 'Place as reported', x: 462, width: 96, text: ({ report }) => printable(report.place, PLACE_MAX) },
];

/** Every ground report of an event, nearest first; nothing where there is none. What is cut is told. */
export function reportList(sheet: Sheet, { event, listed, reports }: ReportEvent): void {
  if (reports.length === 0) return;
  const rows = listed.map((report, k) => ({ key: k + 1, report, event_date: event.event_date }));
  if (rows.length > 0) drawTable(sheet, COLUMNS, rows);
  sheet.y += 5;
  const cut = reports.slice(listed.length);
  if (cut.length === 0) return;
  const largest_mm = cut.reduce((most, { size_mm }) => Math.max(most, size_mm), 0);
  paragraph(
    sheet,
    `${counted(cut.length, 'report')} farther away ${cut.length === 1 ? 'is' : 'are'} not listed; the largest of them: ${sizeInWords(largest_mm)}.`,
    SMALL,
  );
}
