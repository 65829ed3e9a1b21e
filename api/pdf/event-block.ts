import type { Position } from '../../schemas/geo/position.ts';
import { drawMap, MAP_SIDE } from './event-map.ts';
import type { NotRealMark } from './provenance-words.ts';
import type { ReportEvent } from './report-events.ts';
import { reportList } from './report-list.ts';
import { artifact, PAGE, room, rule, type Sheet, tagged, wrapped, write, writeLines } from './sheet.ts';
import { drawLegend, LEGEND_HEIGHT } from './size-legend.ts';
import { BODY, FAINT, LEAD, SMALL, SUBHEADING } from './styles.ts';
import { type SummaryPart, summaryOf } from './summary.ts';
import { tableHeight } from './table.ts';
import { VERDICT_LOOKS, writeVerdict } from './verdict-mark.ts';
import { counted, longDate, sizeInWords } from './words.ts';

const HEAD_HEIGHT = 24;
const GUTTER = 20;
const BESIDE = PAGE.left + MAP_SIDE + GUTTER;
const BESIDE_WIDTH = PAGE.right - BESIDE;
/** Height of a map with its legend. */
const FIGURE_HEIGHT = MAP_SIDE + 6 + LEGEND_HEIGHT;
/** A list of so many reports stays on the page of its map, a longer one begins there. */
const LIST_TOGETHER = 8;

/** Height of the top of an event's block, which no page breaks, points. */
export const MAP_BLOCK_HEIGHT = HEAD_HEIGHT + FIGURE_HEIGHT + 8;

/** What a document shows of an event: its map, its summary, its reports. */
export function eventBlock(
  sheet: Sheet,
  event: ReportEvent,
  { point, not_real }: { readonly point: Position; readonly not_real: NotRealMark | null },
): void {
  const parts = summaryOf(event, not_real).map((part) => ({
    ...part,
    lines: wrapped(sheet, part.text, BESIDE_WIDTH, BODY),
  }));
  const summary_height = parts.reduce(
    (sum, { lines }) => sum + SUBHEADING.leading + lines.length * BODY.leading + 5,
    0,
  );
  const body_height = Math.max(FIGURE_HEIGHT, summary_height);
  const list_height = event.listed.length > 0 ? tableHeight(Math.min(LIST_TOGETHER, event.listed.length), false) : 0;
  room(sheet, HEAD_HEIGHT + body_height + 4 + list_height);
  eventHead(sheet, event);
  const top = sheet.y;
  tagged(
    sheet,
    'Figure',
    () => {
      drawMap(sheet, { x: PAGE.left, y: top }, { point, event, not_real });
      drawLegend(sheet, { x: PAGE.left, y: top + MAP_SIDE + 6 });
    },
    mapInWords(event),
  );
  drawSummary(sheet, parts, top);
  sheet.y = top + body_height + 4;
  reportList(sheet, event);
  sheet.y += 12;
}

function eventHead(sheet: Sheet, { event }: ReportEvent): void {
  const { doc, y } = sheet;
  artifact(doc, 'Layout', () => rule(doc, PAGE.left, PAGE.right, y, 0.5));
  tagged(sheet, 'H3', () => {
    write(sheet, longDate(event.event_date), PAGE.left, y + 15, LEAD);
    writeVerdict(sheet, event.verdict, BESIDE, y + 15, LEAD);
    write(sheet, `storm date ${event.event_date} (UTC)`, PAGE.right, y + 15, SMALL, 'right');
  });
  sheet.y = y + HEAD_HEIGHT;
}

function drawSummary(
  sheet: Sheet,
  parts: readonly (SummaryPart & { readonly lines: readonly string[] })[],
  top: number,
): void {
  let y = top;
  for (const { title, lines } of parts) {
    tagged(sheet, 'H4', () => write(sheet, title, BESIDE, y + 7.5, { ...SUBHEADING, color: FAINT }));
    tagged(sheet, 'P', () => writeLines(sheet, lines, BESIDE, y + SUBHEADING.leading, BODY));
    y += SUBHEADING.leading + lines.length * BODY.leading + 5;
  }
}

/** The map for those who hear it. */
function mapInWords({ event, largest, listed }: ReportEvent): string {
  const radar = largest === null ? 'no radar signal' : `radar pixels up to ${sizeInWords(largest.max_mm)}`;
  return `Map around the location for ${event.event_date} with rings at 1, 3 and 5 miles: ${radar}, ${counted(listed.length, 'ground report')}. Verdict: ${VERDICT_LOOKS[event.verdict].word}.`;
}
