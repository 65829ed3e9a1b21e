import { LATTICE } from '../../schemas/geo/lattice.ts';
import { memoize } from './memoize.ts';
import { readUncovered } from './scan-coverage.ts';

/** Rectangles of the lattice that no radar covered, each for a stretch of scans. */
export interface Patches {
  /** Numbers of the patches that hold a pixel. */
  readonly holding: (row: number, col: number) => readonly number[];
  /** First and last scan without coverage there, epoch milliseconds. */
  readonly stretchOf: (place: number) => readonly [first_ms: number, last_ms: number];
}

/** Archives remembered, about 7 kB each: ninety dates, so that many questions about the same dates read each once. */
const ARCHIVES_KEPT = 90 * 24;
/** By path, null for one that says nothing: published archives never change under their name. */
const archives = new Map<string, Promise<Patches['holding'] | null>>();

/** Patches from their columns: first row, last row, first column, last column, first and last scan. */
export function patchesOf(columns: readonly Float64Array[]): Patches {
  const [rows = new Float64Array(), , , , first, last] = columns;
  const order = ascending(rows);
  const rectangles = new Uint16Array(4 * rows.length);
  let tallest = 1;
  for (const [place, index] of order.entries()) {
    for (let side = 0; side < 4; side++)
      rectangles[4 * place + side] = (columns[side] as Float64Array)[index] as number;
    tallest = Math.max(tallest, (rectangles[4 * place + 1] as number) - (rectangles[4 * place] as number) + 1);
  }
  const [first_ms, last_ms] = [first, last].map((column) =>
    Float64Array.from(order, (index) => column?.[index] ?? Number.NaN),
  ) as [Float64Array, Float64Array];
  return {
    stretchOf: (place) => [first_ms[place] as number, last_ms[place] as number],
    holding: (row, col) => {
      const found: number[] = [];
      for (let at = 4 * firstRowFrom(rectangles, row - tallest + 1); at < rectangles.length; at += 4) {
        if ((rectangles[at] as number) > row) break;
        const isHeld =
          (rectangles[at + 1] as number) >= row &&
          (rectangles[at + 2] as number) <= col &&
          (rectangles[at + 3] as number) >= col;
        if (isHeld) found.push(at / 4);
      }
      return found;
    },
  };
}

/** Places of values so that they ascend; files mostly have that order already. */
export function ascending(values: Float64Array): Uint32Array {
  const order = Uint32Array.from(values, (_, index) => index);
  const isSorted = values.every((value, index) => index === 0 || (values[index - 1] as number) <= value);
  return isSorted ? order : order.sort((a, b) => (values[a] as number) - (values[b] as number));
}

/** Place of the first rectangle whose first row is not before a row. */
function firstRowFrom(rectangles: Uint16Array, row: number): number {
  let [low, high] = [0, rectangles.length / 4];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((rectangles[4 * middle] as number) < row) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What the archive of a scan says that no radar covered, for a stretch of time; no patch where it says nothing. */
export async function archivePatches(path: string, first_ms: number, last_ms: number): Promise<Patches> {
  const holding = await memoize(archives, ARCHIVES_KEPT, path, () => readArchive(path));
  return { holding: holding ?? (() => []), stretchOf: () => [first_ms, last_ms] };
}

async function readArchive(path: string): Promise<Patches['holding'] | null> {
  const said = await readUncovered(path);
  if (said === null) return null;
  const { north, west, step_deg, rows, cols, runs } = said;
  const px = (degrees: number) => Math.round(degrees / LATTICE.step);
  const [row0, col0] = [px(LATTICE.north - north), px(west - LATTICE.west)];
  const [row_end, col_end] = [row0 + px(rows * step_deg), col0 + px(cols * step_deg)];
  const column = (make: (run: (typeof runs)[number]) => number) => Float64Array.from(runs, make);
  return patchesOf([
    column(([row]) => row0 + px(row * step_deg)),
    column(([row]) => Math.min(row_end, row0 + px((row + 1) * step_deg)) - 1),
    column(([, start]) => col0 + px(start * step_deg)),
    column(([, , end]) => Math.min(col_end, col0 + px(end * step_deg)) - 1),
  ]).holding;
}
