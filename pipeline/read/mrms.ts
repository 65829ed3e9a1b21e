import { LATTICE, type Window } from '../../schemas/geo/lattice.ts';
import { MRMS_PRODUCTS } from '../../schemas/reference/mrms-products.ts';
import { BadInput } from '../error.ts';
import { type Grid, type HailField, sampleGrid } from '../grid.ts';
import { type Decoded, decodeFieldUpTo, type Field, MAX_POINTS, parseGrib2 } from './grib2.ts';
import { gunzip } from './gunzip.ts';
import { isFlipped } from './projection.ts';
import { refuse } from './section.ts';

/** One MRMS product: its name in the public bucket, its numbers under discipline 209, and what its sentinels mean. */
export interface Product {
  readonly name: string;
  readonly category: number;
  readonly number: number;
  readonly unit: string;
  /** "No radar covers this pixel"; null when the product has none. */
  readonly no_coverage: number | null;
  /** "Covered, nothing there"; null when the product has none. */
  readonly nothing: number | null;
  /** What "covered, nothing there" amounts to; NaN where nothing has no value, as for heights and reflectivity. */
  readonly nothing_as: number;
}

const NO_VALUE = Number.NaN;

/**
 * The products we read. Numbers, units and sentinels are NOAA's (UserTable_MRMS, version 12.2); that rain products have
 * no "nothing" sentinel but real zeros was measured on files.
 */
export const PRODUCTS: readonly Product[] = (
  [
    // name, category, number, unit, no coverage, nothing, nothing as
    ['MergedAzShear_0-2kmAGL', 3, 0, '0.001/s', 0, 0, NO_VALUE],
    ['SHI', 3, 26, 'J/m/s', -3, -1, 0],
    ['POSH', 3, 27, '%', -3, -1, 0],
    ['MESH', 3, 28, 'mm', -3, -1, 0],
    ['MESH_Max_30min', 3, 29, 'mm', -3, -1, 0],
    ['MESH_Max_60min', 3, 30, 'mm', -3, -1, 0],
    ['MESH_Max_120min', 3, 31, 'mm', -3, -1, 0],
    ['MESH_Max_240min', 3, 32, 'mm', -3, -1, 0],
    ['MESH_Max_360min', 3, 33, 'mm', -3, -1, 0],
    ['MESH_Max_1440min', 3, 34, 'mm', -3, -1, 0],
    ['VIL', 3, 41, 'kg/m2', -3, -1, 0],
    ['VIL_Density', 3, 42, 'g/m3', -3, -1, 0],
    ['VII', 3, 43, 'kg/m2', -3, -1, 0],
    ['EchoTop_18', 3, 44, 'km', -3, -1, NO_VALUE],
    ['EchoTop_30', 3, 45, 'km', -3, -1, NO_VALUE],
    ['EchoTop_50', 3, 46, 'km', -3, -1, NO_VALUE],
    ['EchoTop_60', 3, 47, 'km', -3, -1, NO_VALUE],
    ['H50_Above_-20C', 3, 48, 'km', -999, -99, NO_VALUE],
    ['H50_Above_0C', 3, 49, 'km', -999, -99, NO_VALUE],
    ['H60_Above_-20C', 3, 50, 'km', -999, -99, NO_VALUE],
    ['H60_Above_0C', 3, 51, 'km', -999, -99, NO_VALUE],
    ['Reflectivity_0C', 3, 52, 'dBZ', -999, -99, NO_VALUE],
    ['Reflectivity_-5C', 3, 53, 'dBZ', -999, -99, NO_VALUE],
    ['Reflectivity_-10C', 3, 54, 'dBZ', -999, -99, NO_VALUE],
    ['Reflectivity_-15C', 3, 55, 'dBZ', -999, -99, NO_VALUE],
    ['Reflectivity_-20C', 3, 56, 'dBZ', -999, -99, NO_VALUE],
    ['ReflectivityAtLowestAltitude', 3, 57, 'dBZ', -999, -99, NO_VALUE],
    ['PrecipRate', 6, 1, 'mm/h', -3, null, 0],
    ['RadarOnly_QPE_01H', 6, 2, 'mm', -3, null, 0],
    ['MultiSensor_QPE_01H_Pass1', 6, 30, 'mm', -3, null, 0],
    ['MergedReflectivityQC', 9, 0, 'dBZ', -999, -99, NO_VALUE],
    ['MergedRhoHV', 9, 3, '1', -999, -99, NO_VALUE],
    ['MergedZdr', 9, 4, 'dB', -999, -99, NO_VALUE],
    ['MergedReflectivityQCComposite', 10, 0, 'dBZ', -999, -99, NO_VALUE],
  ] as const
).map(([name, category, number, unit, no_coverage, nothing, nothing_as]) => ({
  name,
  category,
  number,
  unit,
  no_coverage,
  nothing,
  nothing_as,
}));

const MRMS_DISCIPLINE = 209;
/** Production status of section 1 that our simulator writes; 192 to 254 are for local use. */
export const SIMULATED_STATUS = 192;

/** The MRMS product of a field; null when its numbers are not in the table. */
export function productOf(field: Field): Product | null {
  if (field.discipline !== MRMS_DISCIPLINE) return null;
  return PRODUCTS.find(({ category, number }) => category === field.category && number === field.number) ?? null;
}

/** What any MRMS file may hold: the products we read as those have been measured, the others as NOAA's table has them. */
export function listedProduct(field: Field): Pick<Product, 'name' | 'unit' | 'no_coverage' | 'nothing'> | null {
  const known = productOf(field);
  if (known !== null || field.discipline !== MRMS_DISCIPLINE) return known;
  const row = MRMS_PRODUCTS.find(({ category, number }) => category === field.category && number === field.number);
  if (row === undefined) return null;
  const { name, unit, missing, no_coverage } = row;
  if (missing !== no_coverage) return { name, unit, no_coverage, nothing: missing };
  // One value for both: 0 is what a quiet place has, any other says that nothing is known.
  return missing === 0 ? { name, unit, no_coverage: null, nothing: 0 } : { name, unit, no_coverage, nothing: null };
}

/**
 * One MRMS product on a window of the CONUS lattice, from the bytes of a GRIB2 file, gzipped or not. Of azimuthal shear, which
 * comes twice as fine, each pixel has the largest of its points.
 *
 * Rows run from north, columns from west, whatever the file's scanning mode; values stay packed. Throws BadInput, with
 * what was found and expected, when the file holds another number of fields, a product we do not know, a grid off the
 * lattice, values that are not packed integers, or points without a value (MRMS marks those by sentinels).
 */
export function readGrid(bytes: Uint8Array, subject: string): Grid {
  const fields = parseGrib2(gunzip(bytes, subject), subject);
  const [field] = fields;
  if (!field || fields.length > 1) throw new BadInput('read', subject, `${fields.length} fields, expected 1`);
  const product = productOf(field);
  if (!product) {
    const { discipline, category, number } = field;
    throw new BadInput(
      'read',
      subject,
      `product ${discipline}/${category}/${number} is unknown, expected an MRMS product`,
    );
  }
  const { window, fold } = latticeWindow(field, product);
  if (field.packed_count !== field.grid.points) throw refuse(field.data, GAPS);
  const decoded = decodeFieldUpTo(field, MAX_POINTS * fold ** 2);
  const packed = northWestFirst(packedIntegers(field, decoded), field);
  return {
    product: product.name,
    unit: product.unit,
    scan_time: field.reference_time,
    simulated: field.production_status === SIMULATED_STATUS,
    window,
    packed: fold === 1 ? packed : foldedInHalf(packed, window, packedNumber(0, decoded)),
    reference: decoded.reference,
    binary_scale: decoded.binary_scale,
    decimal_scale: decoded.decimal_scale,
    no_coverage: product.no_coverage,
    nothing: product.nothing,
    nothing_as: product.nothing_as,
  };
}

const GAPS = 'points without a value, expected a sentinel at each of them';

const STEP_MICRODEG = 10_000;
/** Header positions are whole microdegrees, and real ones are off by one. */
const TOLERANCE_MICRODEG = 2;

/**
 * Azimuthal shear comes on a lattice twice as fine: 7000 x 14000 points of 0.005 degrees, 2 x 2 to a pixel of ours.
 * Source: product guide of the Warning Decision Training Division, "Azimuthal Shear".
 */
const FINE_PRODUCT = 'MergedAzShear_0-2kmAGL';
/** Packing of such files; others need several times the memory of so many points. */
const FINE_PACKING = 41;

interface LatticeWindow {
  readonly window: Window;
  /** Points of the file to a pixel of the lattice, in each direction: 1 or 2. */
  readonly fold: 1 | 2;
}

/** The window of the lattice that a field covers; BadInput when it is not one. */
function latticeWindow({ grid, packing, data }: Field, { name }: Product): LatticeWindow {
  const { projection, columns, rows } = grid;
  if (projection?.template !== 0)
    throw refuse(grid.section, `grid template 3.${grid.template}, expected 3.0 on the CONUS lattice`);
  const micro = (degrees: number) => Math.round(degrees * 1e6);
  const fold = name === FINE_PRODUCT && 2 * micro(projection.di) === STEP_MICRODEG ? 2 : 1;
  const step_microdeg = STEP_MICRODEG / fold;
  if (fold === 2 && packing.template !== FINE_PACKING)
    throw refuse(data, `packing template 5.${packing.template} of a grid this fine, expected 5.${FINE_PACKING}`);
  if (micro(projection.di) !== step_microdeg || micro(projection.dj) !== step_microdeg)
    throw refuse(grid.section, `step ${projection.di} x ${projection.dj} degrees, expected 0.01 x 0.01`);
  // Unlike Math.round it never gives -0.
  const nearest = (value: number) => Math.floor(value + 0.5);
  const flipped = isFlipped(grid);
  const lon = projection.lo1 > 180 ? projection.lo1 - 360 : projection.lo1;
  const firstRow = (micro(LATTICE.north) - step_microdeg / 2 - micro(projection.la1)) / step_microdeg;
  const firstCol = (micro(lon) - micro(LATTICE.west) - step_microdeg / 2) / step_microdeg;
  const row0 = nearest(firstRow) - (flipped.rows ? rows - 1 : 0);
  const col0 = nearest(firstCol) - (flipped.columns ? columns - 1 : 0);
  const off = Math.max(Math.abs(firstRow - nearest(firstRow)), Math.abs(firstCol - nearest(firstCol)));
  const first = `first point ${projection.la1} ${lon}`;
  if (off * step_microdeg > TOLERANCE_MICRODEG)
    throw refuse(grid.section, `${first} is off the lattice, expected centres that end in 5 thousandths`);
  if (row0 < 0 || col0 < 0 || row0 + rows > fold * LATTICE.rows || col0 + columns > fold * LATTICE.cols)
    throw refuse(
      grid.section,
      `${first} with ${rows} x ${columns} points leaves the ${LATTICE.rows} x ${LATTICE.cols} lattice`,
    );
  if ([row0, col0, rows, columns].some((value) => value % fold !== 0))
    throw refuse(
      grid.section,
      `${first} with ${rows} x ${columns} points holds parts of pixels, expected 2 x 2 points each`,
    );
  return { window: { row0: row0 / fold, col0: col0 / fold, rows: rows / fold, cols: columns / fold }, fold };
}

/** Largest number of 2 x 2 points in each pixel of a window, in place; `nothing`, which is no measurement, only where all four are. */
function foldedInHalf<A extends Grid['packed']>(packed: A, { rows, cols }: Window, nothing: number): A {
  const known = (value: number) => (value === nothing ? -1 : value);
  for (let row = 0, to = 0, from = 0; row < rows; row++, from += 2 * cols)
    for (let col = 0; col < cols; col++, to++, from += 2) {
      const [north, south] = [from, from + 2 * cols];
      const most = Math.max(
        known(packed[north]),
        known(packed[north + 1]),
        known(packed[south]),
        known(packed[south + 1]),
      );
      packed[to] = most < 0 ? nothing : most;
    }
  return packed.slice(0, rows * cols) as A;
}

/** The packed integer that stands for a value; one that none does is not whole. */
function packedNumber(value: number, { reference, binary_scale, decimal_scale }: Decoded): number {
  return (value * 10 ** decimal_scale - reference) / 2 ** binary_scale;
}

function packedIntegers({ data }: Field, { packed, missing }: Decoded): Grid['packed'] {
  if (missing) throw refuse(data, GAPS);
  if (packed instanceof Float32Array || packed instanceof Float64Array)
    throw refuse(data, 'floats, expected packed integers');
  if (!(packed instanceof Int32Array)) return packed;
  if (packed.some((value) => value < 0)) throw refuse(data, 'packed values below 0, expected at least the reference');
  return new Uint32Array(packed.buffer, packed.byteOffset, packed.length);
}

/** Turns south-first and east-first files round, in place. */
function northWestFirst<A extends Grid['packed']>(packed: A, { grid }: Field): A {
  const { columns, rows } = grid;
  const flipped = isFlipped(grid);
  if (flipped.columns)
    for (let row = 0; row < rows; row++) packed.subarray(row * columns, (row + 1) * columns).reverse();
  if (flipped.rows)
    for (let north = 0, south = rows - 1; north < south; north++, south--) {
      const kept = packed.slice(north * columns, (north + 1) * columns);
      packed.copyWithin(north * columns, south * columns, (south + 1) * columns);
      packed.set(kept, south * columns);
    }
  return packed;
}

/**
 * The pixels of a MESH grid above 0, sparse, in tenths of a millimetre.
 *
 * Takes any product in tenths (decimal scale 1, binary scale 0, whole reference), so that a rain rate can stand in for
 * hail. "Covered, no hail" and "no coverage" are counted apart. Throws BadInput, about `subject` (the file, where there
 * is one), on another packing law, on values beyond 16 bits, and as soon as more than `most_px` pixels are above 0.
 */
export function hailField(grid: Grid, subject: string = grid.product, most_px: number = grid.packed.length): HailField {
  const { packed, window, reference } = grid;
  if (grid.decimal_scale !== 1 || grid.binary_scale !== 0 || !Number.isInteger(reference))
    throw new BadInput(
      'read',
      subject,
      `packed as (${reference} + x * 2^${grid.binary_scale}) / 10^${grid.decimal_scale}, expected whole tenths`,
    );
  const zero = -reference;
  const none = grid.no_coverage === null ? -1 : 10 * grid.no_coverage - reference;
  const { hits, found, uncovered_px } = scanPacked(packed, zero, none, most_px);
  if (found > most_px)
    throw new BadInput('read', subject, `more than ${most_px} pixels above 0, expected at most that many in one scan`);
  const rowStart = new Uint32Array(window.rows + 1);
  const col = new Uint16Array(found);
  const tenths = new Uint16Array(found);
  let row = 0;
  for (let k = 0; k < found; k++) {
    const at = hits[k];
    const value = packed[at] - zero;
    if (value > 0xffff) throw new BadInput('read', subject, `value of ${value} tenths, expected at most 65535`);
    while (at >= (row + 1) * window.cols) rowStart[++row] = k;
    col[k] = window.col0 + at - row * window.cols;
    tenths[k] = value;
  }
  rowStart.fill(found, row + 1);
  return { window, rowStart, col, tenths, covered_px: packed.length - uncovered_px, uncovered_px };
}

interface PackedScan {
  /** Indices of the values above zero, the first `found` of the array. */
  readonly hits: Uint32Array;
  readonly found: number;
  readonly uncovered_px: number;
}

/**
 * Finds the values above `zero` and counts those equal to `none`; ends early once more than `most` are above zero.
 * Nearly every word of four bytes repeats one without news or says "no coverage" throughout: those are told from a
 * look at the word, the others value by value.
 */
function scanPacked(packed: Grid['packed'], zero: number, none: number, most: number): PackedScan {
  const perWord = 4 / packed.BYTES_PER_ELEMENT;
  const whole = packed.byteOffset % 4 === 0 ? Math.floor(packed.length / perWord) : 0;
  const words = whole > 0 ? new Uint32Array(packed.buffer, packed.byteOffset, whole) : new Uint32Array(0);
  let hits = new Uint32Array(1024);
  let found = 0;
  let uncovered_px = 0;
  /** Looks at the values of a stretch one by one; true when there was neither hit nor gap among them. */
  const look = (from: number, to: number): boolean => {
    const before = found + uncovered_px;
    for (let at = from; at < to; at++) {
      const value = packed[at];
      if (value === none) uncovered_px++;
      else if (value > zero) {
        if (found === hits.length) hits = doubled(hits);
        hits[found++] = at;
      }
    }
    return found + uncovered_px === before;
  };
  let dull = -1;
  let bare = -1;
  for (let k = 0; k < whole && found <= most; k++) {
    const word = words[k];
    if (word === dull) continue;
    if (word === bare) {
      uncovered_px += perWord;
      continue;
    }
    const gaps = uncovered_px;
    if (look(k * perWord, (k + 1) * perWord)) dull = word;
    else if (uncovered_px === gaps + perWord) bare = word;
  }
  if (found <= most) look(whole * perWord, packed.length);
  return { hits, found, uncovered_px };
}

function doubled(array: Uint32Array): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(2 * array.length);
  larger.set(array);
  return larger;
}

/**
 * Values of a companion grid at the pixels of a hail field, in the field's order; NaN where the grid has no coverage,
 * does not reach, or nothing has no value.
 */
export function sampleAtPixels(grid: Grid, field: HailField): Float32Array {
  const values = new Float32Array(field.col.length);
  for (let r = 0; r < field.window.rows; r++)
    for (let i = field.rowStart[r]; i < field.rowStart[r + 1]; i++)
      values[i] = sampleGrid(grid, field.window.row0 + r, field.col[i]);
  return values;
}
