import {
  artifact,
  ensureSpace,
  PAGE,
  rule,
  type Sheet,
  tagged,
  textWidth,
  withinElement,
  wrapText,
  writeLine,
} from './sheet.ts';
import { CELL, CELL_FAINT, COLUMN_HEAD, INK, type TextStyle } from './styles.ts';

/** A column of a table; `x` and `width` in points from the left edge of the page. */
export interface TableColumn<Row> {
  readonly head: string;
  readonly x: number;
  readonly width: number;
  readonly align?: 'left' | 'right';
  readonly style?: TextStyle | ((row: Row) => TextStyle);
  readonly text: (row: Row) => string;
  /** A second, fainter line. */
  readonly below?: (row: Row) => string;
  /** Draws the first line instead of writing `text`. */
  readonly draw?: (sheet: Sheet, row: Row, x: number, baseline: number) => void;
}

const HEAD_LINE = COLUMN_HEAD.leading;

/**
 * Draws a table. Its head is repeated on every page and never stands alone at the foot of a page. A cell is one line, cut to
 * the width of its column.
 */
export function drawTable<Row>(sheet: Sheet, columns: readonly TableColumn<Row>[], rows: readonly Row[]): void {
  const has_below = columns.some(({ below }) => below !== undefined);
  const row_height = rowHeight(has_below);
  const heads = columns.map(({ head, width }) => wrapText(sheet, head, width, COLUMN_HEAD));
  const head_height = Math.max(...heads.map((lines) => lines.length)) * HEAD_LINE + 6;
  ensureSpace(sheet, head_height + Math.min(2, rows.length) * row_height);
  withinElement(sheet, 'Table', () => {
    drawHead(sheet, columns, heads, head_height);
    for (const [k, row] of rows.entries()) {
      // The last row never stands alone on a page.
      const together = k === rows.length - 2 ? 2 : 1;
      if (ensureSpace(sheet, together * row_height)) drawHead(sheet, columns, heads, head_height);
      drawRow(sheet, columns, row, row_height);
    }
  });
}

/** Height of a table that fits one page, points. */
export function tableHeight(rows: number, has_below: boolean): number {
  return HEAD_LINE + 6 + rows * rowHeight(has_below);
}

function rowHeight(has_below: boolean): number {
  return CELL.leading + (has_below ? CELL_FAINT.leading + 6 : 3.5);
}

function drawHead<Row>(
  sheet: Sheet,
  columns: readonly TableColumn<Row>[],
  heads: readonly (readonly string[])[],
  height: number,
): void {
  const { doc, y } = sheet;
  withinElement(sheet, 'TR', () => {
    for (const [k, column] of columns.entries())
      tagged(sheet, 'TH', () => {
        const lines = heads[k] as readonly string[];
        for (const [n, line] of lines.entries())
          writeCell(sheet, line, column, y + height - 6 - (lines.length - 1 - n) * HEAD_LINE, COLUMN_HEAD);
      });
  });
  artifact(doc, 'Layout', () => rule(doc, PAGE.left, PAGE.right, y + height - 1.5, 0.8, INK));
  sheet.y += height;
}

function drawRow<Row>(sheet: Sheet, columns: readonly TableColumn<Row>[], row: Row, height: number): void {
  const { doc, y } = sheet;
  const baseline = y + 8.8;
  withinElement(sheet, 'TR', () => {
    for (const column of columns)
      tagged(sheet, 'TD', () => {
        if (column.draw !== undefined) column.draw(sheet, row, column.x, baseline);
        else writeCell(sheet, column.text(row), column, baseline, styleOf(column, row));
        if (column.below !== undefined)
          writeCell(sheet, column.below(row), column, baseline + CELL_FAINT.leading, CELL_FAINT);
      });
  });
  artifact(doc, 'Layout', () => rule(doc, PAGE.left, PAGE.right, y + height - 0.25, 0.4));
  sheet.y += height;
}

function styleOf<Row>({ style = CELL }: TableColumn<Row>, row: Row): TextStyle {
  return typeof style === 'function' ? style(row) : style;
}

function writeCell<Row>(
  sheet: Sheet,
  text: string,
  column: TableColumn<Row>,
  baseline: number,
  style: TextStyle,
): void {
  const right = column.align === 'right';
  const shown = truncateText(sheet, text, column.width, style);
  writeLine(sheet, shown, right ? column.x + column.width : column.x, baseline, style, right ? 'right' : 'left');
}

/** A text cut to a width; a cut text ends in `…`. */
function truncateText(sheet: Sheet, text: string, width: number, style: TextStyle): string {
  if (textWidth(sheet, text, style) <= width) return text;
  let end = text.length - 1;
  while (end > 0 && textWidth(sheet, `${text.slice(0, end)}…`, style) > width) end--;
  return `${text.slice(0, end).trimEnd()}…`;
}
