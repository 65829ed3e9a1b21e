import type { GridDefinition } from './grid.ts';
import type { Field } from './message.ts';
import { type Groups, PACKING_TEMPLATES, type PackingLaw } from './packing.ts';
import { decodePng } from './png.ts';
import { type Section, sectionError, signed } from './section.ts';

/** Values of a field in file order, row by row: column i of row j is at j x columns + i. */
export interface Decoded extends PackingLaw {
  readonly columns: number;
  readonly rows: number;
  readonly packed: Uint8Array | Uint16Array | Uint32Array | Int32Array | Float32Array | Float64Array;
  /** 1 where a point has no value; null when every point has one. */
  readonly missing: Uint8Array | null;
}

/** Points of the full CONUS grid of MRMS, 3500 x 7000: the largest field that is decoded unless the caller allows more. */
export const MAX_POINTS = 24_500_000;

/** Law of a packing whose numbers are the values. */
const IDENTITY: PackingLaw = { reference: 0, binary_scale: 0, decimal_scale: 0 };

/**
 * Values of a field, still packed, in file order with rows one after the other. Column-wise and alternating files are
 * turned; south-first and east-first files are not.
 *
 * Throws BadInput when the data contradict the headers, when the packing is not supported, and, before memory
 * is allocated, when the grid has more than `max_points`.
 */
export function decodeField(field: Field, options: { readonly max_points?: number } = {}): Decoded {
  const { grid, packing, data } = field;
  const { max_points = MAX_POINTS } = options;
  if (grid.points > max_points)
    throw sectionError(data, `field of ${grid.points} points, expected at most ${max_points}`);
  const unpacked = unpack(field);
  const { packed, missing } = field.bitmap ? spreadOverBitmap(field, field.bitmap, unpacked) : unpacked;
  const { reference, binary_scale, decimal_scale } = 'reference' in packing ? packing : IDENTITY;
  return {
    columns: grid.columns,
    rows: grid.rows,
    reference,
    binary_scale,
    decimal_scale,
    packed: rowByRow(packed, grid),
    missing: missing && rowByRow(missing, grid),
  };
}

type Unpacked = Pick<Decoded, 'packed' | 'missing'>;

/** Packed numbers of section 7, by the template of section 5. */
function unpack({ data, packing, packed_count: count }: Field): Unpacked {
  if ('unsupported' in packing) {
    const known = Object.keys(PACKING_TEMPLATES).map((template) => `5.${template}`);
    const list = `${known.slice(0, -1).join(', ')} or ${known.at(-1)}`;
    throw sectionError(data, `packing template 5.${packing.template} is not supported, expected ${list}`);
  }
  if (packing.template === 4) return { packed: unpackFloats(data, packing.precision, count), missing: null };
  if ('groups' in packing && packing.groups.count > 0) return unpackComplex(data, packing.groups, packing.bits, count);
  if (packing.bits === 0 || 'groups' in packing) return { packed: constantField(data, count), missing: null };
  switch (packing.template) {
    case 0:
      return { packed: unpackSimple(data, packing.bits, count), missing: null };
    case 41:
      return { packed: decodePng(data, count), missing: null };
  }
}

/** Packed numbers of a constant field, of 0 bits or 0 groups: every value is the reference, and section 7 is empty. */
function constantField(data: Field['data'], count: number): Uint8Array {
  if (data.bytes.length > 5)
    throw sectionError(data, `${data.bytes.length - 5} bytes of values of a constant field, expected none`);
  return new Uint8Array(count);
}

/** Puts the values where the bitmap has ones; all other points are missing. */
function spreadOverBitmap({ grid, data }: Field, bitmap: Uint8Array, unpacked: Unpacked): Unpacked {
  const { packed, missing: gaps } = unpacked;
  const present = countOnes(bitmap, grid.points);
  if (present !== packed.length)
    throw sectionError(data, `${packed.length} values, expected ${present} as in the bitmap`);
  if (present === grid.points) return unpacked;
  const spread = sameKind(packed, grid.points);
  const missing = new Uint8Array(grid.points);
  let next = 0;
  for (let i = 0; i < grid.points; i++) {
    if (!hasValue(bitmap, i)) missing[i] = 1;
    else {
      missing[i] = gaps?.[next] ?? 0;
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

/**
 * Value of each point by its index (row x columns + column, file order); NaN where it is missing.
 * Dividing by a power of ten keeps tenths exact: 3 / 10, never 3 x 0.1.
 */
export function valueReader(decoded: PackingLaw & Unpacked): (index: number) => number {
  const { packed, missing, reference, binary_scale, decimal_scale } = decoded;
  // The powers are computed once: the reader runs for every point of a grid.
  const factor = 2 ** binary_scale;
  const [times, divisor] = decimal_scale >= 0 ? [1, 10 ** decimal_scale] : [10 ** -decimal_scale, 1];
  return (index) => (missing?.[index] === 1 ? Number.NaN : ((reference + packed[index] * factor) * times) / divisor);
}

interface Cursor {
  readonly bytes: Uint8Array;
  bit: number;
}

/** Reads the next `width` bits (0 to 32) as an unsigned integer; the caller has checked that they exist. */
function take(cursor: Cursor, width: number): number {
  const { bytes } = cursor;
  let at = cursor.bit >> 3;
  const skip = cursor.bit & 7;
  cursor.bit += width;
  if (width + skip <= 24) {
    const word = (bytes[at] << 16) | (bytes[at + 1] << 8) | bytes[at + 2];
    return (word >> (24 - skip - width)) & ((1 << width) - 1);
  }
  let value = bytes[at] & (0xff >> skip);
  let left = width + skip - 8;
  for (; left >= 8; left -= 8) value = value * 256 + bytes[++at];
  return left > 0 ? value * 2 ** left + (bytes[++at] >> (8 - left)) : value;
}

/**
 * Integers of simple packing (template 5.0): `count` numbers of `bits` bits, one after the other, in section 7.
 * Source: WMO Manual on Codes, data template 7.0.
 */
function unpackSimple(data: Section, bits: number, count: number): Uint8Array | Uint16Array | Uint32Array {
  const bytes = data.bytes.subarray(5);
  const needed = Math.ceil((count * bits) / 8);
  if (bytes.length !== needed)
    throw sectionError(data, `${bytes.length} bytes of values, expected ${needed} for ${count} values of ${bits} bits`);
  if (bits === 8) return bytes.slice(0, count);
  const packed = bits < 8 ? new Uint8Array(count) : bits <= 16 ? new Uint16Array(count) : new Uint32Array(count);
  if (bits === 0) return packed;
  const cursor = { bytes, bit: 0 };
  for (let i = 0; i < count; i++) packed[i] = take(cursor, bits);
  return packed;
}

/** IEEE floats of template 5.4: `precision` 1 is 32 bits, 2 is 64. */
function unpackFloats(data: Section, precision: number, count: number): Float32Array | Float64Array {
  const octets = precision === 1 ? 4 : 8;
  const { bytes } = data;
  if (bytes.length - 5 !== count * octets)
    throw sectionError(data, `${bytes.length - 5} bytes of values, expected ${count * octets} for ${count} floats`);
  const view = new DataView(bytes.buffer, bytes.byteOffset + 5);
  const values = precision === 1 ? new Float32Array(count) : new Float64Array(count);
  for (let i = 0; i < count; i++) values[i] = precision === 1 ? view.getFloat32(4 * i) : view.getFloat64(8 * i);
  return values;
}

/**
 * Integers of complex packing (templates 5.2 and 5.3): groups with their own reference, width and length, and with
 * spatial differences of order 1 or 2 on top in 5.3.
 *
 * The three group tables are read in parallel with the values, never stored, so memory depends on `count` alone.
 * Throws BadInput when tables and values do not end with section 7, when the groups do not hold `count` values, or when a
 * value leaves 32 bits. Source: WMO Manual on Codes, data templates 7.2 and 7.3.
 */
function unpackComplex(data: Section, groups: Groups, bits: number, count: number) {
  if (groups.count > count)
    throw sectionError(data, `${groups.count} groups, expected at most one per value, ${count}`);
  const differences = readDescriptors(data, groups);
  const bytes = data.bytes.subarray(differences.end);
  const references: Cursor = { bytes, bit: 0 };
  const widths: Cursor = { bytes, bit: wholeBytes(groups.count * bits) };
  const lengths: Cursor = { bytes, bit: widths.bit + wholeBytes(groups.count * groups.width_bits) };
  const values: Cursor = { bytes, bit: lengths.bit + wholeBytes(groups.count * groups.length_bits) };
  const available = 8 * bytes.length;
  const bad = (reason: string) => sectionError(data, reason);
  if (values.bit > available)
    throw bad(`${bytes.length} bytes, expected ${values.bit / 8} for the tables of ${groups.count} groups`);

  const packed = new Int32Array(count);
  const missing = groups.missing_management === 0 ? null : new Uint8Array(count);
  let at = 0;
  for (let group = 0; group < groups.count; group++) {
    const reference = take(references, bits);
    const width = groups.reference_width + take(widths, groups.width_bits);
    const scaled = take(lengths, groups.length_bits);
    const length =
      group === groups.count - 1 ? groups.last_length : groups.reference_length + groups.length_increment * scaled;
    if (at + length > count) throw sectionError(data, `groups hold more than ${count} values`);
    if (width > 32) throw sectionError(data, `group ${group} has values of ${width} bits, expected at most 32`);
    if (values.bit + width * length > available) throw bad(`values of group ${group} reach beyond the section`);
    if (width === 0) {
      const is_missing = missing !== null && isMissing(reference, bits, groups.missing_management);
      if (is_missing) missing.fill(1, at, at + length);
      else if (reference > 0x7fffffff) throw tooLarge(data, reference);
      else packed.fill(reference, at, at + length);
      at += length;
      continue;
    }
    for (const end = at + length; at < end; at++) {
      const value = take(values, width);
      if (missing !== null && isMissing(value, width, groups.missing_management)) missing[at] = 1;
      else if (reference + value > 0x7fffffff) throw tooLarge(data, reference + value);
      else packed[at] = reference + value;
    }
  }
  if (at !== count) throw sectionError(data, `groups hold ${at} values, expected ${count}`);
  if (wholeBytes(values.bit) !== available)
    throw bad(`values of the groups end at byte ${wholeBytes(values.bit) / 8}, expected ${available / 8}`);
  if (groups.order > 0) undoDifferences(data, packed, missing, groups.order, differences);
  return { packed, missing };
}

function wholeBytes(bits: number): number {
  return 8 * Math.ceil(bits / 8);
}

/** All ones is the primary missing value, one less the secondary. */
function isMissing(value: number, bits: number, management: number): boolean {
  const ones = 2 ** bits - 1;
  return value === ones || (management === 2 && value === ones - 1);
}

/**
 * First values and the smallest difference, which stand before the groups in 5.3; `end` is the number of bytes of section 7
 * up to the group tables.
 */
function readDescriptors(data: Section, { order, descriptor_octets }: Groups) {
  const at = (index: number) =>
    descriptor_octets === 0 ? 0 : signed(data, 6 + index * descriptor_octets, descriptor_octets);
  if (order === 0) return { first: 0, second: 0, minimum: 0, end: 5 };
  const end = 5 + (order + 1) * descriptor_octets;
  return { first: at(0), second: order === 2 ? at(1) : 0, minimum: at(order), end };
}

/** Sums differences back to values, in place; missing points take no part. */
function undoDifferences(
  data: Section,
  packed: Int32Array,
  missing: Uint8Array | null,
  order: number,
  { first, second, minimum }: ReturnType<typeof readDescriptors>,
): void {
  let seen = 0;
  let last = 0;
  let step = 0;
  for (let i = 0; i < packed.length; i++) {
    if (missing !== null && missing[i] === 1) continue;
    if (seen === 0) last = first;
    else if (seen === 1 && order === 2) {
      step = second - first;
      last = second;
    } else {
      const difference = packed[i] + minimum;
      step = order === 2 ? step + difference : difference;
      last += step;
    }
    if (last !== (last | 0)) throw tooLarge(data, last);
    packed[i] = last;
    seen++;
  }
}

function tooLarge(data: Section, value: number) {
  return sectionError(data, `packed value ${value}, expected at most 31 bits`);
}
