import type { Grid, HailField } from '../../../pipeline/grid.ts';
import { LATTICE } from '../../../schemas/geo/lattice.ts';

/** Where a drawing lies on the lattice: its first row and column. By default near 40 N, 95 W. */
export interface Origin {
  readonly row0?: number;
  readonly col0?: number;
}

/** Mark of a pixel without coverage in `drawTenths`; 0 is covered and dry. */
const UNCOVERED = -1;

/**
 * HailField of a picture: each digit is tens of mm, '.' is covered and dry, 'x' is no coverage.
 * Single spaces between the marks are ignored; a row ends at two spaces, so a picture may carry its legend.
 */
export function draw(picture: string, origin: Origin & { readonly mm_per_digit?: number } = {}): HailField {
  const tenths = 10 * (origin.mm_per_digit ?? 10);
  return drawTenths(
    marks(picture).map((row) => row.map((mark) => pixel(mark, tenths))),
    origin,
  );
}

/** HailField of rows of tenths of a millimetre; 0 is covered and dry, UNCOVERED is no coverage. */
export function drawTenths(values: readonly (readonly number[])[], origin: Origin = {}): HailField {
  const { row0 = 1500, col0 = 3500 } = origin;
  const rows = values.length;
  const cols = Math.max(0, ...values.map((row) => row.length));
  if (values.some((row) => row.length !== cols)) throw new TypeError('rows of a drawing differ in length');
  if (row0 + rows > LATTICE.rows || col0 + cols > LATTICE.cols) throw new RangeError('drawing leaves the lattice');
  const rowStart = new Uint32Array(rows + 1);
  const col: number[] = [];
  const tenths: number[] = [];
  let uncovered_px = 0;
  values.forEach((row, r) => {
    row.forEach((value, c) => {
      if (value === UNCOVERED) uncovered_px++;
      if (value > 0) {
        col.push(col0 + c);
        tenths.push(value);
      }
    });
    rowStart[r + 1] = col.length;
  });
  return {
    window: { row0, col0, rows, cols },
    rowStart,
    col: Uint16Array.from(col),
    tenths: Uint16Array.from(tenths),
    covered_px: rows * cols - uncovered_px,
    uncovered_px,
  };
}

/** A composite of reflectivity of rows of dBZ, packed as real ones are: -999 is no coverage, -99 is covered without an echo. */
export function composite(values: readonly (readonly number[])[], origin: Origin = {}): Grid {
  const { row0 = 1500, col0 = 3500 } = origin;
  return {
    product: 'MergedReflectivityQCComposite',
    unit: 'dBZ',
    scan_time: Date.UTC(2026, 4, 1, 20, 12),
    simulated: false,
    window: { row0, col0, rows: values.length, cols: values[0]?.length ?? 0 },
    packed: Uint16Array.from(values.flat(), (dbz) => Math.round(10 * dbz) + 9990),
    reference: -9990,
    binary_scale: 0,
    decimal_scale: 1,
    no_coverage: -999,
    missing: -99,
    missing_as: Number.NaN,
  };
}

function marks(picture: string): string[][] {
  return picture
    .split('\n')
    .map((line) => [...(line.trimStart().split('  ')[0] as string).replaceAll(' ', '')])
    .filter((row) => row.length > 0);
}

function pixel(mark: string, tenths_per_digit: number): number {
  if (mark === '.') return 0;
  if (mark === 'x') return UNCOVERED;
  if (!/^\d$/.test(mark)) throw new TypeError(`mark is '${mark}', expected a digit, '.' or 'x'`);
  return Number(mark) * tenths_per_digit;
}
