import { LATTICE } from '../../schemas/geo/lattice.ts';
import { BadInput } from '../error.ts';
import { decodeJpeg2000 } from './jpeg2000.ts';
import { type Groups, readGroups, unpackComplex, unpackFloats, unpackSimple } from './packing.ts';
import { decodePng } from './png.ts';
import { type GridDefinition, readGridDefinition } from './projection.ts';
import { float32, refuse, type Section, signed, unsigned } from './section.ts';

/** value = (reference + packed x 2^binary_scale) / 10^decimal_scale. */
export interface PackingLaw {
  readonly reference: number;
  readonly binary_scale: number;
  readonly decimal_scale: number;
}

/** How the values of a field are packed (section 5). */
export type Packing =
  | (PackingLaw & { readonly template: 0 | 40 | 41; readonly bits: number })
  | (PackingLaw & { readonly template: 2 | 3; readonly bits: number; readonly groups: Groups })
  | { readonly template: 4; readonly precision: number }
  | { readonly template: number; readonly unsupported: true };

/** Fixed surface of section 4; `value` is null when the table of surfaces gives none. */
export interface Surface {
  readonly type: number;
  readonly value: number | null;
}

/** One field of a GRIB2 file: everything but its values, which stay packed until `decodeField`. */
export interface Field {
  readonly subject: string;
  /** Message of the file and field of the message, both from 1. */
  readonly message: number;
  readonly number_in_message: number;
  readonly discipline: number;
  readonly centre: number;
  /** Reference time of section 1 with its seconds, epoch milliseconds. */
  readonly reference_time: number;
  /** Section 1 octet 20: 0 operational, 192 and above local use. */
  readonly production_status: number;
  readonly product_template: number;
  /** Time the values are for: of forecasts the reference time plus the lead, of sums and extremes the end of the interval. */
  readonly valid_time: number | null;
  /** Start of the interval of sums and extremes; of everything else the valid time. */
  readonly valid_from: number | null;
  /** Code table 4.10 of sums and extremes: 0 average, 1 sum, 2 maximum, 3 minimum; null for values of an instant. */
  readonly statistic: number | null;
  /** The centre's number of the model that made the field (section 4, octet 14). */
  readonly generating_process: number;
  readonly category: number;
  readonly number: number;
  readonly surface: Surface | null;
  /** The other bound of a layer; null for a single level. */
  readonly second_surface: Surface | null;
  readonly grid: GridDefinition;
  /** Values in section 7: points of the grid without those the bitmap leaves out. */
  readonly packed_count: number;
  readonly packing: Packing;
  /** One bit per grid point, first point in the highest bit, 1 = has a value; null without a bitmap. */
  readonly bitmap: Uint8Array | null;
  readonly data: Section;
}

/** Values of a field in file order, row by row: column i of row j is at j x columns + i. */
export interface Decoded extends PackingLaw {
  readonly columns: number;
  readonly rows: number;
  readonly packed: Uint8Array | Uint16Array | Uint32Array | Int32Array | Float32Array | Float64Array;
  /** 1 where a point has no value; null when every point has one. */
  readonly missing: Uint8Array | null;
}

/** A field of more points than the largest grid we know, the CONUS lattice, is refused before memory is taken for it. */
export const MAX_POINTS = LATTICE.rows * LATTICE.cols;

/** Real files hold a few hundred; a file of a million empty fields is an attack on memory. */
const MAX_FIELDS = 10_000;

/**
 * Every field of every message, headers only. Bytes between messages and behind the last one are skipped.
 * Throws BadInput naming message and section when a length, an order or a number cannot be right.
 * Source: WMO Manual on Codes, FM 92 GRIB edition 2.
 */
export function parseGrib2(file: Uint8Array, subject: string): Field[] {
  // A plain view: slices of a Buffer would share the file's memory instead of copying.
  const bytes = new Uint8Array(file.buffer, file.byteOffset, file.length);
  const fields: Field[] = [];
  let message = 0;
  for (let at = findMessage(bytes, 0); at >= 0; ) {
    message++;
    const length = readIndicator(bytes, at, subject, message);
    readMessage(bytes.subarray(at, at + length), subject, message, fields);
    at = findMessage(bytes, at + length);
  }
  if (message === 0) throw new BadInput('read', subject, `no GRIB message in ${bytes.length} bytes, expected GRIB2`);
  return fields;
}

function findMessage(bytes: Uint8Array, from: number): number {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf('GRIB', from, 'latin1');
}

/** Length of the message that begins at `at`, checked against the bytes that are there. */
function readIndicator(bytes: Uint8Array, at: number, subject: string, message: number): number {
  const section: Section = { subject, message, number: 0, bytes: bytes.subarray(at, at + 16) };
  const edition = unsigned(section, 8, 1);
  if (edition !== 2) throw refuse(section, `edition ${edition}, expected 2`);
  const length = unsigned(section, 9, 4) * 2 ** 32 + unsigned(section, 13, 4);
  const present = bytes.length - at;
  if (length > present)
    throw refuse(section, `message of ${length} bytes, expected at most the ${present} that are there`);
  const end = String.fromCharCode(...bytes.subarray(at + length - 4, at + length));
  if (length < 20 || end !== '7777') throw refuse(section, `message of ${length} bytes does not end in 7777`);
  return length;
}

/** Which section may follow which; after the data the next field repeats from section 2, 3 or 4 and inherits the rest. */
const FOLLOWERS: Readonly<Record<number, readonly number[]>> = {
  0: [1],
  1: [2, 3],
  2: [3],
  3: [4],
  4: [5],
  5: [6],
  6: [7],
  7: [2, 3, 4],
};

function readMessage(bytes: Uint8Array, subject: string, message: number, fields: Field[]): void {
  const open = new Map<number, Section>();
  const end = bytes.length - 4;
  let previous: Section = { subject, message, number: 0, bytes: bytes.subarray(0, 16) };
  let bitmap: Uint8Array | null = null;
  let lastBitmap: Uint8Array | null = null;
  let inMessage = 0;
  for (let at = 16; at < end; at += previous.bytes.length) {
    const section = readSection(bytes.subarray(at, end), previous);
    open.set(section.number, section);
    if (section.number === 6) {
      bitmap = readBitmap(section, lastBitmap);
      lastBitmap = bitmap ?? lastBitmap;
    }
    if (section.number === 7) {
      if (fields.length === MAX_FIELDS) throw refuse(section, `more than ${MAX_FIELDS} fields in the file`);
      inMessage++;
      fields.push(readField(open, bytes[6], bitmap, inMessage));
    }
    previous = section;
  }
  if (previous.number !== 7)
    throw refuse(previous, `message ends after it, expected section ${FOLLOWERS[previous.number]?.join(' or ')}`);
}

function readSection(rest: Uint8Array, previous: Section): Section {
  const { subject, message } = previous;
  const head: Section = { subject, message, number: rest[4] ?? 0, bytes: rest };
  const length = unsigned(head, 1, 4);
  const number = unsigned(head, 5, 1);
  if (!FOLLOWERS[previous.number]?.includes(number))
    throw refuse(head, `comes after section ${previous.number}, expected ${FOLLOWERS[previous.number]?.join(' or ')}`);
  if (length < 5 || length > rest.length) throw refuse(head, `${length} bytes long, expected 5 to ${rest.length}`);
  return { ...head, bytes: rest.subarray(0, length) };
}

/** Bits of the bitmap that applies: this section's own, the last one of the message (indicator 254), or none (255). */
function readBitmap(section: Section, last: Uint8Array | null): Uint8Array | null {
  const indicator = unsigned(section, 6, 1);
  if (indicator === 0) return section.bytes.subarray(6);
  if (indicator === 255) return null;
  if (indicator !== 254) throw refuse(section, `bitmap indicator ${indicator}, expected 0, 254 or 255`);
  if (last === null) throw refuse(section, 'repeats the previous bitmap, expected a field with a bitmap before it');
  return last;
}

function readField(
  sections: ReadonlyMap<number, Section>,
  discipline: number,
  bitmap: Uint8Array | null,
  number_in_message: number,
): Field {
  const [identification, gridSection, product, representation, bitmapSection, data] = [1, 3, 4, 5, 6, 7].map(
    (number) => sections.get(number) as Section,
  ) as [Section, Section, Section, Section, Section, Section];
  const grid = readGridDefinition(gridSection);
  if (bitmap !== null && 8 * bitmap.length < grid.points)
    throw refuse(bitmapSection, `bitmap of ${bitmap.length} bytes, expected ${Math.ceil(grid.points / 8)}`);
  const packed_count = unsigned(representation, 6, 4);
  if (bitmap === null ? packed_count !== grid.points : packed_count > grid.points)
    throw refuse(representation, `${packed_count} values for ${grid.points} grid points`);
  const reference_time = readTime(identification, 13);
  if (reference_time === null) throw refuse(identification, 'reference time is no date, expected one of the calendar');
  return {
    subject: data.subject,
    message: data.message,
    number_in_message,
    discipline,
    centre: unsigned(identification, 6, 2),
    reference_time,
    ...readTimes(product, reference_time),
    generating_process: unsigned(product, 14, 1),
    production_status: unsigned(identification, 20, 1),
    product_template: unsigned(product, 8, 2),
    category: unsigned(product, 10, 1),
    number: unsigned(product, 11, 1),
    surface: readSurface(product, 23),
    second_surface: readSecondSurface(product),
    grid,
    packed_count,
    packing: readPacking(representation),
    bitmap,
    data,
  };
}

/** Seven octets of year, month, day, hour, minute and second; null when the calendar has no such instant. */
function readTime(section: Section, octet: number): number | null {
  const parts = [2, 3, 4, 5, 6].map((offset) => unsigned(section, octet + offset, 1));
  const two = parts.map((part) => String(part).padStart(2, '0'));
  const text = `${String(unsigned(section, octet, 2)).padStart(4, '0')}-${two[0]}-${two[1]}T${two.slice(2).join(':')}`;
  const time_ms = Date.parse(`${text}Z`);
  return Number.isNaN(time_ms) || new Date(time_ms).toISOString().slice(0, 19) !== text ? null : time_ms;
}

/** Milliseconds of the units of code table 4.4 that are of fixed length. */
const LEAD_UNIT_MS: Readonly<Record<number, number>> = {
  0: 60_000,
  1: 3_600_000,
  2: 86_400_000,
  10: 3 * 3_600_000,
  11: 6 * 3_600_000,
  12: 12 * 3_600_000,
  13: 1000,
};

/** Product template of sums and extremes over an interval. */
const INTERVAL_TEMPLATE = 8;

/** Times are null for product templates whose time we do not read, and for leads in months or years. */
function readTimes(section: Section, reference_time: number): Pick<Field, 'valid_time' | 'valid_from' | 'statistic'> {
  const template = unsigned(section, 8, 2);
  if (template === INTERVAL_TEMPLATE)
    return {
      valid_time: readTime(section, 35),
      valid_from: readLead(section, reference_time),
      statistic: unsigned(section, 47, 1),
    };
  const valid_time = template <= 7 || template === 15 ? readLead(section, reference_time) : null;
  return { valid_time, valid_from: valid_time, statistic: null };
}

/** The reference time plus the lead of octets 18 to 22. */
function readLead(section: Section, reference_time: number): number | null {
  const unit_ms = LEAD_UNIT_MS[unsigned(section, 18, 1)];
  const time_ms = unit_ms === undefined ? Number.NaN : reference_time + unit_ms * signed(section, 19, 4);
  return Math.abs(time_ms) < 8.64e15 ? time_ms : null;
}

/** First fixed surface at octet 23, the second at octet 29; only product templates 4.0 to 4.15 have them there. */
function readSurface(section: Section, octet: 23 | 29): Surface | null {
  if (unsigned(section, 8, 2) > 15) return null;
  const type = unsigned(section, octet, 1);
  const scale = signed(section, octet + 1, 1);
  const missing = unsigned(section, octet + 1, 1) === 0xff || unsigned(section, octet + 2, 4) === 0xffffffff;
  return { type, value: missing ? null : signed(section, octet + 2, 4) / 10 ** scale };
}

/** Null where section 4 says that there is none: surface type 255. */
function readSecondSurface(section: Section): Surface | null {
  const surface = readSurface(section, 29);
  return surface?.type === 255 ? null : surface;
}

/** Length of section 5 by its template: the wrong template reads other numbers from the same octets. */
const TEMPLATE_BYTES: Readonly<Record<number, number>> = { 0: 21, 2: 47, 3: 49, 4: 12, 40: 23, 41: 21 };

function readPacking(section: Section): Packing {
  const template = unsigned(section, 10, 2);
  const { length } = section.bytes;
  const expected = TEMPLATE_BYTES[template] ?? length;
  if (length !== expected) throw refuse(section, `${length} bytes of template 5.${template}, expected ${expected}`);
  if (template === 4) {
    const precision = unsigned(section, 12, 1);
    if (precision !== 1 && precision !== 2) throw refuse(section, `float precision ${precision}, expected 1 or 2`);
    return { template, precision };
  }
  if (template !== 0 && template !== 2 && template !== 3 && template !== 40 && template !== 41)
    return { template, unsupported: true };
  const law = {
    reference: float32(section, 12),
    binary_scale: scaleFactor(section, 'binary', 16),
    decimal_scale: scaleFactor(section, 'decimal', 18),
  };
  const bits = unsigned(section, 20, 1);
  if (bits > 32) throw refuse(section, `values of ${bits} bits, expected 0 to 32`);
  if (template === 2 || template === 3) return { template, ...law, bits, groups: readGroups(section, template) };
  return { template, ...law, bits };
}

/** Beyond these no number of any known product lies, and values would leave the range of floats. */
function scaleFactor(section: Section, name: string, octet: number): number {
  const value = signed(section, octet, 2);
  if (Math.abs(value) > 64) throw refuse(section, `${name} scale factor ${value}, expected -64 to 64`);
  return value;
}

/**
 * Values of a field, still packed, in file order with rows one after the other (column-wise and alternating files are
 * turned; south-first and east-first files are not). Throws BadInput when the data do not hold what the headers say,
 * or when the packing is one we do not read.
 */
export function decodeField(field: Field): Decoded {
  return decodeFieldUpTo(field, MAX_POINTS);
}

/** The same for grids of at most `max_points`; larger ones are refused before memory is allocated. */
export function decodeFieldUpTo(field: Field, max_points: number): Decoded {
  const { grid, packing, data } = field;
  if (grid.points > max_points) throw refuse(data, `field of ${grid.points} points, expected at most ${max_points}`);
  const { packed, missing } = unpack(field, packing);
  const spread = field.bitmap ? spreadOverBitmap(field, field.bitmap, packed, missing) : { packed, missing };
  const law = 'reference' in packing ? packing : { reference: 0, binary_scale: 0, decimal_scale: 0 };
  return {
    columns: grid.columns,
    rows: grid.rows,
    reference: law.reference,
    binary_scale: law.binary_scale,
    decimal_scale: law.decimal_scale,
    packed: rowByRow(spread.packed, grid),
    missing: spread.missing && rowByRow(spread.missing, grid),
  };
}

type Unpacked = Pick<Decoded, 'packed' | 'missing'>;

function unpack({ data, packed_count: count }: Field, packing: Packing): Unpacked {
  if ('unsupported' in packing)
    throw refuse(
      data,
      `packing template 5.${packing.template} is not supported, expected 5.0, 5.2, 5.3, 5.4, 5.40 or 5.41`,
    );
  if ('precision' in packing) return { packed: unpackFloats(data, packing.precision, count), missing: null };
  if ('groups' in packing) return unpackComplex(data, packing.groups, packing.bits, count);
  if (packing.bits === 0) {
    // A constant field: every value is the reference, and section 7 is empty.
    if (data.bytes.length > 5) throw refuse(data, `${data.bytes.length - 5} bytes of values of 0 bits, expected none`);
    return { packed: new Uint8Array(count), missing: null };
  }
  if (packing.template === 0) return { packed: unpackSimple(data, packing.bits, count), missing: null };
  if (packing.template === 40) return { packed: decodeJpeg2000(data, count), missing: null };
  return { packed: decodePng(data, count), missing: null };
}

/** Puts the values where the bitmap has ones; all other points are missing. */
function spreadOverBitmap(
  { grid, data }: Field,
  bitmap: Uint8Array,
  packed: Decoded['packed'],
  gone: Uint8Array | null,
): Unpacked {
  const present = countOnes(bitmap, grid.points);
  if (present !== packed.length) throw refuse(data, `${packed.length} values, expected ${present} as in the bitmap`);
  if (present === grid.points) return { packed, missing: gone };
  const spread = sameKind(packed, grid.points);
  const missing = new Uint8Array(grid.points);
  let next = 0;
  for (let i = 0; i < grid.points; i++) {
    if (!hasValue(bitmap, i)) missing[i] = 1;
    else {
      missing[i] = gone?.[next] ?? 0;
      spread[i] = packed[next++];
    }
  }
  return { packed: spread, missing };
}

function hasValue(bitmap: Uint8Array, point: number): boolean {
  return (bitmap[point >> 3] & (0x80 >> (point & 7))) !== 0;
}

function countOnes(bitmap: Uint8Array, points: number): number {
  let ones = 0;
  for (let i = 0; i < points; i++) if (hasValue(bitmap, i)) ones++;
  return ones;
}

function sameKind<A extends Decoded['packed']>(array: A, length: number): A {
  return new (array.constructor as new (length: number) => A)(length);
}

const COLUMN_WISE = 0x20;
const ALTERNATING = 0x10;

/** Turns column-wise files (scanning mode bit 3) and rows that run back and forth (bit 4) into plain rows. */
function rowByRow<A extends Decoded['packed']>(values: A, { columns, rows, scanning_mode }: GridDefinition): A {
  if ((scanning_mode & (COLUMN_WISE | ALTERNATING)) === 0) return values;
  const columnWise = (scanning_mode & COLUMN_WISE) !== 0;
  const [lines, length] = columnWise ? [columns, rows] : [rows, columns];
  const turned = sameKind(values, values.length);
  for (let line = 0; line < lines; line++)
    for (let k = 0; k < length; k++) {
      const along = (scanning_mode & ALTERNATING) !== 0 && line % 2 === 1 ? length - 1 - k : k;
      turned[columnWise ? along * columns + line : line * columns + along] = values[line * length + k];
    }
  return turned;
}

/** Value of the point at an index (row x columns + column, file order); NaN when it is missing. */
export function valueAt(decoded: Decoded, index: number): number {
  if (decoded.missing?.[index] === 1) return Number.NaN;
  return unpackedValue(decoded, decoded.packed[index]);
}

/** Value of a packed number. Dividing by a power of ten keeps tenths exact: 3 / 10, never 3 x 0.1. */
export function unpackedValue(law: PackingLaw, packed: number): number {
  const scaled = law.reference + packed * 2 ** law.binary_scale;
  return law.decimal_scale >= 0 ? scaled / 10 ** law.decimal_scale : scaled * 10 ** -law.decimal_scale;
}
