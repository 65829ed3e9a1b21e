import { constants, crc32, deflateSync } from 'node:zlib';
import { LATTICE, type Window } from '../../schemas/geo/lattice.ts';
import { MISSING, type SimulatedProduct, type SimulatedScan } from './fields.ts';

/** Octets that differ by product. `no_coverage` and `missing` (covered, dry): values in steps of 10^-decimal_scale. */
const TENTHS = { generating_process: 97, decimal_scale: 1, no_coverage: -30, missing: -10 };
const THOUSANDTHS = { generating_process: 100, decimal_scale: 3, no_coverage: -3000, missing: -1000 };
/** Parameter numbers: MRMS GRIB2 table v12.2. Scales: as in real files of each product. */
const PRODUCT_FILES = {
  MESH: { category: 3, number: 28, ...TENTHS },
  POSH: { category: 3, number: 27, ...TENTHS },
  VIL: { category: 3, number: 41, ...TENTHS },
  EchoTop_18: { category: 3, number: 44, ...THOUSANDTHS },
  EchoTop_50: { category: 3, number: 46, ...THOUSANDTHS },
  MergedReflectivityQCComposite: { category: 10, number: 0, ...TENTHS, no_coverage: -9990, missing: -990 },
} as const satisfies Record<SimulatedProduct, object>;

/**
 * Sections as in the real files, with zeros for the octets that a scan fills in. In section 1 the production status is 192, the
 * first value for local use, instead of 2, research: it marks simulated data in any copy of a file.
 */
const IDENTIFICATION = '00a1 0000 ff 01 03 0000 00 00 00 00 00 c0 07';
/** Spheroid of IAU 1965, grid template 3.0, both increments given. */
const GRID =
  '00 00000000 00 00 0000 02 01 006128ee 01 006152b0 01 0060ff27 00000000 00000000 00000001 000f4240' +
  '00000000 00000000 30 00000000 00000000 00002710 00002710 00';
/** Product template 4.0, an observation 500 m above the sea. */
const DEFINITION = '0000 0000 00 00 08 00 00 0000 00 00 00000000 66 00 000001f4 ff 01 00000000';
/** Packing 5.41, PNG. */
const REPRESENTATION = '00000000 0029 00000000 0000 0000 00 00';

/**
 * One product of a scan as a GRIB2 message in the form of the MRMS files: discipline 209, no bitmap.
 * `covered`: 1 for each pixel of the scan's window that a radar sees, else 0.
 */
export function writeGrib2<Product extends SimulatedProduct>(
  scan: Omit<SimulatedScan, 'values'> & { readonly values: Readonly<Record<Product, Int16Array>> },
  product: Product,
  covered: Uint8Array,
): Uint8Array {
  const { window } = scan;
  const file = PRODUCT_FILES[product];
  // The reference is the smallest value; echo tops of a fully covered window start at `missing`, as real ones do.
  const reference = !covered.includes(0) && file.decimal_scale === 3 ? file.missing : file.no_coverage;
  const values = scan.values[product];
  const largest = values.reduce((most, value) => Math.max(most, value), file.missing) - reference;
  const bits = largest < 256 ? 8 : 16;
  const inside = file.missing - reference;
  const packed = new Uint16Array(covered.length).fill(file.no_coverage - reference);
  for (let pixel = 0; pixel < covered.length; pixel += 1) if (covered[pixel] === 1) packed[pixel] = inside;
  for (const [i, pixel] of scan.index.entries()) if (values[i] !== MISSING) packed[pixel] = values[i] - reference;
  const time = new Date(scan.scan_time);
  const clock = [time.getUTCMonth() + 1, time.getUTCDate(), time.getUTCHours(), time.getUTCMinutes()];
  const representation = filled(REPRESENTATION, [0, 4, covered.length], [12, 2, file.decimal_scale], [14, 1, bits]);
  representation.writeFloatBE(reference, 6);
  return message([
    filled(
      IDENTIFICATION,
      [7, 2, time.getUTCFullYear()],
      ...[...clock, time.getUTCSeconds()].map((value, i) => [9 + i, 1, value] as const),
    ),
    gridSection(window),
    filled(DEFINITION, [4, 1, file.category], [5, 1, file.number], [8, 1, file.generating_process]),
    representation,
    Buffer.from([0xff]),
    png(window, bits, packed),
  ]);
}

/** Octets of a section in hex, with unsigned big-endian numbers written into it: offset, length, value. */
function filled(hex: string, ...fields: readonly (readonly [at: number, length: number, value: number])[]): Buffer {
  const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex');
  for (const [at, length, value] of fields) bytes.writeUIntBE(value, at, length);
  return bytes;
}

function gridSection({ rows, cols, row0, col0 }: Window): Buffer {
  const { north, west, step } = LATTICE;
  const first_lat_udeg = Math.round((north - step / 2) * 1e6) - row0 * 10_000;
  const first_lon_udeg = Math.round((360 + west + step / 2) * 1e6) + col0 * 10_000;
  return filled(
    GRID,
    [1, 4, rows * cols],
    [25, 4, cols],
    [29, 4, rows],
    [41, 4, first_lat_udeg],
    [45, 4, first_lon_udeg],
    [50, 4, first_lat_udeg - (rows - 1) * 10_000],
    [54, 4, first_lon_udeg + (cols - 1) * 10_000],
  );
}

/** A message of sections 1 and 3 to 7, between the indicator and the end. */
function message(sections: readonly Uint8Array[]): Buffer {
  const parts = sections.flatMap((content, i) => [
    filled('0000000000', [0, 4, 5 + content.length], [4, 1, i === 0 ? 1 : i + 2]),
    content,
  ]);
  const length = 20 + parts.reduce((sum, part) => sum + part.length, 0);
  const indicator = filled('47524942 0000 d1 02 0000000000000000', [12, 4, length]);
  return Buffer.concat([indicator, ...parts, Buffer.from('7777', 'latin1')]);
}

/** A grey PNG file of 8 or 16 bits, its rows not filtered. */
function png({ rows, cols }: Window, bits: 8 | 16, packed: Uint16Array<ArrayBuffer>): Buffer {
  const header = filled('00000000 00000000 00 00 00 00 00', [0, 4, cols], [4, 4, rows], [8, 1, bits]);
  const samples = bits === 8 ? Buffer.from(packed) : Buffer.from(packed.buffer).swap16();
  const row_bytes = (cols * bits) / 8;
  const filtered = Buffer.alloc(rows * (1 + row_bytes));
  for (let r = 0; r < rows; r += 1) samples.copy(filtered, r * (1 + row_bytes) + 1, r * row_bytes, (r + 1) * row_bytes);
  const pixels = deflateSync(filtered, { level: constants.Z_BEST_SPEED });
  const chunks = [chunk('IHDR', header), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([filled('89504e47 0d0a1a0a'), ...chunks]);
}

function chunk(type: string, content: Uint8Array): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), content]);
  return Buffer.concat([filled('00000000', [0, 4, content.length]), named, filled('00000000', [0, 4, crc32(named)])]);
}
