import type { DuckDBValue } from '@duckdb/node-api';
import { counted } from '../../schemas/command-line.ts';
import { textOf } from './sql-values.ts';

/** Where a table is printed. */
export interface TableLook {
  /** Columns of the terminal; null: as wide as it takes. */
  readonly width: number | null;
  /** True: what is no value is dimmed. */
  readonly is_terminal: boolean;
}

/** Rows to print as a table. */
export interface TableRows {
  readonly names: readonly string[];
  /** By column: numbers are aligned right. */
  readonly isNumber: readonly boolean[];
  readonly rows: readonly (readonly DuckDBValue[])[];
  /** True when the result has rows beyond these. */
  readonly has_more: boolean;
}

const GAP = '  ';
/** On a terminal cells are cut to this width: shapes have thousands of characters. */
const WIDEST = 80;
const NARROWEST = 6;
const NULL = 'NULL';

/**
 * A table of rows with a line that counts them. What a terminal would obey, such as escape sequences in a text, is printed as
 * code points; a text that reads NULL is quoted, to tell it from null.
 */
export function tableText({ names, isNumber, rows, has_more }: TableRows, look: TableLook): string {
  const heads = names.map((name) => printable(name));
  const cells = rows.map((row) => row.map(cellText));
  const wanted = heads.map((head, k) =>
    Math.min(
      look.width === null ? Number.POSITIVE_INFINITY : WIDEST,
      Math.max(lengthOf(head), ...cells.map((row) => lengthOf(row[k] ?? ''))),
    ),
  );
  const widths = fitted(wanted, look.width);
  const line = (row: readonly string[], paint: (cell: string, k: number) => string) =>
    widths
      .map((width, k) => paint(padded(row[k] ?? '', width, isNumber[k] === true), k))
      .join(GAP)
      .trimEnd();
  const dim = (text: string) => (look.is_terminal ? `\u001b[2m${text}\u001b[22m` : text);
  const hidden = names.length - widths.length;
  const count = `${has_more ? 'first ' : ''}${counted(rows.length, 'row')}`;
  const notes = [
    count,
    ...(has_more ? ['there are more'] : []),
    ...(hidden > 0
      ? [`${counted(hidden, 'column')} not shown for want of width: ${heads.slice(-hidden).join(', ')}`]
      : []),
  ];
  return `${[
    line(heads, (cell) => cell),
    dim(widths.map((width) => '─'.repeat(width)).join(GAP)),
    ...cells.map((row, r) => line(row, (cell, k) => (rows[r]?.[k] === null ? dim(cell) : cell))),
    dim(`(${notes.join('; ')})`),
  ].join('\n')}\n`;
}

function cellText(value: DuckDBValue): string {
  const text = textOf(value);
  if (text === null) return NULL;
  return text === NULL ? `'${text}'` : printable(text);
}

/** Controls, and marks that change the direction of what follows or hide. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** A text that a terminal shows and does not obey. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (found) => {
    if (found === '\n') return '\\n';
    if (found === '\t') return '\\t';
    return `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

function lengthOf(text: string): number {
  return [...text].length;
}

function padded(text: string, width: number, atRight: boolean): string {
  const length = lengthOf(text);
  if (length > width) return `${[...text].slice(0, width - 1).join('')}…`;
  const space = ' '.repeat(width - length);
  return atRight ? space + text : text + space;
}

/** Widths that fit into a line: the widest columns give way first, then the last columns are left out. */
function fitted(wanted: readonly number[], width: number | null): number[] {
  if (width === null) return [...wanted];
  const lineOf = (widths: readonly number[]) =>
    widths.reduce((sum, each) => sum + each, 0) + GAP.length * (widths.length - 1);
  const widths = [...wanted];
  while (lineOf(widths) > width) {
    const widest = Math.max(...widths);
    if (widest > NARROWEST) widths[widths.indexOf(widest)] = widest - 1;
    else if (widths.length > 1) widths.pop();
    else break;
  }
  return widths;
}
