import type { GridDefinition } from './grid.ts';
import type { Field } from './message.ts';
import { PACKING_TEMPLATES, type PackingLaw } from './packing.ts';
import { decodePng } from './png.ts';
import { sectionError } from './section.ts';
import { unpackComplex, unpackFloats, unpackSimple } from './unpack.ts';

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
