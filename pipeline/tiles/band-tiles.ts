import type { Grid } from '../grid.ts';
import { type BandArea, scratchFor, traceBands } from './band-rings.ts';
import { columnEdges, rowEdges } from './pyramid.ts';

/** Areas of bands in one tile: rings in units of the tile. */
interface BandTile {
  readonly x: number;
  readonly y: number;
  readonly areas: readonly BandArea[];
}

/**
 * The tiles of one zoom with at least one band. Tiles are cut along whole squares, which keeps every polygon valid in the integer
 * coordinates of its tile. A square must be wider than a tile unit. `buffer`: extent of a tile beyond its edge, tile units.
 */
export function* bandTiles(
  grid: BandGrid,
  zoom: number,
  { extent, buffer }: { readonly extent: number; readonly buffer: number },
): Generator<BandTile> {
  const world = extent * 2 ** zoom;
  const xs = columnEdges({ side: grid.side, first: grid.col0, count: grid.cols }, world);
  const ys = rowEdges({ side: grid.side, first: grid.row0, count: grid.rows }, world);
  const columns = spans(xs, extent, buffer);
  const rows = spans(ys, extent, buffer);
  const widest = (all: typeof rows) => Math.max(...all.map(([, from, to]) => to - from + 2));
  const scratch = scratchFor(widest(columns) * widest(rows));
  for (const [y, north, south] of rows)
    for (const [x, west, east] of columns) {
      const cut = cutOut(grid, { north, south, west, east });
      if (cut === null) continue;
      const areas = traceBands(cut, scratch);
      for (const { rings } of areas)
        for (const ring of rings)
          for (let i = 0; i < ring.length; i += 2) {
            // The border of the cut is one square wide.
            ring[i] = xs[west + ring[i] - 1] - x * extent;
            ring[i + 1] = ys[north + ring[i + 1] - 1] - y * extent;
          }
      yield { x, y, areas };
    }
}

/** Tiles along one direction that contain squares: number of the tile, its first square, and the square after its last. */
function spans(edges: Int32Array, extent: number, buffer: number): [tile: number, from: number, to: number][] {
  const found: [number, number, number][] = [];
  const first = Math.floor((edges[0] - buffer) / extent);
  const last = Math.floor((edges[edges.length - 1] + buffer) / extent);
  for (let tile = Math.max(0, first); tile <= last; tile++) {
    const from = edges.findIndex((edge) => edge > tile * extent - buffer) - 1;
    const end = edges.findIndex((edge) => edge >= (tile + 1) * extent + buffer);
    found.push([tile, Math.max(0, from), end === -1 ? edges.length - 1 : end]);
  }
  return found.filter(([, from, to]) => from < to);
}

/** Squares of a part of a grid with an empty border; null when it has no band. */
function cutOut(
  { cols, bands }: BandGrid,
  { north, south, west, east }: Readonly<Record<'north' | 'south' | 'west' | 'east', number>>,
) {
  const width = east - west + 2;
  const height = south - north + 2;
  const cut = new Uint8Array(width * height);
  for (let row = north; row < south; row++)
    cut.set(bands.subarray(row * cols + west, row * cols + east), (row - north + 1) * width + 1);
  const isEmpty = Buffer.compare(cut, new Uint8Array(cut.length)) === 0;
  return isEmpty ? null : { width, height, bands: cut };
}

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
