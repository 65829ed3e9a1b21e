import { BadInput } from '../error.ts';
import { type GridDefinition, readGridDefinition } from './grid.ts';
import { type Packing, readPacking } from './packing.ts';
import { type Section, sectionError, signed, unsigned } from './section.ts';

/** Numbers of section 1. */
type Identification = Readonly<ReturnType<typeof readIdentification>>;

/** One field of a GRIB2 file: everything but its values, which stay packed until `decodeField`. */
export interface Field extends Identification, Product {
  readonly subject: string;
  /** Message of the file and field of the message, both from 1. */
  readonly message: number;
  readonly number_in_message: number;
  readonly discipline: number;
  readonly grid: GridDefinition;
  /** Number of values in section 7: grid points that the bitmap selects. */
  readonly packed_count: number;
  readonly packing: Packing;
  /** One bit per grid point, first point in the highest bit, 1 = has a value; null without a bitmap. */
  readonly bitmap: Uint8Array | null;
  readonly data: Section;
}

/** Real files hold a few hundred; a file of a million empty fields is an attack on memory. */
const MAX_FIELDS = 10_000;

/**
 * Every field of every message, headers only. Bytes between messages and after the last one are skipped.
 * Throws BadInput naming message and section when a length, an order or a number cannot be right.
 * Source: WMO Manual on Codes, FM 92 GRIB edition 2.
 */
export function parseGrib2(file: Uint8Array, subject: string): Field[] {
  // A plain view: slices of a Buffer would share the file's memory instead of copying.
  const bytes = new Uint8Array(file.buffer, file.byteOffset, file.length);
  const fields: Field[] = [];
  let message = 0;
  for (let at = findMessage(bytes); at >= 0; ) {
    message++;
    const indicator = { subject, message, number: 0, bytes: bytes.subarray(at, at + INDICATOR_BYTES) };
    const length = messageLength(indicator, bytes.subarray(at));
    readSections(indicator, bytes.subarray(at + INDICATOR_BYTES, at + length - END_BYTES), fields);
    at = findMessage(bytes, at + length);
  }
  if (message === 0) throw new BadInput('read', subject, `no GRIB message in ${bytes.length} bytes, expected GRIB2`);
  return fields;
}

/** Length of the message that `rest` begins with, checked against the bytes present. */
function messageLength(indicator: Section, rest: Uint8Array): number {
  const edition = unsigned(indicator, 8, 1);
  if (edition !== 2) throw sectionError(indicator, `edition ${edition}, expected 2`);
  unsigned(indicator, INDICATOR_BYTES, 1);
  const length = statedLength(indicator.bytes);
  if (length > rest.length)
    throw sectionError(indicator, `message of ${length} bytes, expected at most the ${rest.length} that are there`);
  if (length < INDICATOR_BYTES + END_BYTES || !isEndSection(rest.subarray(length - END_BYTES, length)))
    throw sectionError(indicator, `message of ${length} bytes does not end in 7777`);
  return length;
}

/** Which section may follow which; after the data the next field repeats from section 2, 3 or 4 and inherits the rest. */
const FOLLOWERS: readonly (readonly number[])[] = [[1], [2, 3], [3], [4], [5], [6], [7], [2, 3, 4]];

/** Adds the fields of a message, whose sections 1 to 7 are `bytes`. */
function readSections(indicator: Section, bytes: Uint8Array, fields: Field[]): void {
  const { subject, message } = indicator;
  const discipline = unsigned(indicator, 7, 1);
  let identification!: Identification;
  let grid!: GridDefinition;
  let product!: Product;
  let representation!: Section;
  let bitmap: Uint8Array | null = null;
  let last_bitmap: Uint8Array | null = null;
  let number_in_message = 0;
  let previous = indicator;
  for (let at = 0; at < bytes.length; at += previous.bytes.length) {
    const section = nextSection(bytes.subarray(at), previous);
    switch (section.number) {
      case 1:
        identification = readIdentification(section);
        break;
      case 3:
        grid = readGridDefinition(section);
        break;
      case 4:
        product = readProduct(section, identification.reference_time);
        break;
      case 5:
        representation = section;
        break;
      case 6:
        bitmap = readBitmap(section, last_bitmap, grid.points);
        last_bitmap = bitmap ?? last_bitmap;
        break;
      case 7: {
        if (fields.length === MAX_FIELDS) throw sectionError(section, `more than ${MAX_FIELDS} fields in the file`);
        const packed_count = valueCount(representation, bitmap, grid.points);
        const packing = readPacking(representation);
        const place = { subject, message, number_in_message: ++number_in_message, discipline };
        fields.push({ ...place, ...identification, ...product, grid, packed_count, packing, bitmap, data: section });
      }
    }
    previous = section;
  }
  if (previous.number !== 7)
    throw sectionError(previous, `message ends after it, expected section ${FOLLOWERS[previous.number]?.join(' or ')}`);
}

/** The section that `rest` begins with: its length and its place in the order are checked. */
function nextSection(rest: Uint8Array, previous: Section): Section {
  const { subject, message } = previous;
  const head: Section = { subject, message, number: rest[4] ?? 0, bytes: rest };
  const length = unsigned(head, 1, 4);
  const number = unsigned(head, 5, 1);
  const followers = FOLLOWERS[previous.number];
  if (!followers?.includes(number))
    throw sectionError(head, `comes after section ${previous.number}, expected ${followers?.join(' or ')}`);
  if (length < 5 || length > rest.length)
    throw sectionError(head, `${length} bytes long, expected 5 to ${rest.length}`);
  return { ...head, bytes: rest.subarray(0, length) };
}

/**
 * Centre, reference time with its seconds in epoch milliseconds, and production status (octet 20): 0 operational, 192 and
 * above local use.
 */
function readIdentification(section: Section) {
  const reference_time = readTime(section, 13);
  if (reference_time === null) throw sectionError(section, 'reference time is no date, expected one of the calendar');
  return { centre: unsigned(section, 6, 2), reference_time, production_status: unsigned(section, 20, 1) };
}

/** Bits of the bitmap that applies: this section's own, the last one of the message (indicator 254), or none (255). */
function readBitmap(section: Section, last: Uint8Array | null, points: number): Uint8Array | null {
  const indicator = unsigned(section, 6, 1);
  if (indicator === 255) return null;
  if (indicator !== 0 && indicator !== 254)
    throw sectionError(section, `bitmap indicator ${indicator}, expected 0, 254 or 255`);
  const bitmap = indicator === 0 ? section.bytes.subarray(6) : last;
  if (bitmap === null)
    throw sectionError(section, 'repeats the previous bitmap, expected a field with a bitmap before it');
  if (8 * bitmap.length < points)
    throw sectionError(section, `bitmap of ${bitmap.length} bytes, expected ${Math.ceil(points / 8)}`);
  return bitmap;
}

/** Number of packed values that section 5 states, checked against the grid. */
function valueCount(representation: Section, bitmap: Uint8Array | null, points: number): number {
  const count = unsigned(representation, 6, 4);
  if (bitmap === null ? count !== points : count > points)
    throw sectionError(representation, `${count} values for ${points} grid points`);
  return count;
}

/** Fixed surface of section 4; `value` is null when the table of surfaces gives none. */
export interface Surface {
  readonly type: number;
  readonly value: number | null;
}

/** Product definition (section 4): parameter, level and time of the values. */
interface Product {
  readonly product_template: number;
  readonly category: number;
  readonly number: number;
  /** The centre's number of the model that made the field (octet 14). */
  readonly generating_process: number;
  /** Time the values are for: of forecasts the reference time plus the lead, of sums and extremes the end of the interval. */
  readonly valid_time: number | null;
  /** Start of the interval of sums and extremes; of everything else the valid time. */
  readonly valid_from: number | null;
  /** Code table 4.10 of sums and extremes: 0 average, 1 sum, 2 maximum, 3 minimum; null for values of an instant. */
  readonly statistic: number | null;
  readonly surface: Surface | null;
  /** The other bound of a layer; null for a single level. */
  readonly second_surface: Surface | null;
}

/** Product templates whose time is the reference time plus a lead: values of an instant. */
const INSTANT_TEMPLATES = [0, 1, 2, 3, 4, 5, 6, 7, 15];
/** Product template of sums and extremes over an interval. */
const INTERVAL_TEMPLATE = 8;
/** Product templates up to this one have their surfaces at octets 23 and 29. */
const LAST_SURFACE_TEMPLATE = 15;

/** Reads section 4. Times are null for product templates whose time we do not read, and for leads in months or years. */
function readProduct(section: Section, reference_time: number): Product {
  const template = unsigned(section, 8, 2);
  const has_surfaces = template <= LAST_SURFACE_TEMPLATE;
  const second = has_surfaces ? readSurface(section, 29) : null;
  return {
    product_template: template,
    category: unsigned(section, 10, 1),
    number: unsigned(section, 11, 1),
    generating_process: unsigned(section, 14, 1),
    ...readTimes(section, template, reference_time),
    surface: has_surfaces ? readSurface(section, 23) : null,
    second_surface: second?.type === NO_SURFACE ? null : second,
  };
}

function readTimes(
  section: Section,
  template: number,
  reference_time: number,
): Pick<Product, 'valid_time' | 'valid_from' | 'statistic'> {
  if (template === INTERVAL_TEMPLATE)
    return {
      valid_time: readTime(section, 35),
      valid_from: readLead(section, reference_time),
      statistic: unsigned(section, 47, 1),
    };
  const valid_time = INSTANT_TEMPLATES.includes(template) ? readLead(section, reference_time) : null;
  return { valid_time, valid_from: valid_time, statistic: null };
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

/** The reference time plus the lead of octets 18 to 22. */
function readLead(section: Section, reference_time: number): number | null {
  const unit_ms = LEAD_UNIT_MS[unsigned(section, 18, 1)];
  const time_ms = unit_ms === undefined ? Number.NaN : reference_time + unit_ms * signed(section, 19, 4);
  return Math.abs(time_ms) < 8.64e15 ? time_ms : null;
}

/** Surface type of code table 4.5 that stands for no second surface. */
const NO_SURFACE = 255;

function readSurface(section: Section, octet: 23 | 29): Surface {
  const type = unsigned(section, octet, 1);
  const scale = signed(section, octet + 1, 1);
  const missing = unsigned(section, octet + 1, 1) === 0xff || unsigned(section, octet + 2, 4) === 0xffffffff;
  return { type, value: missing ? null : signed(section, octet + 2, 4) / 10 ** scale };
}

/** Octets of section 0, the indicator section that begins a message with `GRIB`. */
export const INDICATOR_BYTES = 16;
/** Octets of section 8, which ends a message with `7777`. */
export const END_BYTES = 4;

/** Index of the first `GRIB` from an index on; -1 without one. */
export function findMessage(bytes: Uint8Array, from = 0): number {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf('GRIB', from, 'latin1');
}

/** Length of the whole message in bytes, as octets 9 to 16 of its indicator section state it. */
export function statedLength(indicator: Uint8Array): number {
  const view = new DataView(indicator.buffer, indicator.byteOffset, INDICATOR_BYTES);
  return view.getUint32(8) * 2 ** 32 + view.getUint32(12);
}

export function isEndSection(bytes: Uint8Array): boolean {
  return bytes.length === END_BYTES && bytes.every((byte) => byte === 0x37);
}
