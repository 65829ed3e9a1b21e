import type { HailField } from '../grid.ts';

/** Lattice row of each of some pixels of a field, given as ascending indices. */
export function latticeRows(field: HailField, pixels: Uint32Array): Uint16Array {
  const rows = new Uint16Array(pixels.length);
  const { rowStart, window } = field;
  let row = pixels.length > 0 ? firstRow(rowStart, pixels[0]) : 0;
  for (let k = 0; k < pixels.length; k++) {
    while (rowStart[row + 1] <= pixels[k]) row++;
    rows[k] = window.row0 + row;
  }
  return rows;
}

/** Window row that holds a pixel. */
function firstRow(rowStart: Uint32Array, pixel: number): number {
  let low = 0;
  let high = rowStart.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (rowStart[middle] <= pixel) low = middle;
    else high = middle;
  }
  return low;
}
