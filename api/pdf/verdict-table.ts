import { BANDS_MI, type VerificationEvent } from '../../schemas/resources/verification.ts';
import { CELL_GROW_MM } from '../../schemas/size.ts';
import { stormDateStart } from '../../schemas/time.ts';
import { stormDayInWords } from '../rules/date-range.ts';
import type { LocalTime } from '../rules/local-time.ts';
import { NOTE_MAX } from './event-sentences.ts';
import { printable } from './printable.ts';
import type { ReportEvent } from './report-events.ts';
import { heading, PAGE, paragraph, type Sheet, writeLine } from './sheet.ts';
import { CELL, CELL_STRONG, SMALL, type TextStyle } from './styles.ts';
import { drawTable, type TableColumn, tableHeight } from './table.ts';
import { drawVerdict } from './verdict-mark.ts';
import {
  clockTime,
  confidenceText,
  inches,
  localSpan,
  localTime,
  millimetres,
  sizeInWords,
  thousands,
} from './words.ts';

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
/** Marks a confidence that a note below the table explains. */
const CAPPED = '†';

/** Heads of the sizes by distance: at the point, and in each band. */
const RINGS = BANDS_MI.map((outer, band) => `${BANDS_MI[band - 1] ?? 0}–${outer} mi`);
const RING_X = 157;
const RING_STEP = 38;
const RING_WIDTH = 36;

function columnsOf(local: LocalTime | null): TableColumn<ReportEvent>[] {
  return [
    {
      head: 'Storm date (UTC)',
      x: PAGE.left,
      width: 48,
      style: CELL_STRONG,
      text: ({ event }) => event.event_date,
      below: ({ event }) => WEEKDAYS[new Date(event.event_date).getUTCDay()] ?? '',
    },
    {
      head: 'Verdict',
      x: 106,
      width: 48,
      text: ({ event }) => event.verdict,
      draw: (sheet, { event }, x, baseline) => drawVerdict(sheet, event.verdict, x, baseline, CELL_STRONG),
    },
    {
      ...sizeColumn(0, 'At the location', ({ overhead }) => overhead?.max_mm ?? null),
      draw: (sheet, row, x, baseline) => {
        const { event, overhead, has_radar } = row;
        if (event.max_size_mm === null)
          writeLine(sheet, `no radar ${has_radar ? 'signal' : 'data'}`, x, baseline, CELL);
        else
          writeLine(sheet, sizeText(overhead?.max_mm ?? null), x, baseline, sizeStyle(overhead?.max_mm ?? null, row));
      },
    },
    ...RINGS.map((head, band) => sizeColumn(1 + band, head, ({ rings_mm }) => rings_mm[band] ?? null)),
    {
      head: 'Confidence, detections',
      x: 309,
      width: 46,
      align: 'right',
      text: ({ event }) => `${confidenceText(event.ml_confidence)}${event.note === null ? '' : ` ${CAPPED}`}`,
      below: ({ event }) => thousands(event.n_detections),
    },
    seenColumn('First seen', 364, local, ({ first_detected }) => first_detected),
    seenColumn('Last seen', 428, local, ({ last_detected }) => last_detected),
    {
      head: 'Ground reports, largest',
      x: 492,
      width: 66,
      text: ({ reports, has_reports }) =>
        reports.length > 0
          ? `${reports.length}: ${inches(largestReport(reports))}`
          : has_reports
            ? 'none'
            : 'not collected',
      below: ({ event, reports }) =>
        reports.length === 0 ? '' : event.ground_truth.corroborated ? 'corroborated' : 'not corroborated',
    },
  ];
}

/** A column of radar sizes; the largest of a storm date is bold. */
function sizeColumn(at: number, head: string, sizeOf: (row: ReportEvent) => number | null): TableColumn<ReportEvent> {
  return {
    head,
    x: RING_X + at * RING_STEP,
    width: RING_WIDTH,
    style: (row) => sizeStyle(sizeOf(row), row),
    text: (row) => (row.event.max_size_mm === null ? '' : sizeText(sizeOf(row))),
    below: (row) => {
      const size_mm = sizeOf(row);
      return size_mm === null ? '' : millimetres(size_mm);
    },
  };
}

function sizeText(size_mm: number | null): string {
  return size_mm === null ? '–' : inches(size_mm);
}

function sizeStyle(size_mm: number | null, { event }: ReportEvent): TextStyle {
  return size_mm !== null && size_mm === event.max_size_mm ? CELL_STRONG : CELL;
}

/** A column of scan times, UTC above local time. */
function seenColumn(
  head: string,
  x: number,
  local: LocalTime | null,
  timeOf: (event: VerificationEvent) => string | null,
): TableColumn<ReportEvent> {
  return {
    head: local === null ? `${head} (UTC)` : `${head}: UTC, local`,
    x,
    width: 61,
    text: ({ event }) => {
      const time = timeOf(event);
      return time === null ? '–' : clockTime(Date.parse(time), event.event_date);
    },
    below: ({ event }) => {
      const time = timeOf(event);
      return time === null || local === null ? '' : localTime(local, Date.parse(time));
    },
  };
}

function largestReport(reports: readonly { readonly size_mm: number }[]): number {
  return Math.max(...reports.map(({ size_mm }) => size_mm));
}

/** Draws the verdict of every storm date with a signal, and notes that explain the columns. */
export function drawVerdictTable(sheet: Sheet, events: readonly ReportEvent[], storm_day_start_hour: number): void {
  heading(sheet, 'Verdicts', tableHeight(Math.min(2, events.length), true) + 10);
  const local = events[0]?.local ?? null;
  drawTable(sheet, columnsOf(local), events);
  sheet.y += 5;
  for (const note of notesOf(events)) paragraph(sheet, `${CAPPED} ${note}`, SMALL, 2);
  paragraph(
    sheet,
    `${stormDayInWords(storm_day_start_hour)} ${local === null ? '' : `${localInWords(local, events, storm_day_start_hour)} `}Storm dates that are not listed have no signal in the published data.`,
    SMALL,
    2,
  );
  paragraph(
    sheet,
    `Sizes are the largest radar estimates (MESH) of the storm date, in bold the largest of them all: at the location that of the pixel over it, which counts in the nearest ring, too; – is no signal of ${sizeInWords(CELL_GROW_MM)} or more. Confidence, from 0 to 1, is a judgement by fixed rules from size, distance, number of detections, reports and radar geometry; it is no measured frequency. Ground reports: their number and the largest size among them; corroborated where one of them fits a radar detection in size, place and time.`,
    SMALL,
  );
}

/** Time zone of the local times, and the local start of the first storm date. */
function localInWords(local: LocalTime, events: readonly ReportEvent[], storm_day_start_hour: number): string {
  const starts_ms = events.map(({ event }) => stormDateStart(event.event_date, storm_day_start_hour));
  const [first_ms = 0] = starts_ms;
  return `Local time is ${local.zone}: the storm date ${events[0]?.event.event_date} begins there on ${localSpan(local, first_ms, first_ms)}.`;
}

/** Each note once, with its dates. */
function notesOf(events: readonly ReportEvent[]): string[] {
  const noted = events.flatMap(({ event }) =>
    event.note === null ? [] : [{ date: event.event_date, note: printable(event.note, NOTE_MAX) }],
  );
  return [...Map.groupBy(noted, ({ note }) => note)].map(
    ([note, of]) => `${of.map(({ date }) => date).join(', ')}: ${note}`,
  );
}
