import {
  type PortfolioUpload,
  type RejectedRow,
  type Rejection,
  ROW_LIMITS,
  UPLOAD_ROWS_MAX,
} from '../../schemas/resources/portfolio-upload.ts';
import { decimal } from '../../schemas/units.ts';
import { shown } from '../http/decode.ts';
import { ApiError } from '../http/errors.ts';
import { forEachInChunks } from '../http/event-loop.ts';
import { conusFault, hemisphereHint } from '../rules/region.ts';
import { meantName, unknownName } from '../server/validate.ts';

/** Rows per chunk, after which other requests run: about 0.1 ms, and 25 ms where every cell is as long and as quoted as allowed. */
const CHUNK = 25;

/** Fields that are read; `lng`: the row has a longitude under another name. */
const COLUMNS = ['id', 'name', 'lat', 'lon', 'address', 'tags', 'lng'] as const;

/** A row before its check. A field that is absent, or null, is undefined. */
type FoundRow = { readonly [Name in (typeof COLUMNS)[number]]?: unknown } & {
  /** Why it is not a row; null for a row. */
  readonly fault: string | null;
};

/** A row that may be stored: `id` of the location it replaces, null for a new one; null address and tags were not given. */
export interface LocationRow {
  readonly row_index: number;
  readonly id: string | null;
  readonly name: string;
  readonly lat: number;
  readonly lon: number;
  readonly address: string | null;
  readonly tags: readonly string[] | null;
}

const TAG_SEPARATOR = '|';

/**
 * Reads and checks the rows of an upload, each by itself; lets other requests run in between. CSV text without any line has no rows.
 * Throws `bad_request` for a header that is not valid, `payload_too_large` for too many rows.
 */
export async function checkUpload({ format, data }: PortfolioUpload): Promise<readonly (LocationRow | RejectedRow)[]> {
  const rows: (LocationRow | RejectedRow)[] = [];
  const found = format === 'json' ? data.values().map(rowOfJson) : rowsOfCsv(data);
  await forEachInChunks(found, CHUNK, (row, index) => {
    if (index === UPLOAD_ROWS_MAX)
      throw new ApiError('payload_too_large', `/data: more rows than the ${UPLOAD_ROWS_MAX} of one upload`);
    rows.push(checkRow(row, index));
  });
  return rows;
}

/** What sets cells apart, in the order in which it is tried; a first line such as `sep=;` says which. */
const SEPARATORS = [',', ';', '\t'];
const DECLARED = /^\uFEFF?sep=([^\r\n])(?:\r\n|\r|\n|$)/i;
const NEEDED = ['name', 'lat', 'lon'] as const;

/** Rows of a CSV text behind its header. A line without anything in its cells is no row. */
function* rowsOfCsv(text: string): Generator<FoundRow> {
  const [line = '', declared] = DECLARED.exec(text) ?? [];
  const rest = text.slice(line.length);
  const separators = declared === undefined ? SEPARATORS : [declared];
  const headers = separators.map((one) => ({ one, row: csvRows(rest, one).next().value as CsvRow | undefined }));
  const known = ({ row }: (typeof headers)[number]) => COLUMNS.filter((name) => namesIn(row).includes(name)).length;
  const [header] = headers.toSorted((a, b) => known(b) - known(a));
  if (header?.row === undefined) return;
  const { cells, fault } = header.row;
  const names = namesIn(header.row);
  const badHeader = (reason: string) => new ApiError('bad_request', `/data: ${reason}`);
  if (fault !== null) throw badHeader(`has a malformed header row: ${fault}`);
  const twice = COLUMNS.find((name) => names.indexOf(name) !== names.lastIndexOf(name));
  if (twice !== undefined) throw badHeader(`has two columns named ${twice}`);
  const missing = NEEDED.find((name) => !names.includes(name));
  const lng = missing === 'lon' && names.includes('lng') ? ', use lon instead of lng' : '';
  const alone = cells.length > 1 ? '' : ', cells are set apart by commas, semicolons or tabs';
  if (missing !== undefined) throw badHeader(`has no column ${missing}${lng}${alone}`);
  for (const row of csvRows(rest, header.one).drop(1))
    if (row.fault !== null || row.cells.some((cell) => cell.trim() !== '')) yield rowOfCsv(row, names);
}

function namesIn(header: CsvRow | undefined): string[] {
  return header?.cells.map((cell) => cell.trim().toLowerCase()) ?? [];
}

/** Row of a CSV by the names of its columns. An empty id is none; cells are taken verbatim but for blanks around numbers. */
function rowOfCsv({ cells, fault }: CsvRow, names: readonly string[]): FoundRow {
  const cell = (name: (typeof COLUMNS)[number]) => cells[names.indexOf(name)];
  const name = cell('name');
  if (fault !== null) return { fault, name };
  if (cells.length !== names.length)
    return { fault: `the row has ${cells.length} cells, expected ${names.length}`, name };
  return {
    fault: null,
    id: cell('id') === '' ? undefined : cell('id'),
    name,
    lat: numberCell(cell('lat')),
    lon: numberCell(cell('lon')),
    address: cell('address'),
    tags: cell('tags') === '' ? [] : cell('tags')?.split(TAG_SEPARATOR),
  };
}

/** Fields of a JSON row. Those that the service sets are ignored, so that a location of the list may be sent back. */
const ROW_FIELDS = COLUMNS.filter((name) => name !== 'lng');
const SET_BY_SERVICE = ['created_at', 'updated_at'];

/** Row of a JSON upload. */
function rowOfJson(value: unknown): FoundRow {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { fault: `the row is ${kindOf(value)}, expected an object` };
  const row: Partial<Record<(typeof COLUMNS)[number], unknown>> = value;
  const fields = Object.fromEntries(COLUMNS.map((name) => [name, row[name] ?? undefined]));
  const unknown = unknownName(value, [...COLUMNS, ...SET_BY_SERVICE]);
  if (unknown === null) return { fault: null, ...fields };
  const meant = meantName({ ...unknown, known: ROW_FIELDS });
  return { fault: `${shown(String(unknown.path[0]))} is not a field of a row${meant}`, ...fields };
}

/**
 * Checks one row by itself: the location it describes, or the first reason against it in the order of `REJECTIONS`.
 * Whether its id is known and whether the quota allows it is decided later, with the others.
 */
function checkRow(found: FoundRow, row_index: number): LocationRow | RejectedRow {
  const { id, name, lat, lon, address, tags } = found;
  const rejected = (word: Rejection, detail: string): RejectedRow => ({
    row_index,
    name: typeof name === 'string' ? name : null,
    reason: `${word}: ${detail}`,
  });
  if (found.fault !== null) return rejected('malformed_row', found.fault);
  if (!isTextOrAbsent(id)) return rejected('malformed_row', `id is ${kindOf(id)}, expected a text`);
  if (!isTextOrAbsent(name)) return rejected('malformed_row', `name is ${kindOf(name)}, expected a text`);
  if (!isTextOrAbsent(address)) return rejected('malformed_row', `address is ${kindOf(address)}, expected a text`);
  if (name === undefined || name.trim() === '') return rejected('missing_name', 'name is missing or blank');
  if (longer(name, ROW_LIMITS.name)) return rejected('name_too_long', `name is over ${ROW_LIMITS.name} characters`);
  const fault = coordinateFault('lat', lat, 90) ?? coordinateFault('lon', lon, 180);
  if (fault !== null || !isNumber(lat) || !isNumber(lon))
    return rejected('invalid_coordinates', `${fault}${hint(found)}`);
  const outside = conusFault(lat, lon);
  if (outside !== null) return rejected('outside_conus', outside);
  if (address !== undefined && longer(address, ROW_LIMITS.address))
    return rejected('address_too_long', `address is over ${ROW_LIMITS.address} characters`);
  const labels = readTags(tags);
  if (typeof labels === 'string') return rejected('invalid_tags', labels);
  return { row_index, id: id ?? null, name, lat, lon, address: address ?? null, tags: labels };
}

/** A number where the text is one, else the text, to be shown. */
function numberCell(cell = ''): number | string | undefined {
  return cell.trim() === '' ? undefined : (decimal(cell.trim()) ?? cell);
}

function isTextOrAbsent(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

function coordinateFault(name: string, value: unknown, limit_deg: number): string | null {
  if (value === undefined) return `${name} is missing`;
  const expected = `expected a number from -${limit_deg} to ${limit_deg}`;
  if (!isNumber(value)) return `${name} is ${kindOf(value)}, ${expected}`;
  return Math.abs(value) <= limit_deg ? null : `${name} is ${value}, ${expected}`;
}

/** Hint at the likely mistake; empty without one. */
function hint({ lat, lon, lng }: FoundRow): string {
  if (lon === undefined && lng !== undefined) return ', use lon instead of lng';
  return isNumber(lat) && isNumber(lon) ? hemisphereHint(lat, lon) : '';
}

/** Tags, null when not given; or, as text, their fault. */
function readTags(tags: unknown): readonly string[] | null | string {
  if (tags === undefined) return null;
  if (!Array.isArray(tags)) return `tags are ${kindOf(tags)}, expected a list of texts`;
  if (tags.length > ROW_LIMITS.tags) return `there are ${tags.length} tags, expected at most ${ROW_LIMITS.tags}`;
  const labels: string[] = [];
  for (const [index, tag] of tags.entries()) {
    if (typeof tag !== 'string') return `tag ${index} is ${kindOf(tag)}, expected a text`;
    if (tag === '') return `tag ${index} is empty`;
    if (longer(tag, ROW_LIMITS.tag)) return `tag ${index} is over ${ROW_LIMITS.tag} characters`;
    labels.push(tag);
  }
  return labels;
}

/** True when a text has more characters (code points of one or two UTF-16 units) than a limit. */
function longer(text: string, limit: number): boolean {
  return text.length > 2 * limit || (text.length > limit && [...text].length > limit);
}

function kindOf(value: unknown): string {
  if (typeof value === 'string') return `'${shown(value)}'`;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value === null || value === undefined) return 'null';
  return Array.isArray(value) ? 'a list' : 'an object';
}

/** Longest cell, UTF-16 units as written between its quotes. */
export const CELL_LIMIT = 65_536;
/** Most cells in a row: far more columns than anyone has, few enough to bound the work on one row. */
export const CELLS_MAX = 1_000;

const QUOTE = 34;
const NEWLINE = 10;
const RETURN = 13;

/** A line of a CSV text: its cells; or its fault and the cells before it. */
type CsvRow = Readonly<{ cells: readonly string[]; fault: string | null }>;

/**
 * Rows of a CSV text, one at a time: RFC 4180 with any separator and LF, CRLF or CR, quoted line ends, and an optional byte order mark.
 * Cells come verbatim. Empty lines are skipped. A row with a quote out of place or never closed, a cell over `CELL_LIMIT` or
 * more than `CELLS_MAX` of them has a `fault`; it ends at the next line end after that, and the rows behind it are read as
 * usual.
 *
 * Reads every character once or twice, whatever the text. csv-parse with bad rows skipped takes 20 s for a row of 64,000 quotes
 * and drops the good rows after a bad one.
 */
export function* csvRows(text: string, separator = ','): Generator<CsvRow> {
  const between = separator.charCodeAt(0);
  let at = text.startsWith('\uFEFF') ? 1 : 0;
  while (at < text.length) {
    const blank = lineEnd(text, at);
    if (blank > 0) {
      at += blank;
      continue;
    }
    const cells: string[] = [];
    let fault: string | null = null;
    for (;;) {
      const cell = text.charCodeAt(at) === QUOTE ? quotedCell(text, at, between) : plainCell(text, at, between);
      at = cell.end;
      fault = cell.fault ?? (cells.length === CELLS_MAX ? `the row has over ${CELLS_MAX} cells` : null);
      if (fault !== null) break;
      cells.push(cell.text);
      if (text.charCodeAt(at) !== between) break;
      at++;
    }
    if (fault !== null) at = nextLineEnd(text, at);
    at += lineEnd(text, at);
    yield { cells, fault };
  }
}

interface Cell {
  readonly text: string;
  /** Index after the cell: of a separator, a line end or the end of the text; of the fault if there is one. */
  readonly end: number;
  readonly fault: string | null;
}

const TOO_LONG = `a cell is over ${CELL_LIMIT} characters`;

function plainCell(text: string, start: number, between: number): Cell {
  for (let at = start; at <= start + CELL_LIMIT; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return { text: '', end: at, fault: 'a quote stands inside an unquoted cell' };
    if (Number.isNaN(code) || code === between || lineEnd(text, at) > 0)
      return { text: text.slice(start, at), end: at, fault: null };
  }
  return { text: '', end: start + CELL_LIMIT, fault: TOO_LONG };
}

function quotedCell(text: string, start: number, between: number): Cell {
  let escaped = false;
  const longest = start + 1 + CELL_LIMIT;
  let close = text.indexOf('"', start + 1);
  while (close >= 0 && close < longest && text.charCodeAt(close + 1) === QUOTE) {
    escaped = true;
    close = text.indexOf('"', close + 2);
  }
  if (close < 0) return { text: '', end: text.length, fault: 'a quote is never closed' };
  if (close > longest) return { text: '', end: longest, fault: TOO_LONG };
  const end = close + 1;
  const follows = end === text.length || text.charCodeAt(end) === between || lineEnd(text, end) > 0;
  if (!follows) return { text: '', end, fault: 'text stands behind a closing quote' };
  const content = text.slice(start + 1, close);
  return { text: escaped ? content.replaceAll('""', '"') : content, end, fault: null };
}

/** Length of the line end at an index, 0 where there is none. */
function lineEnd(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code === NEWLINE) return 1;
  if (code !== RETURN) return 0;
  return text.charCodeAt(at + 1) === NEWLINE ? 2 : 1;
}

const LINE_ENDS = /[\r\n]/g;

function nextLineEnd(text: string, at: number): number {
  LINE_ENDS.lastIndex = at;
  return LINE_ENDS.exec(text)?.index ?? text.length;
}
