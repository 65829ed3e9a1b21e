import { LATTICE, type Window } from '../../schemas/geo/lattice.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import { timestamp } from '../../schemas/time.ts';
import {
  type Decoded,
  decodeField,
  type Field,
  isFlipped,
  MAX_POINTS,
  parseGrib2,
  sectionError,
} from '../grib2/index.ts';
import { eachPixel, type Grid, gridValue, type HailField, packedNumber, sampleGrid } from '../grid.ts';
import { gunzip } from '../raw-file.ts';
import { forEachRun } from './packed-runs.ts';
import { isProductValue, type Product, productOf, productValueWords, quietValue } from './products.ts';
import { badFile } from './rejected-item.ts';

/** Production status of section 1 that our simulator writes; 192 to 254 are for local use. */
export const SIMULATED_STATUS = 192;
/** Byte of a GRIB2 message that holds its production status: octet 20 of section 1. */
export const PRODUCTION_STATUS_AT = 35;
/** Statuses that centres write: those that code table 1.3 defines or may soon define, and "missing". MRMS writes 2. */
const LAST_OBSERVED_STATUS = 31;
const MISSING_STATUS = 255;

/**
 * True when section 1 of a field states that a simulator wrote it. Throws BadInput for a status that neither our simulator
 * nor a centre writes: one damaged bit must not turn simulated data into an observation.
 */
export function isSimulated({ production_status: status, data }: Field): boolean {
  const provenance = statusProvenance(status);
  if (provenance !== null) return provenance === 'simulated';
  const section = { ...data, number: 1 };
  throw sectionError(section, `production status ${status}, expected 0 to ${LAST_OBSERVED_STATUS} or 192`);
}

/** Provenance that a production status states; null for a status that neither our simulator nor a centre writes. */
export function statusProvenance(status: number): Provenance | null {
  if (status === SIMULATED_STATUS) return 'simulated';
  return status <= LAST_OBSERVED_STATUS || status === MISSING_STATUS ? 'observed' : null;
}

/** Product and time of a grid by the name of its file, or by the role of the file in a scan. */
interface GridClaim {
  readonly product: string;
  /** Epoch milliseconds. */
  readonly time_ms: number;
}

/**
 * One MRMS product on a window of the lattice, from the bytes of a GRIB2 file, gzipped or not. Of azimuthal shear, which
 * comes twice as fine, each pixel has the largest of its points.
 *
 * Rows run from north, columns from west, whether the file begins in the north or south, west or east; values stay packed.
 * Throws BadInput, with the values found and expected, when the file holds another number of fields, an unknown
 * product, a forecast, a grid off the CONUS lattice, values that are not packed integers, points without a value (MRMS marks those
 * by sentinels), or values that a grid of the product cannot have. With `claim` the header must name the same product and time.
 */
export function readGrid(bytes: Uint8Array, subject: string, claim?: GridClaim): Grid {
  const fields = parseGrib2(gunzip(bytes, subject), subject);
  const [field] = fields;
  if (!field || fields.length > 1) throw badFile(subject, `${fields.length} fields, expected 1`);
  const product = productOf(field);
  if (!product) {
    const { discipline, category, number } = field;
    throw badFile(subject, `product ${discipline}/${category}/${number} is unknown, expected an MRMS product`);
  }
  if (claim && product.name !== claim.product)
    throw badFile(subject, `product ${product.name}, expected ${claim.product}`);
  if (claim && field.reference_time !== claim.time_ms)
    throw badFile(subject, `time ${timestamp(field.reference_time)}, expected ${timestamp(claim.time_ms)}`);
  if (field.valid_time !== field.reference_time)
    throw sectionError(
      { ...field.data, number: 4 },
      'valid at another time than the reference time, expected an observation',
    );
  const { window, fold } = latticeWindow(field, product);
  if (field.packed_count !== field.grid.points) throw sectionError(field.data, GAPS);
  const decoded = decodeField(field, { max_points: MAX_POINTS * fold ** 2 });
  const packed = northWestFirst(packedIntegers(field, decoded), field);
  const grid: Grid = {
    product: product.name,
    unit: product.unit,
    scan_time: field.reference_time,
    simulated: isSimulated(field),
    window,
    packed: fold === 1 ? packed : foldedInHalf(packed, window, packedNumber(decoded, 0)),
    reference: decoded.reference,
    binary_scale: decoded.binary_scale,
    decimal_scale: decoded.decimal_scale,
    no_coverage: product.no_coverage,
    missing: product.missing,
    missing_as: product.missing_as,
  };
  checkGridValues(grid, product, subject);
  return grid;
}

const GAPS = 'points without a value, expected a sentinel at each of them';

/** Header positions are whole microdegrees, and real ones are off by one. */
const TOLERANCE_MICRODEG = 2;

/** Scanning modes by which rows follow one another in one direction, and begin in any corner. */
const PLAIN_ROWS = [0x00, 0x40, 0x80, 0xc0];

/**
 * Azimuthal shear comes on a lattice twice as fine: 7000 x 14000 points of 0.005 degrees, 2 x 2 to a pixel of ours.
 * Source: product guide of the Warning Decision Training Division, "Azimuthal Shear".
 */
const FINE_PRODUCT = 'MergedAzShear_0-2kmAGL';
/** Packing of such files; others need several times the memory. */
const FINE_PACKING = 41;

/**
 * The window of the lattice that a field covers; BadInput when it is not one, or when its numbers contradict each other.
 * `fold` is the number of points of the file to a pixel of the lattice, in each direction: 1 or 2.
 */
function latticeWindow({ grid, packing, data }: Field, { name }: Product): { window: Window; fold: number } {
  const { projection, columns, rows } = grid;
  const bad = (reason: string) => sectionError(grid.section, reason);
  if (projection?.template !== 0) throw bad(`grid template 3.${grid.template}, expected 3.0 on the CONUS lattice`);
  if (!PLAIN_ROWS.includes(grid.scanning_mode))
    throw bad(`scanning mode ${grid.scanning_mode}, expected ${PLAIN_ROWS.join(', ')}`);
  if (!projection.is_step_given) throw bad('resolution flags without steps, expected steps in both directions');
  const micro = (degrees: number) => Math.round(degrees * 1e6);
  const withinCircle = (degrees: number) => (degrees > 180 ? degrees - 360 : degrees);
  const lattice_microdeg = micro(LATTICE.step);
  const fold = name === FINE_PRODUCT && 2 * micro(projection.di) === lattice_microdeg ? 2 : 1;
  const step_microdeg = lattice_microdeg / fold;
  if (fold === 2 && packing.template !== FINE_PACKING)
    throw sectionError(data, `packing template 5.${packing.template} of a grid this fine, expected 5.${FINE_PACKING}`);
  if (micro(projection.di) !== step_microdeg || micro(projection.dj) !== step_microdeg)
    throw bad(`step ${projection.di} x ${projection.dj} degrees, expected ${LATTICE.step} x ${LATTICE.step}`);
  // Unlike Math.round it never gives -0.
  const nearest = (value: number) => Math.floor(value + 0.5);
  const flipped = isFlipped(grid);
  const lon = withinCircle(projection.lo1);
  const north_microdeg = micro(LATTICE.north) - step_microdeg / 2;
  const west_microdeg = micro(LATTICE.west) + step_microdeg / 2;
  const firstRow = (north_microdeg - micro(projection.la1)) / step_microdeg;
  const firstCol = (micro(lon) - west_microdeg) / step_microdeg;
  const row0 = nearest(firstRow) - (flipped.rows ? rows - 1 : 0);
  const col0 = nearest(firstCol) - (flipped.columns ? columns - 1 : 0);
  const off = Math.max(Math.abs(firstRow - nearest(firstRow)), Math.abs(firstCol - nearest(firstCol)));
  const first = `first point ${projection.la1} ${lon}`;
  if (off * step_microdeg > TOLERANCE_MICRODEG)
    throw bad(`${first} is off the lattice, expected centres that end in 5 thousandths`);
  const last = [
    north_microdeg - (row0 + (flipped.rows ? 0 : rows - 1)) * step_microdeg - micro(projection.la2),
    west_microdeg + (col0 + (flipped.columns ? 0 : columns - 1)) * step_microdeg - micro(withinCircle(projection.lo2)),
  ];
  const size = `${rows} x ${columns} points`;
  if (last.some((off) => Math.abs(off) > TOLERANCE_MICRODEG))
    throw bad(`last point ${projection.la2} ${withinCircle(projection.lo2)} contradicts ${first} with ${size}`);
  if (row0 < 0 || col0 < 0 || row0 + rows > fold * LATTICE.rows || col0 + columns > fold * LATTICE.cols)
    throw bad(`${first} with ${size}, expected a window of the CONUS lattice of ${LATTICE.rows} x ${LATTICE.cols}`);
  if ([row0, col0, rows, columns].some((value) => value % fold !== 0))
    throw bad(`${first} with ${size} holds parts of pixels, expected 2 x 2 points each`);
  return { window: { row0: row0 / fold, col0: col0 / fold, rows: rows / fold, cols: columns / fold }, fold };
}

/** Largest number of 2 x 2 points in each pixel of a window, in place; `missing`, which is no measurement, only where all four are. */
function foldedInHalf<A extends Grid['packed']>(packed: A, { rows, cols }: Window, missing: number): A {
  const known = (value: number) => (value === missing ? -1 : value);
  for (let row = 0, to = 0, from = 0; row < rows; row++, from += 2 * cols)
    for (let col = 0; col < cols; col++, to++, from += 2) {
      const [north, south] = [from, from + 2 * cols];
      const most = Math.max(
        known(packed[north]),
        known(packed[north + 1]),
        known(packed[south]),
        known(packed[south + 1]),
      );
      packed[to] = most < 0 ? missing : most;
    }
  return packed.slice(0, rows * cols) as A;
}

function packedIntegers({ data }: Field, { packed, missing }: Decoded): Grid['packed'] {
  if (missing) throw sectionError(data, GAPS);
  if (packed instanceof Float32Array || packed instanceof Float64Array)
    throw sectionError(data, 'floats, expected packed integers');
  if (!(packed instanceof Int32Array)) return packed;
  if (packed.some((value) => value < 0))
    throw sectionError(data, 'packed values below 0, expected at least the reference');
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
    throw badFile(
      subject,
      `packed as (${reference} + x * 2^${grid.binary_scale}) / 10^${grid.decimal_scale}, expected whole tenths`,
    );
  const zero = -reference;
  const none = grid.no_coverage === null ? -1 : 10 * grid.no_coverage - reference;
  const { hits, found, uncovered_px } = scanPacked(packed, zero, none, most_px);
  if (found > most_px)
    throw badFile(subject, `more than ${most_px} pixels above 0, expected at most that many in one scan`);
  const rowStart = new Uint32Array(window.rows + 1);
  const col = new Uint16Array(found);
  const tenths = new Uint16Array(found);
  let row = 0;
  for (let k = 0; k < found; k++) {
    const at = hits[k];
    const value = packed[at] - zero;
    if (value > 0xffff) throw badFile(subject, `value of ${value} tenths, expected at most 65535`);
    while (at >= (row + 1) * window.cols) rowStart[++row] = k;
    col[k] = window.col0 + at - row * window.cols;
    tenths[k] = value;
  }
  rowStart.fill(found, row + 1);
  return { window, rowStart, col, tenths, covered_px: packed.length - uncovered_px, uncovered_px };
}

/**
 * Finds the values above `zero` and counts those equal to `none`; stops once more than `most` are above zero. Their indices
 * are the first `found` of `hits`.
 */
function scanPacked(packed: Grid['packed'], zero: number, none: number, most: number) {
  const perWord = 4 / packed.BYTES_PER_ELEMENT;
  let hits = new Uint32Array(1024);
  let found = 0;
  let uncovered_px = 0;
  forEachRun(packed, (from, to) => {
    if (found > most) return;
    const first = Math.min(to, from + perWord);
    let above = 0;
    let gaps = 0;
    for (let at = from; at < first; at++)
      if (packed[at] === none) gaps++;
      else if (packed[at] > zero) above++;
    uncovered_px += (gaps * (to - from)) / (first - from);
    if (above === 0) return;
    for (let at = from; at < to; at++) {
      if (packed[at] <= zero || packed[at] === none) continue;
      if (found === hits.length) hits = new Uint32Array(hits.buffer.transfer(2 * hits.byteLength));
      hits[found++] = at;
    }
  });
  return { hits, found, uncovered_px };
}

/**
 * Values of a companion grid at the pixels of a hail field, in the field's order; NaN where the grid has no coverage,
 * does not reach, or nothing has no value.
 */
export function sampleAtPixels(grid: Grid, field: HailField): Float32Array {
  const values = new Float32Array(field.col.length);
  eachPixel(field, (row, pixel) => {
    values[pixel] = sampleGrid(grid, row, field.col[pixel]);
  });
  return values;
}

/**
 * Pixels of a window that rain, or the hail of a day, does not fill, of 0.01 degrees: ten by ten degrees. Widespread rain fills
 * smaller windows.
 */
const QUIET_WINDOW_PX = 1_000_000;
/** The same for the hail of one scan: 30 by 30 km. */
const QUIET_HAIL_WINDOW_PX = 900;
const HAIL_OF_ONE_SCAN: readonly string[] = ['MESH', 'POSH', 'SHI'];

/** Pixels of a window whose values distinguish weather from sentinels: one by one degree. */
const WEATHER_WINDOW_PX = 10_000;
/** Steps from a sentinel to the nearest other value, at least: -1 and 0 of a product in tenths. */
const APART_STEPS = 10;
/** In real windows this large that weather fills, values that far from all others are at 0.05 % of the pixels at most. */
const MAX_APART_SHARE = 0.05;
/** The rain of real windows this large has its commonest rate at 12 % of the pixels at most. */
const MAX_SAME_RAIN_SHARE = 0.5;

/**
 * Throws BadInput for a grid whose values cannot be those of its product: a wrong reference, scale or width of the packed
 * numbers shifts all values, and nothing else in the file shows it. Every MRMS grid satisfies, in any packing:
 * - each value is a sentinel of the product or lies within its range;
 * - the corners of the full CONUS lattice have no coverage (the nearest radars are more than 480 km away);
 * - a window that weather cannot fill has a pixel with nothing in it, if it has any coverage;
 * - a smaller one without such a pixel has no value that stands in for it.
 * The error is about `subject` and has the value found and those expected.
 */
export function checkGridValues(grid: Grid, product: Product, subject: string): void {
  const { window, packed } = grid;
  const bad = (reason: string) => badFile(subject, reason);
  const quiet = quietValue(product);
  let isCovered = false;
  let isQuiet = false;
  const check = (x: number) => {
    const value = gridValue(grid, x);
    if (!isProductValue(product, value)) {
      const at = packed.indexOf(x);
      const place = `row ${window.row0 + Math.floor(at / window.cols)}, column ${window.col0 + (at % window.cols)}`;
      throw bad(`value ${value} at ${place} of the lattice, expected ${productValueWords(product)}`);
    }
    if (value === quiet) isQuiet = true;
    if (value !== product.no_coverage) isCovered = true;
  };
  forEachDistinct(packed, check);
  if (window.rows === LATTICE.rows && window.cols === LATTICE.cols) {
    const last = packed.length - 1;
    for (const at of [0, window.cols - 1, last - window.cols + 1, last]) {
      const value = gridValue(grid, packed[at]);
      if (value !== product.no_coverage)
        throw bad(`value ${value} in a corner of the lattice, expected ${product.no_coverage}, no coverage`);
    }
  }
  const quiet_px = HAIL_OF_ONE_SCAN.includes(product.name) ? QUIET_HAIL_WINDOW_PX : QUIET_WINDOW_PX;
  const isWide = packed.length >= quiet_px;
  if (isCovered && !isQuiet && isWide)
    throw bad(`no pixel of ${packed.length} has the value ${quiet}, expected some with nothing to see`);
  const background = isCovered && !isQuiet && packed.length >= WEATHER_WINDOW_PX ? backgroundOf(grid, product) : null;
  if (background !== null)
    throw bad(`the value ${background} has the pixels of a background and ${quiet} has none, expected the reverse`);
}

/** The value that is as common as only a background is: far from all others, or that of most of the rain; null without one. */
function backgroundOf(grid: Grid, product: Product): number | null {
  const counts = new Map<number, number>();
  forEachRun(grid.packed, (from, to) => {
    for (let i = from; i < to; i++) counts.set(grid.packed[i], (counts.get(grid.packed[i]) ?? 0) + 1);
  });
  const covered = [...counts].filter(([x]) => gridValue(grid, x) !== product.no_coverage).sort(([a], [b]) => a - b);
  const all = covered.reduce((sum, [, count]) => sum + count, 0);
  const steps = covered.slice(1).map(([x], i) => x - covered[i][0]);
  const step = Math.min(...steps);
  const found = covered.find(([, count], i) => {
    const isApart = Math.min(steps[i - 1] ?? Infinity, steps[i] ?? Infinity) >= APART_STEPS * step;
    return (
      (isApart && count > MAX_APART_SHARE * all) || (product.missing === null && count > MAX_SAME_RAIN_SHARE * all)
    );
  });
  return found === undefined ? null : gridValue(grid, found[0]);
}

/** Calls back with each packed number at least once; numbers of 8 and 16 bits once. */
function forEachDistinct(packed: Grid['packed'], visit: (x: number) => void): void {
  const perWord = 4 / packed.BYTES_PER_ELEMENT;
  if (packed instanceof Uint32Array) {
    forEachRun(packed, (from) => visit(packed[from]));
    return;
  }
  const seen = new Uint8Array(2 ** (8 * packed.BYTES_PER_ELEMENT));
  forEachRun(packed, (from, to) => {
    for (let i = from; i < to && i < from + perWord; i++) seen[packed[i]] = 1;
  });
  for (let x = 0; x < seen.length; x++) if (seen[x] === 1) visit(x);
}
