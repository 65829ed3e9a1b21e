import { colLon, LATTICE, rowLat, type Window } from './lattice.ts';
import type { MultiPolygon } from './rings.ts';

/**
 * Pixels of the lattice as runs along rows, from north and west: run k covers columns start[k] .. end[k] - 1 of row[k].
 * Runs of a row do not overlap.
 */
export interface PixelRuns {
  readonly row: Uint16Array;
  readonly start: Uint16Array;
  readonly end: Uint16Array;
}

/**
 * Pixels of a window whose centre lies inside polygons, by the even-odd rule along the line of each row's centres.
 *
 * Outlines are straight between longitude and latitude, `[lon, lat]`. An edge shared by two areas is cut the same way for
 * both, so a centre on a common border belongs to exactly one of them: to the one on its east or north.
 */
export function fillPolygons(polygons: MultiPolygon, window: Window): PixelRuns {
  const crossings: number[][] = Array.from({ length: window.rows }, () => []);
  for (const ring of polygons.flat())
    for (let i = 1; i < ring.length; i++) cross(ring[i - 1] as number[], ring[i] as number[], window, crossings);
  const runs: [row: number, start: number, end: number][] = [];
  const lastCol = window.col0 + window.cols;
  crossings.forEach((columns, r) => {
    columns.sort((a, b) => a - b);
    for (let k = 0; k + 1 < columns.length; k += 2) {
      const start = Math.max(window.col0, columns[k]);
      const end = Math.min(lastCol, columns[k + 1]);
      if (start < end) runs.push([window.row0 + r, start, end]);
    }
  });
  return {
    row: Uint16Array.from(runs, ([row]) => row),
    start: Uint16Array.from(runs, ([, start]) => start),
    end: Uint16Array.from(runs, ([, , end]) => end),
  };
}

/** Records, for every row whose line of centres an edge crosses, the first column with its centre at or east of the crossing. */
function cross(from: number[], to: number[], { row0, rows }: Window, crossings: number[][]): void {
  const [low, high] = from[1] < to[1] ? [from, to] : [to, from];
  const [x0, y0, x1, y1] = [low[0], low[1], high[0], high[1]] as [number, number, number, number];
  const first = Math.max(row0, firstRowBelow(y1));
  const end = Math.min(row0 + rows, firstRowBelow(y0));
  for (let row = first; row < end; row++) {
    const x = x0 + ((rowLat(row) - y0) / (y1 - y0)) * (x1 - x0);
    (crossings[row - row0] as number[]).push(firstColFrom(x));
  }
}

/** First row, from north, whose centres lie south of a latitude. */
function firstRowBelow(lat: number): number {
  let row = Math.min(LATTICE.rows, Math.max(0, Math.round((rowLat(0) - lat) / LATTICE.step)));
  while (row > 0 && rowLat(row - 1) < lat) row--;
  while (row < LATTICE.rows && rowLat(row) >= lat) row++;
  return row;
}

/** First column, from west, whose centres lie at or east of a longitude. */
function firstColFrom(lon: number): number {
  let col = Math.min(LATTICE.cols, Math.max(0, Math.round((lon - colLon(0)) / LATTICE.step)));
  while (col > 0 && colLon(col - 1) >= lon) col--;
  while (col < LATTICE.cols && colLon(col) < lon) col++;
  return col;
}
