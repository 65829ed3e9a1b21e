import { LRUCache } from 'lru-cache';
import { LATTICE } from '../../schemas/geo/lattice.ts';
import type { DataRoot } from '../published/data-root.ts';
import { memoize } from '../published/memoize.ts';
import { lowerBound } from '../rules/lower-bound.ts';
import { readUncovered } from './scan-coverage.ts';

/** Rectangles of the lattice that no radar covered, each for a stretch of scans. */
export interface Patches {
  /** Numbers of the patches that hold a pixel. */
  readonly holding: (row: number, col: number) => readonly number[];
  /** First and last scan without coverage there, epoch milliseconds. */
  readonly stretchOf: (place: number) => readonly [first_ms: number, last_ms: number];
}

/** Archives in memory, about 7 kB each: ninety dates, so that many questions about the same dates read each once. */
const ARCHIVES_MAX = 90 * 24;
/** By root and path, null for one without coverage: published archives never change under their name. */
const archives = new LRUCache<string, Promise<Patches['holding'] | null>>({ max: ARCHIVES_MAX });

/** Patches from their columns: first row, last row, first column, last column, first and last scan. */
export function patchesOf(columns: readonly Float64Array[]): Patches {
  const order = ascending(columns[0] ?? new Float64Array());
  const sorted = (column: number) => Float64Array.from(order, (index) => columns[column]?.[index] ?? Number.NaN);
  const [row_first, row_last, col_first, col_last] = [0, 1, 2, 3].map((side) => Uint16Array.from(sorted(side)));
  const [first_ms, last_ms] = [sorted(4), sorted(5)];
  const tallest = row_first.reduce((most, row, place) => Math.max(most, row_last[place] - row + 1), 1);
  return {
    stretchOf: (place) => [first_ms[place], last_ms[place]],
    holding: (row, col) => {
      const found: number[] = [];
      for (let place = lowerBound(row_first, row - tallest + 1); row_first[place] <= row; place++)
        if (row_last[place] >= row && col_first[place] <= col && col_last[place] >= col) found.push(place);
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

/** Uncovered patches of a scan's archive, valid for a stretch of time; none where the archive has no coverage. */
export async function archivePatches(
  files: Pick<DataRoot, 'name' | 'part'>,
  path: string,
  first_ms: number,
  last_ms: number,
): Promise<Patches> {
  const holding = await memoize(archives, `${files.name} ${path}`, () => readArchive(files, path));
  return { holding: holding ?? (() => []), stretchOf: () => [first_ms, last_ms] };
}

async function readArchive(files: Pick<DataRoot, 'name' | 'part'>, path: string): Promise<Patches['holding'] | null> {
  const said = await readUncovered(files, path);
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
