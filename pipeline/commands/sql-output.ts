import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { DuckDBResult, DuckDBValue } from '@duckdb/node-api';
import { printable, type TableLook, tableText } from './sql-table.ts';
import { jsonOf, textOf } from './sql-values.ts';

/** Formats that are written piece by piece as the result comes. */
export type TextFormat = 'table' | 'csv' | 'json';

export interface PrintSettings {
  readonly format: TextFormat;
  /** Rows that a table shows; CSV and JSON hold all. */
  readonly rows: number;
  readonly look: TableLook;
}

/** Prints a result; the rest of it is not read once the reader of the output has left. Memory holds a few thousand rows. */
export async function printResult(
  result: DuckDBResult,
  { format, rows, look }: PrintSettings,
  to: Writable,
): Promise<void> {
  if (format === 'table') await printTable(result, rows, look, to);
  else if (format === 'csv') await printCsv(result, to);
  else await printJson(result, to);
}

/** Columns of what EXPLAIN answers. */
const EXPLAINED = 'explain_key,explain_value';
const NUMBERS = /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL.*)$/;

async function printTable(result: DuckDBResult, limit: number, look: TableLook, to: Writable): Promise<void> {
  const rows: (readonly DuckDBValue[])[] = [];
  for await (const piece of pieces(result)) {
    rows.push(...piece.slice(0, limit + 1 - rows.length));
    if (rows.length > limit) break;
  }
  if (result.columnNames().join() === EXPLAINED) {
    // A plan is a drawing of several lines.
    const lines = rows.map(([, plan]) => (textOf(plan ?? null) ?? '').split('\n').map(printable).join('\n'));
    await write(to, `${lines.join('\n')}\n`);
    return;
  }
  const has_more = rows.length > limit;
  const isNumber = result.columnTypes().map((type) => NUMBERS.test(String(type)));
  await write(to, tableText({ names: result.columnNames(), isNumber, rows: rows.slice(0, limit), has_more }, look));
}

/** CSV as RFC 4180 has it; null is an empty field, an empty text two quotes. */
async function printCsv(result: DuckDBResult, to: Writable): Promise<void> {
  await write(to, csvLine(result.columnNames()));
  for await (const piece of pieces(result))
    if (!(await write(to, piece.map((row) => csvLine(row.map(textOf))).join('')))) return;
}

function csvLine(fields: readonly (string | null)[]): string {
  // A line of one empty field would be an empty line.
  const texts = fields.map((field) => (field === null ? '' : /^$|[",\r\n]/.test(field) ? quoted(field) : field));
  return `${texts.join(',')}\r\n`;
}

function quoted(field: string): string {
  return `"${field.replaceAll('"', '""')}"`;
}

/** A JSON array with an object on each line. */
async function printJson(result: DuckDBResult, to: Writable): Promise<void> {
  const names = result.deduplicatedColumnNames().map((name) => JSON.stringify(name));
  const line = (row: readonly DuckDBValue[]) =>
    `{${names.map((name, k) => `${name}:${jsonOf(row[k] ?? null)}`).join(',')}}`;
  let before = '[\n';
  for await (const piece of pieces(result)) {
    if (!(await write(to, before + piece.map(line).join(',\n')))) return;
    before = ',\n';
  }
  await write(to, before === '[\n' ? '[]\n' : '\n]\n');
}

async function* pieces(result: DuckDBResult): AsyncGenerator<DuckDBValue[][]> {
  for (let chunk = await result.fetchChunk(); chunk !== null && chunk.rowCount > 0; chunk = await result.fetchChunk())
    yield chunk.getRows();
}

/** Writes and waits until the stream takes more; false when its reader has left. */
async function write(to: Writable, text: string): Promise<boolean> {
  if (to.destroyed || to.errored !== null) return false;
  if (to.write(text)) return true;
  const gone = new AbortController();
  try {
    // A reader that leaves closes the stream: waiting for it to take more would never end.
    await Promise.race([once(to, 'drain', gone), once(to, 'close', gone)]);
  } catch {
    return false;
  } finally {
    gone.abort();
  }
  return !to.destroyed;
}
