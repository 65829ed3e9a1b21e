import type { Position } from '../../schemas/geo/position.ts';
import { drawMap, MAP_SIDE } from './event-map.ts';
import { eventSummary, type SummaryPart } from './event-sentences.ts';
import type { NotRealMark } from './provenance-words.ts';
import type { ReportEvent } from './report-events.ts';
import { drawEventReports } from './report-list.ts';
import { artifact, ensureSpace, PAGE, rule, type Sheet, tagged, wrapText, writeLine, writeLines } from './sheet.ts';
import { drawLegend, LEGEND_HEIGHT } from './size-legend.ts';
import { BODY, FAINT, LEAD, SMALL, SUBHEADING } from './styles.ts';
import { tableHeight } from './table.ts';
import { drawVerdict, VERDICT_LOOKS } from './verdict-mark.ts';
import { counted, longDate, sizeInWords } from './words.ts';

const HEAD_HEIGHT = 24;
const AFTER = 4;
const GUTTER = 20;
const BESIDE = PAGE.left + MAP_SIDE + GUTTER;
const BESIDE_WIDTH = PAGE.right - BESIDE;
/** Height of a map with its legend. */
const FIGURE_HEIGHT = MAP_SIDE + 6 + LEGEND_HEIGHT;
/** A list of up to this number of reports stays on the page of its map; a longer list begins there. */
const LIST_TOGETHER = 8;

/** Centre of the maps, and the mark of their data. */
interface Around {
  readonly point: Position;
  readonly not_real: NotRealMark | null;
}

/** A part of a summary with its lines. */
type SetPart = SummaryPart & { readonly lines: readonly string[] };

/** Height of the part of an event's block that stays on one page, points. */
export function eventHeight(sheet: Sheet, event: ReportEvent, { not_real }: Around): number {
  const list_height = event.listed.length > 0 ? tableHeight(Math.min(LIST_TOGETHER, event.listed.length), false) : 0;
  return HEAD_HEIGHT + bodyHeight(setParts(sheet, event, not_real)) + AFTER + list_height;
}

/** Draws an event: map, summary, ground reports. */
export function drawEvent(sheet: Sheet, event: ReportEvent, around: Around): void {
  const { point, not_real } = around;
  const parts = setParts(sheet, event, not_real);
  ensureSpace(sheet, eventHeight(sheet, event, around));
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
  sheet.y = top + bodyHeight(parts) + AFTER;
  drawEventReports(sheet, event);
  sheet.y += AFTER;
}

function setParts(sheet: Sheet, event: ReportEvent, not_real: NotRealMark | null): SetPart[] {
  return eventSummary(event, not_real).map((part) => ({
    ...part,
    lines: wrapText(sheet, part.text, BESIDE_WIDTH, BODY),
  }));
}

function partHeight({ lines }: SetPart): number {
  return SUBHEADING.leading + lines.length * BODY.leading + 5;
}

/** Height of the map or of the summary next to it, whichever is higher. */
function bodyHeight(parts: readonly SetPart[]): number {
  return Math.max(
    FIGURE_HEIGHT,
    parts.reduce((sum, part) => sum + partHeight(part), 0),
  );
}

function eventHead(sheet: Sheet, { event }: ReportEvent): void {
  const { doc, y } = sheet;
  artifact(doc, 'Layout', () => rule(doc, PAGE.left, PAGE.right, y, 0.5));
  tagged(sheet, 'H3', () => {
    writeLine(sheet, longDate(event.event_date), PAGE.left, y + 15, LEAD);
    drawVerdict(sheet, event.verdict, BESIDE, y + 15, LEAD);
    writeLine(sheet, `storm date ${event.event_date} (UTC)`, PAGE.right, y + 15, SMALL, 'right');
  });
  sheet.y = y + HEAD_HEIGHT;
}

function drawSummary(sheet: Sheet, parts: readonly SetPart[], top: number): void {
  let y = top;
  for (const part of parts) {
    const { title, lines } = part;
    tagged(sheet, 'H4', () => writeLine(sheet, title, BESIDE, y + 7.5, { ...SUBHEADING, color: FAINT }));
    tagged(sheet, 'P', () => writeLines(sheet, lines, BESIDE, y + SUBHEADING.leading, BODY));
    y += partHeight(part);
  }
}

/** Description of the map for screen readers. */
function mapInWords({ event, largest, listed, has_radar }: ReportEvent): string {
  const radar =
    largest === null
      ? `no radar ${has_radar ? 'signal' : 'data'}`
      : `radar pixels up to ${sizeInWords(largest.max_mm)}`;
  return `Map around the location for ${event.event_date} with rings at 1, 3 and 5 miles: ${radar}, ${counted(listed.length, 'ground report')}. Verdict: ${VERDICT_LOOKS[event.verdict].word}.`;
}
