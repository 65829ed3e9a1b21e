import { LATTICE } from '../../schemas/geo/lattice.ts';

import { type Grid, gridValue } from '../grid.ts';
import { forEachRun } from './packed-runs.ts';
import { isProductValue, type Product, productValueWords, quietValue } from './products.ts';
import { badFile } from './rejected-item.ts';

/**
 * Pixels of a window that rain, or the hail of a day, does not fill, of 0.01 degrees: ten by ten degrees. Widespread rain fills
 * smaller windows.
 */
const QUIET_WINDOW_PX = 1_000_000;
/** The same for the hail of one scan: 30 by 30 km. */
const QUIET_HAIL_WINDOW_PX = 900;
const HAIL_OF_ONE_SCAN: readonly string[] = ['MESH', 'POSH', 'SHI'];

/** Pixels of a window whose values distinguish weather from sentinels: one by one degree. */
const WEATHER_WINDOW_PX = 10_000;
/** Steps from a sentinel to the nearest other value, at least: -1 and 0 of a product in tenths. */
const APART_STEPS = 10;
/** In real windows this large that weather fills, values that far from all others are at 0.05 % of the pixels at most. */
const MAX_APART_SHARE = 0.05;
/** The rain of real windows this large has its commonest rate at 12 % of the pixels at most. */
const MAX_SAME_RAIN_SHARE = 0.5;

/**
 * Throws BadInput for a grid whose values cannot be those of its product: a wrong reference, scale or width of the packed
 * numbers shifts all values, and nothing else in the file shows it. Every MRMS grid satisfies, in any packing:
 * - each value is a sentinel of the product or lies within its range;
 * - the corners of the full CONUS lattice have no coverage (the nearest radars are more than 480 km away);
 * - a window that weather cannot fill has a pixel with nothing in it, if it has any coverage;
 * - a smaller one without such a pixel has no value that stands in for it.
 * The error is about `subject` and has the value found and those expected.
 */
export function checkGridValues(grid: Grid, product: Product, subject: string): void {
  const { window, packed } = grid;
  const bad = (reason: string) => badFile(subject, reason);
  const quiet = quietValue(product);
  let isCovered = false;
  let isQuiet = false;
  const check = (x: number) => {
    const value = gridValue(grid, x);
    if (!isProductValue(product, value)) {
      const at = packed.indexOf(x);
      const place = `row ${window.row0 + Math.floor(at / window.cols)}, column ${window.col0 + (at % window.cols)}`;
      throw bad(`value ${value} at ${place} of the lattice, expected ${productValueWords(product)}`);
    }
    if (value === quiet) isQuiet = true;
    if (value !== product.no_coverage) isCovered = true;
  };
  forEachDistinct(packed, check);
  if (window.rows === LATTICE.rows && window.cols === LATTICE.cols) {
    const last = packed.length - 1;
    for (const at of [0, window.cols - 1, last - window.cols + 1, last]) {
      const value = gridValue(grid, packed[at]);
      if (value !== product.no_coverage)
        throw bad(`value ${value} in a corner of the lattice, expected ${product.no_coverage}, no coverage`);
    }
  }
  const quiet_px = HAIL_OF_ONE_SCAN.includes(product.name) ? QUIET_HAIL_WINDOW_PX : QUIET_WINDOW_PX;
  const isWide = packed.length >= quiet_px;
  if (isCovered && !isQuiet && isWide)
    throw bad(`no pixel of ${packed.length} has the value ${quiet}, expected some with nothing to see`);
  const background = isCovered && !isQuiet && packed.length >= WEATHER_WINDOW_PX ? backgroundOf(grid, product) : null;
  if (background !== null)
    throw bad(`the value ${background} has the pixels of a background and ${quiet} has none, expected the reverse`);
}

/** The value that is as common as only a background is: far from all others, or that of most of the rain; null without one. */
function backgroundOf(grid: Grid, product: Product): number | null {
  const counts = new Map<number, number>();
  forEachRun(grid.packed, (from, to) => {
    for (let i = from; i < to; i++) counts.set(grid.packed[i], (counts.get(grid.packed[i]) ?? 0) + 1);
  });
  const covered = [...counts].filter(([x]) => gridValue(grid, x) !== product.no_coverage).sort(([a], [b]) => a - b);
  const all = covered.reduce((sum, [, count]) => sum + count, 0);
  const steps = covered.slice(1).map(([x], i) => x - covered[i][0]);
  const step = Math.min(...steps);
  const found = covered.find(([, count], i) => {
    const isApart = Math.min(steps[i - 1] ?? Infinity, steps[i] ?? Infinity) >= APART_STEPS * step;
    return (
      (isApart && count > MAX_APART_SHARE * all) || (product.missing === null && count > MAX_SAME_RAIN_SHARE * all)
    );
  });
  return found === undefined ? null : gridValue(grid, found[0]);
}

/** Calls back with each packed number at least once; numbers of 8 and 16 bits once. */
function forEachDistinct(packed: Grid['packed'], visit: (x: number) => void): void {
  const perWord = 4 / packed.BYTES_PER_ELEMENT;
  if (packed instanceof Uint32Array) {
    forEachRun(packed, (from) => visit(packed[from]));
    return;
  }
  const seen = new Uint8Array(2 ** (8 * packed.BYTES_PER_ELEMENT));
  forEachRun(packed, (from, to) => {
    for (let i = from; i < to && i < from + perWord; i++) seen[packed[i]] = 1;
  });
  for (let x = 0; x < seen.length; x++) if (seen[x] === 1) visit(x);
}
