import { stormDayInWords } from '../rules/storm-day-words.ts';
import { printable } from './printable.ts';
import type { ReportEvent } from './report-events.ts';
import { heading, PAGE, paragraph, type Sheet } from './sheet.ts';
import { CELL_STRONG, SMALL } from './styles.ts';
import { NOTE_MAX } from './summary.ts';
import { type Column, drawTable, tableHeight } from './table.ts';
import { writeVerdict } from './verdict-mark.ts';
import { clockTime, confidenceText, sizeInWords, sizeName, thousands } from './words.ts';

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
/** Stands by a confidence that the note below the table explains. */
const CAPPED = '†';

const COLUMNS: readonly Column<ReportEvent>[] = [
  {
    head: 'Storm date (UTC)',
    x: PAGE.left,
    width: 62,
    style: CELL_STRONG,
    text: ({ event }) => event.event_date,
    below: ({ event }) => WEEKDAYS[new Date(event.event_date).getUTCDay()] ?? '',
  },
  {
    head: 'Verdict',
    x: 120,
    width: 60,
    text: ({ event }) => event.verdict,
    draw: (sheet, { event }, x, baseline) => writeVerdict(sheet, event.verdict, x, baseline, CELL_STRONG),
  },
  {
    head: 'Largest radar size within 5 mi',
    x: 184,
    width: 84,
    text: ({ event, has_radar }) =>
      event.max_size_mm === null ? `no radar ${has_radar ? 'signal' : 'data'}` : sizeInWords(event.max_size_mm),
    below: ({ event }) => (event.max_size_mm === null ? '' : sizeName(event.max_size_mm)),
  },
  {
    head: 'Nearest band',
    x: 272,
    width: 42,
    text: ({ event }) => event.band.replace('-', '–').replace('mi', ' mi'),
  },
  {
    head: 'Confidence',
    x: 312,
    width: 42,
    align: 'right',
    text: ({ event }) => `${confidenceText(event.ml_confidence)}${event.note === null ? '' : ` ${CAPPED}`}`,
  },
  {
    head: 'Detections',
    x: 358,
    width: 40,
    align: 'right',
    text: ({ event }) => thousands(event.n_detections),
  },
  {
    head: 'First–last seen (UTC)',
    x: 411,
    width: 60,
    text: ({ event }) =>
      event.first_detected === null ? '–' : clockTime(Date.parse(event.first_detected), event.event_date),
    below: ({ event }) =>
      event.last_detected === null ? '' : `to ${clockTime(Date.parse(event.last_detected), event.event_date)}`,
  },
  {
    head: 'Ground reports: number, largest',
    x: 473,
    width: 85,
    text: ({ reports, has_reports }) =>
      reports.length > 0
        ? `${reports.length}: ${sizeInWords(largestReport(reports))}`
        : has_reports
          ? 'none'
          : 'not collected',
    below: ({ event, reports }) =>
      reports.length === 0 ? '' : event.ground_truth.corroborated ? 'corroborated' : 'not corroborated',
  },
];

function largestReport(reports: readonly { readonly size_mm: number }[]): number {
  return Math.max(...reports.map(({ size_mm }) => size_mm));
}

/** The verdict of every storm date with a signal, and what its columns mean. */
export function verdictTable(sheet: Sheet, events: readonly ReportEvent[], storm_day_start_hour: number): void {
  heading(sheet, 'Verdicts', tableHeight(Math.min(2, events.length), true) + 10);
  drawTable(sheet, COLUMNS, events);
  sheet.y += 5;
  for (const note of notesOf(events)) paragraph(sheet, `${CAPPED} ${note}`, SMALL, 2);
  paragraph(
    sheet,
    `${stormDayInWords(storm_day_start_hour)} In the United States the evening falls on the next UTC date: 01:00 UTC on May 2 is 9:00 p.m. EDT, 8:00 p.m. CDT, 7:00 p.m. MDT and 6:00 p.m. PDT on May 1, and belongs to the storm date ${storm_day_start_hour <= 1 ? '2026-05-02' : '2026-05-01'}. Storm dates that are not listed have no signal in the published data.`,
    SMALL,
    2,
  );
  paragraph(
    sheet,
    'Nearest band: the nearest distance with hail of 0.75 in (19 mm) or more, else with any signal. Confidence, from 0 to 1, is a judgement by fixed rules from size, distance, number of detections, reports and radar geometry; it is no measured frequency. Ground reports: their number and the largest size among them; corroborated where one of them fits a radar detection in size, place and time.',
    SMALL,
  );
}

/** Each note once, with the dates it is for. */
function notesOf(events: readonly ReportEvent[]): string[] {
  const noted = events.flatMap(({ event }) =>
    event.note === null ? [] : [{ date: event.event_date, note: printable(event.note, NOTE_MAX) }],
  );
  return [...Map.groupBy(noted, ({ note }) => note)].map(
    ([note, of]) => `${of.map(({ date }) => date).join(', ')}: ${note}`,
  );
}
