import { type RejectedRow, type Rejection, ROW_LIMITS } from '../../schemas/resources/portfolio-upload.ts';
import { decimal } from '../../schemas/units.ts';
import { shown } from '../http/decode.ts';
import { conusFault, hemisphereHint } from '../rules/conus-fault.ts';
import { meantName, unknownName } from '../server/validate.ts';
import type { CsvRow } from './csv.ts';
import type { LocationChange } from './locations.ts';

/** Fields that are read; `lng`: the row has a longitude under another name. */
const COLUMNS = ['id', 'name', 'lat', 'lon', 'address', 'tags', 'lng'] as const;

/** A row before its check. A field that is absent, or null, is undefined. */
export type FoundRow = { readonly [Name in (typeof COLUMNS)[number]]?: unknown } & {
  /** Why it is not a row; null for a row. */
  readonly fault: string | null;
};

/** A row that may be stored: `id` of the location it replaces, null for a new one; null address and tags were not given. */
export interface LocationRow extends LocationChange {
  readonly row_index: number;
}

/** Indices of the columns of a CSV; -1: missing. */
type CsvColumns = Readonly<Record<(typeof COLUMNS)[number], number>>;

const TAG_SEPARATOR = '|';

/** Columns by the header row of a CSV; or, as text, its fault. */
export function csvColumns(header: CsvRow): CsvColumns | string {
  if (header.fault !== null) return `has a malformed header row: ${header.fault}`;
  const names = header.cells.map((cell) => cell.trim().toLowerCase());
  const twice = COLUMNS.find((name) => names.indexOf(name) !== names.lastIndexOf(name));
  if (twice !== undefined) return `has two columns named ${twice}`;
  const missing = (['name', 'lat', 'lon'] as const).find((name) => !names.includes(name));
  if (missing !== undefined)
    return `has no column ${missing}${missing === 'lon' && names.includes('lng') ? ', use lon instead of lng' : ''}`;
  return Object.fromEntries(COLUMNS.map((name) => [name, names.indexOf(name)])) as CsvColumns;
}

/** Row of a CSV; `width` is the number of cells of its header. An empty id is none; cells are taken verbatim. */
export function rowOfCsv({ cells, fault }: CsvRow, columns: CsvColumns, width: number): FoundRow {
  const cell = (name: keyof CsvColumns) => (columns[name] < 0 ? undefined : cells[columns[name]]);
  const name = cell('name');
  if (fault !== null) return { fault, name };
  if (cells.length !== width) return { fault: `the row has ${cells.length} cells, expected ${width}`, name };
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
export function rowOfJson(value: unknown): FoundRow {
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
export function checkRow(found: FoundRow, row_index: number): LocationRow | RejectedRow {
  const { id, name, lat, lon, address, tags } = found;
  const rejected = (word: Rejection, detail: string): RejectedRow => ({
    row_index,
    name: typeof name === 'string' ? name : null,
    reason: `${word}: ${detail}`,
  });
  if (found.fault !== null) return rejected('malformed_row', found.fault);
  if (id !== undefined && typeof id !== 'string')
    return rejected('malformed_row', `id is ${kindOf(id)}, expected a text`);
  if (name !== undefined && typeof name !== 'string')
    return rejected('malformed_row', `name is ${kindOf(name)}, expected a text`);
  if (address !== undefined && typeof address !== 'string')
    return rejected('malformed_row', `address is ${kindOf(address)}, expected a text`);
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

/** True for a row that passed. */
export function isLocationRow(row: LocationRow | RejectedRow): row is LocationRow {
  return !('reason' in row);
}

/** A number where the text is one, else the text, to be shown. */
function numberCell(cell: string | undefined): number | string | undefined {
  return cell === undefined || cell === '' ? undefined : (decimal(cell) ?? cell);
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

/** True when a text has more characters (code points) than a limit. */
function longer(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  return text.length > 2 * limit || [...text].length > limit;
}

function kindOf(value: unknown): string {
  if (typeof value === 'string') return `'${shown(value)}'`;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value === null || value === undefined) return 'null';
  return Array.isArray(value) ? 'a list' : 'an object';
}
