import type { Cell } from '../../schemas/tables/radar.ts';
import type { Heading } from './motion.ts';

/** The centroid is tracked, `lat` and `lon` are published; the size is in mm of hail or in the product's own unit. */
type CellColumn = 'cell_index' | 'lat' | 'lon' | `centroid_${'lat' | 'lon'}` | 'area_km2' | 'estimated_size_mm';

/** A cell of one scan, input of the tracker. */
export interface TrackCell extends Readonly<Pick<Cell, CellColumn>> {
  /** Lattice pixels of the cell, in rows from north, columns from west. */
  readonly rows: Uint16Array;
  readonly cols: Uint16Array;
  /** Tenths of the value at each of these pixels. */
  readonly tenths: Uint16Array;
  /** Motion of this storm by another product; null without one. */
  readonly motion_hint: Heading | null;
}

/** A cell, or a part of it while several tracks share the cell. */
export interface CellPart extends TrackCell {
  /** Index of its cell in the scan's list. */
  readonly cell: number;
  /** Number of the part within its cell, 0 for a whole cell. */
  readonly part: number;
  /** Index of the prediction that holds the part; null for a whole cell and for a part that moved too far. */
  readonly held_by: number | null;
  /** The storm that holds the part crosses another one that shares the cell. */
  readonly crossing: boolean;
}

/**
 * Pixels of a cell as runs along lattice rows, flattened: row, first column, length, row, first column, ...
 * An array of numbers, because masks are part of the JSON checkpoint.
 */
export type Mask = readonly number[];

/** Pixels of a scan's cells, looked up by lattice position. */
export type CellAtPixel = ReadonlyMap<number, number>;

const KEY_STEP = 1 << 16; // wider than the lattice, also for a mask moved beyond its edge

export function pixelKey(row: number, col: number): number {
  return row * KEY_STEP + col;
}

/** The runs of a cell's pixels, whose rows never decrease and whose columns increase within a row. */
export function maskOf(rows: Uint16Array, cols: Uint16Array): number[] {
  const runs: number[] = [];
  for (let i = 0; i < rows.length; i++) {
    const end = runs.length;
    const continues = end > 0 && runs[end - 3] === rows[i] && runs[end - 2] + runs[end - 1] === cols[i];
    if (continues) runs[end - 1] = runs[end - 1] + 1;
    else runs.push(rows[i], cols[i], 1);
  }
  return runs;
}

export function maskPixels(mask: Mask): number {
  let pixels = 0;
  for (let i = 2; i < mask.length; i += 3) pixels += mask[i];
  return pixels;
}

/** Index of the cell that contains each pixel of a scan. */
export function cellAtPixel(cells: readonly { readonly rows: Uint16Array; readonly cols: Uint16Array }[]): CellAtPixel {
  const owner = new Map<number, number>();
  cells.forEach((cell, index) => {
    for (let i = 0; i < cell.rows.length; i++) owner.set(pixelKey(cell.rows[i], cell.cols[i]), index);
  });
  return owner;
}

/** Calls `visit` with the key of every pixel of a mask moved by whole rows and columns. */
export function eachPixel(mask: Mask, rows_south: number, cols_east: number, visit: (key: number) => void): void {
  for (let i = 0; i < mask.length; i += 3) {
    const first = pixelKey(mask[i] + rows_south, mask[i + 1] + cols_east);
    const end = first + mask[i + 2];
    for (let key = first; key < end; key++) visit(key);
  }
}

/** Number of pixels within `reach_px` of a mask, moved by whole rows and columns, that belong to each cell. */
export function sharedPixels(
  mask: Mask,
  rows_south: number,
  cols_east: number,
  owner: CellAtPixel,
  reach_px = 0,
): Map<number, number> {
  const shared = new Map<number, number>();
  const count = (key: number) => {
    const cell = owner.get(key);
    if (cell !== undefined) shared.set(cell, (shared.get(cell) ?? 0) + 1);
  };
  if (reach_px === 0) eachPixel(mask, rows_south, cols_east, count);
  else for (const key of pixelsAround(mask, rows_south, cols_east, reach_px)) count(key);
  return shared;
}

function pixelsAround(mask: Mask, rows_south: number, cols_east: number, reach_px: number): Set<number> {
  const wide = mask.map((value, i) => value + [0, -reach_px, 2 * reach_px][i % 3]);
  const keys = new Set<number>();
  for (let south = -reach_px; south <= reach_px; south++)
    eachPixel(wide, rows_south + south, cols_east, (key) => keys.add(key));
  return keys;
}
