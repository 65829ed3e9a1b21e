import { LATTICES } from '../../schemas/geo/lattice.ts';
import { MISSING, type SimulatedProduct, type SimulatedScan } from './fields.ts';
import { writePng } from './png-writer.ts';

/** Encoding of a product in its GRIB2 file: value = (reference + X) / 10^decimal_scale. */
interface ProductFile {
  readonly category: number;
  readonly number: number;
  readonly generating_process: number;
  readonly decimal_scale: number;
  /** Values of a pixel that no radar covers and of one that is covered and dry, in steps of 10^-decimal_scale. */
  readonly no_coverage: number;
  readonly missing: number;
}

const TENTHS = { generating_process: 97, decimal_scale: 1, no_coverage: -30, missing: -10 };
const THOUSANDTHS = { generating_process: 100, decimal_scale: 3, no_coverage: -3000, missing: -1000 };
/** Parameter numbers: MRMS GRIB2 table v12.2. Scales: as in real files of each product. */
const PRODUCT_FILES: Readonly<Record<SimulatedProduct, ProductFile>> = {
  MESH: { category: 3, number: 28, ...TENTHS },
  POSH: { category: 3, number: 27, ...TENTHS },
  VIL: { category: 3, number: 41, ...TENTHS },
  EchoTop_18: { category: 3, number: 44, ...THOUSANDTHS },
  EchoTop_50: { category: 3, number: 46, ...THOUSANDTHS },
  MergedReflectivityQCComposite: { category: 10, number: 0, ...TENTHS, no_coverage: -9990, missing: -990 },
};

/**
 * Production status of the data (section 1, octet 20). MRMS writes 2, research. 192 is the first value for local use and marks
 * simulated data, so that no copy of a file, whatever its name, can pass for an observation.
 */
export const SIMULATED_STATUS = 192;

const EARTH_IAU_1965 = 2;
const PNG_PACKING = 41;
/** Value of an octet that does not apply. */
export const MISSING_OCTET = 255;
const HEIGHT_ABOVE_SEA_M = 500;

/** Time and pixels of a scan. */
type Geometry = Omit<SimulatedScan, 'values'>;

/**
 * One product of a scan as a GRIB2 message in the form of the MRMS files: discipline 209, grid template 3.0, product
 * template 4.0, packing 5.41 without bitmap; only the production status differs.
 * `covered`: 1 for each pixel of the scan's window that a radar sees, else 0.
 */
export function writeGrib2<Product extends SimulatedProduct>(
  scan: Geometry & { readonly values: Readonly<Record<Product, Int16Array>> },
  product: Product,
  covered: Uint8Array,
): Uint8Array {
  const file = PRODUCT_FILES[product];
  const everywhere = !covered.includes(0);
  // The reference is the smallest value; echo tops of a fully covered window start at `missing`, as real ones do.
  const reference = everywhere && file.decimal_scale === 3 ? file.missing : file.no_coverage;
  const values = scan.values[product];
  const packed = new Uint16Array(values.length);
  let largest = file.missing - reference;
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i];
    const x = (value === MISSING ? file.missing : value) - reference;
    packed[i] = x;
    if (x > largest) largest = x;
  }
  const bits = largest < 256 ? 8 : 16;
  const image = {
    rows: scan.window.rows,
    cols: scan.window.cols,
    bits,
    mask: covered,
    inside: file.missing - reference,
    outside: everywhere ? 0 : file.no_coverage - reference,
    ...dropBackground(scan.index, packed, file.missing - reference),
  } as const;
  return grib2Message(209, [
    identification(scan.scan_time, MRMS),
    grid(scan),
    definition(file),
    representation(scan, file, reference, bits),
    grib2Section(6, Buffer.from([MISSING_OCTET])),
    grib2Section(7, writePng(image)),
  ]);
}

/** Pixels with a value in this product; without the others, empty bands of the image are plain background. */
function dropBackground(
  index: Uint32Array,
  packed: Uint16Array,
  background: number,
): { index: Uint32Array; value: Uint16Array } {
  const kept = new Uint32Array(index.length);
  const value = new Uint16Array(index.length);
  let count = 0;
  for (let i = 0; i < index.length; i += 1) {
    if (packed[i] === background) continue;
    kept[count] = index[i];
    value[count] = packed[i];
    count += 1;
  }
  return { index: kept.subarray(0, count), value: value.subarray(0, count) };
}

/** Values of section 1 that depend on the source: codes of tables 0, 1.0, 1.2 and 1.4. */
interface Origin {
  readonly centre: number;
  readonly master_tables: number;
  readonly time_meaning: number;
  readonly data_type: number;
}

/** US NOAA, Office of Oceanic and Atmospheric Research; local tables; time of an observation; local type. */
const MRMS: Origin = { centre: 161, master_tables: MISSING_OCTET, time_meaning: 3, data_type: 7 };

export function identification(time_ms: number, { centre, master_tables, time_meaning, data_type }: Origin): Buffer {
  const content = Buffer.alloc(16);
  content.writeUInt16BE(centre, 0);
  content[4] = master_tables;
  content[5] = 1; // local tables version
  content[6] = time_meaning;
  writeTime(content, 7, time_ms);
  content[14] = SIMULATED_STATUS;
  content[15] = data_type;
  return grib2Section(1, content);
}

/** Writes the seven octets of an instant, UTC. */
export function writeTime(bytes: Buffer, at: number, time_ms: number): void {
  const time = new Date(time_ms);
  bytes.writeUInt16BE(time.getUTCFullYear(), at);
  bytes[at + 2] = time.getUTCMonth() + 1;
  bytes[at + 3] = time.getUTCDate();
  bytes[at + 4] = time.getUTCHours();
  bytes[at + 5] = time.getUTCMinutes();
  bytes[at + 6] = time.getUTCSeconds();
}

function grid({ window }: Geometry): Buffer {
  const content = Buffer.alloc(67);
  const north = Math.round((LATTICES.conus.north - LATTICES.conus.step / 2) * 1e6) - window.row0 * 10_000;
  const west = Math.round((360 + LATTICES.conus.west + LATTICES.conus.step / 2) * 1e6) + window.col0 * 10_000;
  content.writeUInt32BE(window.rows * window.cols, 1);
  content[9] = EARTH_IAU_1965;
  content[10] = 1;
  content.writeUInt32BE(6_367_470, 11);
  content[15] = 1;
  content.writeUInt32BE(6_378_160, 16);
  content[20] = 1;
  content.writeUInt32BE(6_356_775, 21);
  content.writeUInt32BE(window.cols, 25);
  content.writeUInt32BE(window.rows, 29);
  content.writeUInt32BE(1, 33);
  content.writeUInt32BE(1_000_000, 37);
  content.writeUInt32BE(north, 41);
  content.writeUInt32BE(west, 45);
  content[49] = 0x30; // both increments are given
  content.writeUInt32BE(north - (window.rows - 1) * 10_000, 50);
  content.writeUInt32BE(west + (window.cols - 1) * 10_000, 54);
  content.writeUInt32BE(10_000, 58);
  content.writeUInt32BE(10_000, 62);
  return grib2Section(3, content);
}

function definition({ category, number, generating_process }: ProductFile): Buffer {
  const content = Buffer.alloc(29);
  content[4] = category;
  content[5] = number;
  content[6] = 8; // generating process: observation
  content[8] = generating_process;
  content[17] = 102; // height above mean sea level
  content.writeUInt32BE(HEIGHT_ABOVE_SEA_M, 19);
  content[23] = MISSING_OCTET;
  content[24] = 1;
  return grib2Section(4, content);
}

function representation(scan: Geometry, file: ProductFile, reference: number, bits: number): Buffer {
  const content = Buffer.alloc(16);
  content.writeUInt32BE(scan.window.rows * scan.window.cols, 0);
  content.writeUInt16BE(PNG_PACKING, 4);
  content.writeFloatBE(reference, 6);
  content.writeInt16BE(0, 10);
  content.writeInt16BE(file.decimal_scale, 12);
  content[14] = bits;
  return grib2Section(5, content);
}

/** A whole GRIB2 message of a discipline from its sections. */
export function grib2Message(discipline: number, sections: readonly Uint8Array[]): Buffer {
  const indicator = Buffer.alloc(16);
  indicator.write('GRIB', 0, 'latin1');
  indicator[6] = discipline;
  indicator[7] = 2;
  indicator.writeBigUInt64BE(BigInt(20 + sections.reduce((sum, part) => sum + part.length, 0)), 8);
  return Buffer.concat([indicator, ...sections, Buffer.from('7777', 'latin1')]);
}

/** A numbered section: its length, its number, its content. */
export function grib2Section(number: number, content: Uint8Array): Buffer {
  const bytes = Buffer.alloc(5 + content.length);
  bytes.writeUInt32BE(bytes.length, 0);
  bytes[4] = number;
  bytes.set(content, 5);
  return bytes;
}
