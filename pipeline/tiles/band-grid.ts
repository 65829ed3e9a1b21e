import type { Grid } from '../grid.ts';

/**
 * Band of each square of pixels: 0 for unpainted, k for the k-th band. Squares are aligned with the lattice: square (r, c) of
 * side s begins at lattice row s x (row0 + r), lattice column s x (col0 + c).
 */
export interface BandGrid {
  /** Pixels along a side of a square. */
  readonly side: number;
  readonly row0: number;
  readonly col0: number;
  readonly rows: number;
  readonly cols: number;
  readonly bands: Uint8Array;
}

/** Tolerance of a bound in packed units, which are integers. */
const ROUNDING = 1e-6;

/**
 * Band of each pixel of a grid: the last of the ascending `bounds` that its value reaches. Sentinels are below all bounds.
 * `changes`: number of changes of band along the rows, a measure of the length of the outlines.
 */
export function bandGrid(grid: Grid, bounds: readonly number[]): BandGrid & { readonly changes: number } {
  const { packed, window } = grid;
  const least = bounds.map((bound) =>
    Math.ceil((bound * 10 ** grid.decimal_scale - grid.reference) / 2 ** grid.binary_scale - ROUNDING),
  );
  const bands = new Uint8Array(packed.length);
  let changes = 0;
  let before = 0;
  for (let i = 0; i < packed.length; i++) {
    const value = packed[i];
    let band = 0;
    while (band < least.length && value >= least[band]) band++;
    if (band === before) {
      if (band > 0) bands[i] = band;
      continue;
    }
    bands[i] = band;
    before = band;
    changes++;
  }
  return { side: 1, ...window, bands, changes };
}

/** Grid of squares of twice the side, each with the highest band of its four squares: no echo vanishes and peaks keep their band. */
export function coarser({ side, row0, col0, rows, cols, bands }: BandGrid): BandGrid {
  const [top, left] = [row0 >> 1, col0 >> 1];
  const height = ((row0 + rows + 1) >> 1) - top;
  const width = ((col0 + cols + 1) >> 1) - left;
  const merged = new Uint8Array(height * width);
  for (let r = 0; r < rows; r++) {
    const line = (((row0 + r) >> 1) - top) * width - left;
    for (let c = 0, at = r * cols; c < cols; c++, at++) {
      const band = bands[at];
      if (band === 0) continue;
      const to = line + ((col0 + c) >> 1);
      if (merged[to] < band) merged[to] = band;
    }
  }
  return { side: 2 * side, row0: top, col0: left, rows: height, cols: width, bands: merged };
}
