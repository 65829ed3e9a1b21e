import type { HeightCells } from '../schemas/geo/heights.ts';
import type { Window } from '../schemas/geo/lattice.ts';
import type { ProbSevereObject } from '../schemas/tables/radar.ts';

/**
 * One product on a window of a lattice, row-major, row 0 = north, still packed as it was delivered:
 * value = (reference + packed x 2^binary_scale) / 10^decimal_scale.
 */
export interface Grid {
  /** Product name as in the public bucket, for example `MESH`. */
  readonly product: string;
  readonly unit: string;
  readonly scan_time: number;
  /** True when a simulator wrote the file. */
  readonly simulated: boolean;
  readonly window: Window;
  readonly packed: Uint8Array | Uint16Array | Uint32Array;
  readonly reference: number;
  readonly binary_scale: number;
  readonly decimal_scale: number;
  /** Value that means "no radar covers this pixel"; null when the product has none. */
  readonly no_coverage: number | null;
  /** Value that means "covered, nothing there"; null when the product has none. */
  readonly missing: number | null;
  /** Measurement that "covered, nothing there" stands for: 0 for sizes, sums and probabilities, NaN for heights and reflectivity. */
  readonly missing_as: number;
}

type Packing = Pick<Grid, 'reference' | 'binary_scale' | 'decimal_scale'>;

/** Value of a packed number of a grid. */
export function gridValue({ reference, binary_scale, decimal_scale }: Packing, packed: number): number {
  return (reference + packed * 2 ** binary_scale) / 10 ** decimal_scale;
}

/** The packed number of a value; a fraction where no integer stands for it. */
export function packedNumber({ reference, binary_scale, decimal_scale }: Packing, value: number): number {
  return (value * 10 ** decimal_scale - reference) / 2 ** binary_scale;
}

/** Value at a lattice position; NaN without coverage, outside the window, or where nothing has no value. */
export function sampleGrid(grid: Grid, row: number, col: number): number {
  const r = row - grid.window.row0;
  const c = col - grid.window.col0;
  if (r < 0 || c < 0 || r >= grid.window.rows || c >= grid.window.cols) return Number.NaN;
  const value = gridValue(grid, grid.packed[r * grid.window.cols + c]);
  if (value === grid.no_coverage) return Number.NaN;
  return value === grid.missing ? grid.missing_as : value;
}

/**
 * MESH of one scan, sparse: every pixel above 0, in rows from north and columns from west.
 * Pixels of window row r are at indices rowStart[r] .. rowStart[r + 1] - 1; `col` is the lattice column,
 * `tenths` the MESH in tenths of a millimetre exactly as delivered (no cap).
 */
export interface HailField {
  readonly window: Window;
  readonly rowStart: Uint32Array;
  readonly col: Uint16Array;
  readonly tenths: Uint16Array;
  /** Pixels that some radar covers, hail or not. */
  readonly covered_px: number;
  /** Pixels that no radar covers: "unknown", never "no hail". */
  readonly uncovered_px: number;
}

/** MESH of one scan. */
export interface ScanField {
  readonly scan_time: number;
  readonly mesh: HailField;
}

/** Values of other products at the pixels of a scan; a source may lack any of them. */
export const COMPANIONS = [
  'posh_pct',
  'vil_kg_m2',
  'echo_top_18_km',
  'echo_top_50_km',
  'max_reflectivity_dbz',
  'reflectivity_minus20c_dbz',
  'azshear_0_2km_per_s',
  'lowest_reflectivity_dbz',
] as const;
export type Companion = (typeof COMPANIONS)[number];

/** Product that gives each companion value. */
export const COMPANION_PRODUCTS: Readonly<Record<Companion, string>> = {
  posh_pct: 'POSH',
  vil_kg_m2: 'VIL',
  echo_top_18_km: 'EchoTop_18',
  echo_top_50_km: 'EchoTop_50',
  max_reflectivity_dbz: 'MergedReflectivityQCComposite',
  reflectivity_minus20c_dbz: 'Reflectivity_-20C',
  azshear_0_2km_per_s: 'MergedAzShear_0-2kmAGL',
  lowest_reflectivity_dbz: 'ReflectivityAtLowestAltitude',
};

/** Companion values at the pixels of a HailField in the unit of their product, NaN where unknown; absent or null without the product. */
export type CompanionValues = Readonly<Partial<Record<Companion, Float32Array | null>>>;

/** Units of a product in one unit of its companion, where they differ: shear comes in thousandths of 1/s. */
const PER_UNIT: Readonly<Partial<Record<Companion, number>>> = { azshear_0_2km_per_s: 1000 };

/** Value of a companion at a pixel, to three decimals of its product's unit; null where unknown or missing. */
export function companionAt(companions: CompanionValues, name: Companion, pixel: number): number | null {
  const value = companions[name]?.[pixel] ?? Number.NaN;
  // The values travel in single precision: 9.344 arrives as 9.34399986.
  return Number.isNaN(value) ? null : Math.round(value * 1000) / (1000 * (PER_UNIT[name] ?? 1));
}

/** A value for every companion, as the tables have them. */
export function everyCompanion(take: (name: Companion) => number | null): Record<Companion, number | null> {
  const values = {} as Record<Companion, number | null>;
  for (const name of COMPANIONS) values[name] = take(name);
  return values;
}

/**
 * Blocks of a grid that no radar covers. Run `[row, start, end]` is blocks start .. end - 1 of a row of blocks, rows from north,
 * columns from west; the corner of the first block is at `north`, `west`.
 */
export interface UncoveredBlocks {
  readonly north: number;
  readonly west: number;
  /** Side of a block. */
  readonly step_deg: number;
  readonly rows: number;
  readonly cols: number;
  readonly runs: readonly (readonly [row: number, start: number, end: number])[];
}

/** Input of the stages of one scan: plain data that can be sent between threads. */
export interface ScanInput {
  readonly scan_time: number;
  readonly simulated: boolean;
  readonly mesh: HailField;
  /** Area without radar coverage; null where it is not known. */
  readonly uncovered: UncoveredBlocks | null;
  readonly companions: CompanionValues;
  /** Objects of the ProbSevere file that belongs to the scan; null without one. */
  readonly probsevere: readonly ProbSevereObject[] | null;
  /** Products that were read, MESH first. */
  readonly products: readonly string[];
  /** PMTiles archive of its reflectivity; absent unless requested, and without the product. */
  readonly reflectivity_tiles?: Uint8Array;
}

/** Calls `visit` with the lattice row and the index of every pixel of a field, rows from north, columns from west. */
export function eachPixel({ window, rowStart }: HailField, visit: (row: number, pixel: number) => void): void {
  for (let r = 0; r < window.rows; r++)
    for (let pixel = rowStart[r]; pixel < rowStart[r + 1]; pixel++) visit(window.row0 + r, pixel);
}

/** Index of the first pixel of a lattice row at or after a lattice column. */
export function lowerBound(field: HailField, row: number, col: number): number {
  const r = row - field.window.row0;
  let low = field.rowStart[r];
  let high = field.rowStart[r + 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (field.col[middle] < col) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** MESH in tenths of a millimetre at a lattice position; 0 where the field has no pixel. */
export function tenthsAt(field: HailField, row: number, col: number): number {
  if (row < field.window.row0 || row >= field.window.row0 + field.window.rows) return 0;
  const index = lowerBound(field, row, col);
  const end = field.rowStart[row - field.window.row0 + 1];
  return index < end && field.col[index] === col ? field.tenths[index] : 0;
}

/** Heights above sea level on a regular grid of latitudes and longitudes, read a few rows at a time; row 0 is the northernmost. */
export interface HeightGrid extends HeightCells {
  readonly rows: number;
  readonly cols: number;
  /** `count` rows from row `first` on, west to east, m; NaN where the height is not known. */
  readonly readRows: (first: number, count: number) => Promise<Float32Array[]>;
}
