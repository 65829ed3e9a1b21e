import type { Content, CustomTableLayout, TableCell } from 'pdfmake/interfaces.js';
import { isOnLattice } from '../../schemas/geo/lattice.ts';
import { BANDS_MI } from '../../schemas/resources/verification.ts';
import { CELL_GROW_MM } from '../../schemas/size.ts';
import { daysBetween } from '../../schemas/time.ts';
import { heading, INK, paragraph, RULE, section, TEXT_WIDTH, VERDICT_LOOKS } from './blocks.ts';
import { directionFrom } from './place.ts';
import {
  largestIn,
  largestReport,
  peakTime,
  type Report,
  type ReportEvent,
  type ReportedHail,
} from './report-material.ts';
import { gapRows } from './sentences.ts';
import { printable } from './text.ts';
import { counted, distanceInWords, inches, instantInWords, miles, millimetres, sizeInWords, utcSpan } from './words.ts';

/** Marks a confidence that a note below the table explains. */
const CAPPED = '†';
const FEEDS: Readonly<Record<ReportedHail['source'], string>> = { spc: 'SPC list', lsr: 'NWS report' };
/** Longest printed name of a place, and note of a verdict, characters. */
const PLACE_MAX = 80;
const NOTE_MAX = 400;

/** A column of a table; its width in points, which the last column does not need. */
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

/** A table whose rows stay whole, its head repeated on every page and never alone at the foot of one; the first column is bold. */
function tableOf<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): Content {
  const last = columns.length - 1;
  const taken = columns.slice(0, last).reduce((sum, [, width]) => sum + width + GAP, 0);
  const heads = columns.map(([text]): TableCell => ({ text, style: 'column_head', verticalAlignment: 'bottom' }));
  const cellOf = (content: Content, k: number) =>
    typeof content === 'string' ? { text: content, style: k === 0 ? 'cell_strong' : 'cell' } : content;
  return {
    table: {
      headerRows: 1,
      keepWithHeaderRows: Math.min(2, rows.length),
      dontBreakRows: true,
      widths: columns.map(([, width], k) => (k === last ? TEXT_WIDTH - taken : width)),
      body: [heads, ...rows.map((row) => columns.map(([, , cell], k) => cellOf(cell(row), k)))],
    },
    layout: LAYOUT,
    margin: [0, 0, 0, 6],
  };
}

/** Title of a table, which goes to the next page with it. */
function tableTitle(text: string): Content {
  return { stack: heading(text), unbreakable: true, headlineLevel: 1 };
}

function twoLines(first: string, below: string, style: 'cell' | 'cell_strong' = 'cell'): Content {
  return {
    stack: [
      { text: first, style },
      { text: below, style: 'cell_faint' },
    ],
  };
}

/** The verdict of every storm date with a signal, and notes that explain the columns; empty without one. */
export function verdicts({ events, local }: Report): Content[] {
  if (events.length === 0) return [];
  const noted = Map.groupBy(
    events.filter(({ event }) => event.note !== null),
    ({ event }) => event.note ?? '',
  );
  return [
    tableTitle('Verdicts'),
    tableOf<ReportEvent>(events, [
      [
        'Local time; storm date (UTC)',
        126,
        ({ event: { event_date }, time: { from_ms, to_ms } }) =>
          twoLines(
            local.words('medium', from_ms, to_ms).replace(/, (?=\d+:)/, ',\n'),
            `${event_date}, ${utcSpan(event_date, from_ms, to_ms)}`,
            'cell_strong',
          ),
      ],
      [
        'Verdict',
        50,
        ({ event: { verdict } }) => ({
          text: VERDICT_LOOKS[verdict].word,
          style: 'cell_strong',
          color: VERDICT_LOOKS[verdict].color,
        }),
      ],
      [
        'At the location',
        44,
        (row) =>
          row.largest === null ? `no radar ${row.has_radar ? 'signal' : 'data'}` : sizeCell(row.overhead_mm, row),
      ],
      ...BANDS_MI.map(
        (outer, band): Column<ReportEvent> => [
          `${BANDS_MI[band - 1] ?? 0}–${outer} mi`,
          40,
          (row) => (row.largest === null ? '' : sizeCell(row.rings_mm[band] ?? null, row)),
        ],
      ),
      [
        'Confidence, detections',
        50,
        ({ event: { ml_confidence, note, n_detections } }) =>
          twoLines(
            `${ml_confidence?.toFixed(3) ?? 'none'}${note === null ? '' : ` ${CAPPED}`}`,
            n_detections.toLocaleString('en-US'),
          ),
      ],
      [
        'Ground reports, largest',
        0,
        ({ event, reports, has_reports }) => {
          const largest = largestReport(reports);
          if (largest === null) return has_reports ? 'none' : 'not collected';
          return twoLines(
            `${reports.length}: ${inches(largest.size_mm)}`,
            event.ground_truth.corroborated ? 'corroborated' : 'not corroborated',
          );
        },
      ],
    ]),
    ...Array.from(noted, ([note, of]) =>
      paragraph(
        `${CAPPED} ${of.map(({ event }) => event.event_date).join(', ')}: ${printable(note, NOTE_MAX)}`,
        'small',
        2,
      ),
    ),
    paragraph(
      `Storm dates that are not listed have no signal in the published data. Sizes are the largest radar estimates (MESH) of the storm date, in bold the largest of all: at the location that of the pixel over it, which counts in the nearest ring, too; – is no signal of ${sizeInWords(CELL_GROW_MM)} or more. Confidence, from 0 to 1, is a judgement by fixed rules from size, distance, number of detections, reports and radar geometry; it is no measured frequency. Ground reports: their number and the largest size; corroborated where one of them fits a radar detection in size, place and time.`,
      'small',
    ),
  ];
}

/** A radar size; the largest of a storm date is bold. */
function sizeCell(size_mm: number | null, { largest }: ReportEvent): Content {
  if (size_mm === null) return '–';
  return twoLines(inches(size_mm), millimetres(size_mm), size_mm === largest?.max_mm ? 'cell_strong' : 'cell');
}

/** Times about which nothing can be said; empty where the data have no gaps. */
export function gapTable(report: Report): Content[] {
  const rows = gapRows(report);
  if (rows.length === 0) return [];
  return [
    tableOf(rows, [
      ['Nothing can be said about', 130, ({ what }) => what],
      ['Local time', 230, ({ times }) => times],
      ['Storm dates (UTC)', 0, ({ dates }) => ({ text: dates, style: 'cell_faint' })],
    ]),
  ];
}

/** Hail at the place in the year before the range, a line for each storm date; empty where no data can exist. */
export function earlierHail({ earlier, verification, local }: Report): Content[] {
  if (!isOnLattice(verification.location)) return [];
  const { first, last, days, count, without_data } = earlier;
  const rows = days.map((day) => {
    const [{ largest }, reported] = [largestIn(day.pixels), largestReport(day.reports)];
    return { ...day, largest, reported, time_ms: peakTime(day) ?? 0 };
  });
  const searched = daysBetween(first, last);
  const more = count > days.length ? `, and ${count - days.length} more are not listed` : '';
  const unseen = without_data === 0 ? '' : ` No radar data are published for ${without_data} of the ${searched}.`;
  const range = `the ${searched} storm dates before the period searched (${first} to ${last})`;
  const table = tableOf<(typeof rows)[number]>(rows, [
    ['Local time', 150, ({ time_ms }) => local.words('medium', time_ms)],
    ['Storm date (UTC)', 70, ({ storm_date }) => storm_date],
    [
      'Largest by radar',
      140,
      ({ largest }) =>
        largest === null
          ? 'no detection, or no data'
          : `${sizeInWords(largest.max_mm)}, ${largest.distance_m === 0 ? 'over the location' : miles(largest.distance_m)}`,
    ],
    [
      'Ground reports, largest',
      0,
      (row) => (row.reported === null ? 'none' : `${row.reports.length}: ${sizeInWords(row.reported.size_mm)}`),
    ],
  ]);
  return [
    section('Earlier hail', [
      ...(rows.length === 0 ? [] : [table]),
      paragraph(
        `Of ${range} the published data hold ${count === 0 ? 'none' : count} with a detection or a ground report within 5 miles${more}.${unseen} Reports that were not collected are not counted.`,
        'small',
      ),
    ]),
  ];
}

/** Ground reports by storm date and distance, nearest first, and the number of those that were cut; empty without any. */
export function groundReports({ events, verification: { location }, local }: Report): Content[] {
  const rows = events.flatMap(({ listed }) => listed);
  const cut = events.flatMap(({ listed, reports }) => reports.slice(listed.length));
  const largest_cut = largestReport(cut);
  if (rows.length === 0) return [];
  return [
    tableTitle('Ground reports'),
    tableOf(rows, [
      ['Local time', 88, ({ time }) => local.words('short', time)],
      ['UTC', 84, ({ time }) => instantInWords(time)],
      ['Size', 72, ({ size_mm }) => sizeInWords(size_mm)],
      [
        'Distance and direction',
        120,
        (report) => `${distanceInWords(report.distance_m)} ${directionFrom(location, report)}`,
      ],
      ['Source', 46, ({ source }) => FEEDS[source]],
      ['Place as reported', 0, ({ place }) => printable(place, PLACE_MAX)],
    ]),
    ...(largest_cut === null
      ? []
      : [
          paragraph(
            `${counted(cut.length, 'report')} farther away ${cut.length === 1 ? 'is' : 'are'} not listed; the largest of them: ${sizeInWords(largest_cut.size_mm)}.`,
            'small',
          ),
        ]),
  ];
}
