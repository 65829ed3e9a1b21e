import { crc32, deflateSync } from 'node:zlib';

/** Big-endian unsigned number as octets. */
export function octets(value: number, size: number): number[] {
  return Array.from({ length: size }, (_, k) => Math.floor(value / 256 ** (size - 1 - k)) % 256);
}

/** Signed number as GRIB2 writes it: sign bit and magnitude. */
export function signMagnitude(value: number, size: number): number[] {
  return octets(value < 0 ? 2 ** (8 * size - 1) - value : value, size);
}

function single(value: number): number[] {
  const word = new DataView(new ArrayBuffer(4));
  word.setFloat32(0, value);
  return [0, 1, 2, 3].map((k) => word.getUint8(k));
}

/** Numbers of the given widths, one after the other, padded to whole octets: the slow obvious way. */
function bitString(values: readonly (readonly [value: number, width: number])[]): number[] {
  const bits = values.map(([value, width]) => (width === 0 ? '' : value.toString(2).padStart(width, '0'))).join('');
  return (bits.match(/.{1,8}/g) ?? []).map((byte) => Number.parseInt(byte.padEnd(8, '0'), 2));
}

export function section(number: number, body: readonly number[]): number[] {
  return [...octets(body.length + 5, 4), number, ...body];
}

export interface GridOptions {
  readonly columns: number;
  readonly rows: number;
  /** Microdegrees of the first point and the steps. */
  readonly la1?: number;
  readonly lo1?: number;
  readonly step?: number;
  readonly scanning_mode?: number;
}

/** Section 3, template 3.0, with the last point that the scanning mode gives. By default a corner of the CONUS lattice. */
export function latLonSection(options: GridOptions): number[] {
  const { columns, rows, la1 = 54_995_000, lo1 = 230_005_000, step = 10_000, scanning_mode = 0 } = options;
  const la2 = la1 - ((scanning_mode & 0x40) === 0 ? step : -step) * (rows - 1);
  const lo2 = lo1 + ((scanning_mode & 0x80) === 0 ? step : -step) * (columns - 1);
  return section(3, [
    ...[0, ...octets(columns * rows, 4), 0, 0, 0, 0],
    ...[2, 0, ...octets(0, 4), 0, ...octets(0, 4), 0, ...octets(0, 4)],
    ...[...octets(columns, 4), ...octets(rows, 4), ...octets(0, 4), ...octets(0xffffffff, 4)],
    ...[...signMagnitude(la1, 4), ...signMagnitude(lo1, 4), 48, ...signMagnitude(la2, 4)],
    ...[...signMagnitude(lo2, 4), ...octets(step, 4), ...octets(step, 4), scanning_mode],
  ]);
}

interface Law {
  readonly reference?: number;
  readonly binary_scale?: number;
  readonly decimal_scale?: number;
}

/** Octets 12 to 21 of section 5, shared by all integer packings. */
function lawOctets({ reference = -30, binary_scale = 0, decimal_scale = 1 }: Law, bits: number): number[] {
  return [...single(reference), ...signMagnitude(binary_scale, 2), ...signMagnitude(decimal_scale, 2), bits, 0];
}

/** Sections 5 and 7 of a packed field. */
interface Packed {
  readonly representation: number[];
  readonly data: number[];
}

export function simplePacking(values: readonly number[], bits: number, law: Law = {}): Packed {
  // Large fields of whole octets need no strings.
  const packed = bits === 16 ? values.flatMap((value) => [value >> 8, value & 0xff]) : undefined;
  return {
    representation: section(5, [...octets(values.length, 4), 0, 0, ...lawOctets(law, bits)]),
    data: section(7, packed ?? bitString(values.map((value) => [value, bits]))),
  };
}

/** A constant field: every value is the reference, section 7 is empty, and 179 bytes stand for a grid of any size. */
export function constantPacking(count: number, law: Law): Packed {
  return { representation: section(5, [...octets(count, 4), 0, 0, ...lawOctets(law, 0)]), data: section(7, []) };
}

export function floatPacking(values: readonly number[]): Packed {
  return {
    representation: section(5, [...octets(values.length, 4), 0, 4, 1]),
    data: section(7, values.flatMap(single)),
  };
}

interface ComplexOptions {
  readonly order: 0 | 1 | 2;
  readonly missing_management?: 0 | 1 | 2;
  /** Values per group; the last group takes what is left. */
  readonly group_length: number;
  readonly law?: Law;
}

/** Value of a point without one: primary, or secondary where the management knows it. */
export const MISSING = null;
export const SECONDARY = 'secondary';
export type ComplexValue = number | typeof MISSING | typeof SECONDARY;

/** Templates 5.2 (order 0) and 5.3: differences over the points that have values, then groups of fixed length. */
export function complexPacking(values: readonly ComplexValue[], options: ComplexOptions): Packed {
  const { order, missing_management = 0, group_length, law = {} } = options;
  const present = values.filter((value) => typeof value === 'number');
  const steps = differences(present, order);
  const minimum = steps.slice(order).reduce((least, step) => Math.min(least, step), 0);
  const shifted = steps.map((step, k) => (k < order ? 0 : step - minimum));
  let next = 0;
  const packed = values.map((value) => (typeof value === 'number' ? shifted[next++] : value));
  const groups = Array.from({ length: Math.ceil(packed.length / group_length) }, (_, g) =>
    encodeGroup(packed.slice(g * group_length, (g + 1) * group_length), missing_management),
  );
  const bits = Math.max(...groups.map(({ reference }) => Math.ceil(Math.log2(reference + 3)))) + 1;
  const references = groups.map(({ reference, gone }) => [gone ? 2 ** bits - gone : reference, bits] as const);
  const width_bits = 6;
  const descriptor_octets = 4;
  const last = packed.length - (groups.length - 1) * group_length;
  const head = [present[0] ?? 0, ...(order === 2 ? [present[1] ?? 0] : []), minimum];
  return {
    representation: section(5, [
      ...octets(values.length, 4),
      ...[0, order === 0 ? 2 : 3],
      ...lawOctets(law, bits),
      ...[1, missing_management, ...octets(0, 4), ...octets(0, 4)],
      ...[...octets(groups.length, 4), 0, width_bits, ...octets(group_length, 4), 1, ...octets(last, 4), 0],
      ...(order === 0 ? [] : [order, descriptor_octets]),
    ]),
    data: section(7, [
      ...(order === 0 ? [] : head.flatMap((value) => signMagnitude(value, descriptor_octets))),
      ...bitString(references),
      ...bitString(groups.map(({ width }) => [width, width_bits])),
      ...bitString(groups.flatMap(({ width, offsets }) => offsets.map((offset) => [offset, width] as const))),
    ]),
  };
}

function differences(values: readonly number[], order: number): number[] {
  let result = [...values];
  for (let k = 0; k < order; k++) result = result.map((value, i) => (i <= k ? value : value - result[i - 1]));
  return result;
}

/** One group: `gone` is 1 when all of it is primary missing, 2 when secondary; both need no width. */
function encodeGroup(values: readonly ComplexValue[], management: number) {
  if (values.every((value) => value === MISSING))
    return { reference: 0, gone: 1, width: 0, offsets: values.map(() => 0) };
  if (values.every((value) => value === SECONDARY))
    return { reference: 0, gone: 2, width: 0, offsets: values.map(() => 0) };
  const present = values.filter((value) => typeof value === 'number');
  const reference = present.length === 0 ? 0 : Math.min(...present);
  const span = present.length === 0 ? 0 : Math.max(...present) - reference;
  const constant = span === 0 && present.length === values.length;
  const width = constant ? 0 : Math.ceil(Math.log2(span + 1 + management + 1));
  const offsets = values.map((value) => {
    if (value === MISSING) return 2 ** width - 1;
    return value === SECONDARY ? 2 ** width - 2 : value - reference;
  });
  return { reference, gone: 0, width, offsets };
}

/** A chunk of a PNG. */
export function pngChunk(type: string, body: Uint8Array): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), body]);
  return Buffer.concat([Buffer.from(octets(body.length, 4)), named, Buffer.from(octets(crc32(named), 4))]);
}

interface PngOptions {
  readonly columns: number;
  readonly rows: number;
  readonly bits: number;
  /** Row filters 0 to 4, repeated down the image. */
  readonly filters?: readonly number[];
  /** IDAT chunks the data are cut into. */
  readonly chunks?: number;
}

/** PNG of integers: grey up to 16 bits, RGB for 24, RGBA for 32. Filters as the specification words them. */
export function encodePng(
  values: readonly number[],
  { columns, rows, bits, filters = [0], chunks = 1 }: PngOptions,
): Buffer {
  const step = Math.max(1, bits / 8);
  const rowOf = (row: number) =>
    row < 0
      ? undefined
      : bitString(values.slice(row * columns, (row + 1) * columns).map((value) => [value, bits] as const));
  const body: number[] = [];
  for (let row = 0; row < rows; row++) {
    const filter = filters[row % filters.length];
    const bytes = rowOf(row) as number[];
    const above = rowOf(row - 1) ?? bytes.map(() => 0);
    body.push(filter);
    bytes.forEach((byte, i) => {
      const left = bytes[i - step] ?? 0;
      const up = above[i];
      const corner = i < step ? 0 : above[i - step];
      body.push((byte - prediction(filter, left, up, corner)) & 0xff);
    });
  }
  const colour = bits === 24 ? 2 : bits === 32 ? 6 : 0;
  const header = [...octets(columns, 4), ...octets(rows, 4), bits > 16 ? 8 : bits, colour, 0, 0, 0];
  const packed = deflateSync(Uint8Array.from(body));
  const size = Math.ceil(packed.length / chunks);
  const parts = Array.from({ length: chunks }, (_, k) => pngChunk('IDAT', packed.subarray(k * size, (k + 1) * size)));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    pngChunk('IHDR', Uint8Array.from(header)),
    ...parts,
    pngChunk('IEND', new Uint8Array(0)),
  ]);
}

function prediction(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return Math.floor((left + up) / 2);
  if (filter !== 4) return 0;
  const p = left + up - corner;
  const distances = [Math.abs(p - left), Math.abs(p - up), Math.abs(p - corner)] as const;
  if (distances[0] <= distances[1] && distances[0] <= distances[2]) return left;
  return distances[1] <= distances[2] ? up : corner;
}

export function pngPacking(values: readonly number[], options: PngOptions, law: Law = {}): Packed {
  return {
    representation: section(5, [...octets(values.length, 4), 0, 41, ...lawOctets(law, options.bits)]),
    data: section(7, [...encodePng(values, options)]),
  };
}

/** Section 6: a bitmap of ones and zeros, `previous` for indicator 254, or none. */
export function bitmapSection(bitmap: readonly (0 | 1)[] | 'previous' | null): number[] {
  if (bitmap === null) return section(6, [255]);
  return bitmap === 'previous' ? section(6, [254]) : section(6, [0, ...bitString(bitmap.map((bit) => [bit, 1]))]);
}

export interface ProductOptions {
  readonly discipline?: number;
  readonly category?: number;
  readonly number?: number;
  /** Year, month, day, hour, minute, second. */
  readonly time?: readonly [number, number, number, number, number, number];
  readonly production_status?: number;
  /** Of the US National Weather Service, the time being the start of a forecast; else an observation of MRMS. */
  readonly is_forecast?: boolean;
}

/** Year, month, day, hour, minute and second of an instant. */
export function clockOf(time_ms: number): [number, number, number, number, number, number] {
  const at = new Date(time_ms);
  const date = [at.getUTCFullYear(), at.getUTCMonth() + 1, at.getUTCDate()] as const;
  return [...date, at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()];
}

/** Section 4, template 4.0, on 500 m above sea level. */
export function productSection({ category = 3, number = 28 }: ProductOptions = {}): number[] {
  return section(4, [
    ...[0, 0, 0, 0, category, number, 8, 0, 97, 0, 0, 0, 0, ...octets(0, 4)],
    ...[102, 0, ...octets(500, 4), 255, 0, ...octets(0, 4)],
  ]);
}

/** A message: section 0 and 1, the given sections, 7777. */
export function message(sections: readonly (readonly number[])[], options: ProductOptions = {}): Buffer {
  const { discipline = 209, time = [2024, 5, 1, 20, 12, 34], production_status = 0, is_forecast } = options;
  const [year, ...rest] = time;
  const identification = section(1, [
    ...(is_forecast ? [0, 7, 0, 0, 2, 1, 1] : [0, 161, 0, 0, 1, 1, 3]),
    ...[...octets(year, 2), ...rest, production_status, is_forecast ? 1 : 0],
  ]);
  const body = [...identification, ...sections.flat()];
  const length = 16 + body.length + 4;
  return Buffer.from([
    ...[...Buffer.from('GRIB'), 0, 0, discipline, 2, ...octets(length, 8)],
    ...body,
    ...Buffer.from('7777'),
  ]);
}

/** A whole file of one field. MESH on the north-west corner of the lattice unless told otherwise. */
export function gribFile(
  packed: Packed,
  grid: GridOptions,
  product: ProductOptions = {},
  bitmap: Parameters<typeof bitmapSection>[0] = null,
): Buffer {
  return message(
    [latLonSection(grid), productSection(product), packed.representation, bitmapSection(bitmap), packed.data],
    product,
  );
}

/** Repeatable numbers from 0 to 1: a test that fails fails again. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
