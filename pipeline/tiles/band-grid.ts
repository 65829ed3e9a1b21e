import type { Grid } from '../grid.ts';

/**
 * Squares of pixels by the band that they lie in: 0 where nothing is painted, k for the k-th band. Squares are aligned with the
 * lattice: square (r, c) of side s begins at lattice row s x (row0 + r), lattice column s x (col0 + c).
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

/** What a bound in packed units may be off by: they are whole. */
const ROUNDING = 1e-6;

/**
 * The pixels of a grid by the last of the ascending `bounds` that their value reaches; sentinels lie below all of them. `changes`:
 * how often the band changes along the rows, which is what outlines cost.
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

/** Squares of twice the side, each with the highest band of the four in it: nothing vanishes, and a core keeps its height. */
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
