import { LATTICES, pixelAreaKm2, rowLat, type Window } from '../../../schemas/geo/lattice.ts';

/** A connected patch of pixels. */
export interface Patch {
  readonly pixels: number;
  /** Their positions. */
  readonly members: readonly number[];
  readonly area_km2: number;
  /** Length and width of the rectangle with the same second moments, km: sqrt(12 x eigenvalue). */
  readonly length_km: number;
  readonly width_km: number;
}

/** Patches of 8-connected pixels; `members` are positions row x cols + col in the window, in any order. */
export function patchesOf(members: Iterable<number>, window: Window): Patch[] {
  const left = new Set(members);
  const patches: Patch[] = [];
  for (const start of left) {
    left.delete(start);
    const patch = [start];
    for (const pixel of patch)
      for (const neighbour of neighbours(pixel, window.cols)) if (left.delete(neighbour)) patch.push(neighbour);
    patches.push(measure(patch, window));
  }
  return patches;
}

function neighbours(pixel: number, cols: number): number[] {
  const col = pixel % cols;
  const sides = [-1, 0, 1].filter((step) => col + step >= 0 && col + step < cols);
  return [-cols, 0, cols].flatMap((step) => sides.map((side) => pixel + step + side));
}

function measure(pixels: readonly number[], window: Window): Patch {
  let area_km2 = 0;
  let x = 0;
  let y = 0;
  let xx = 0;
  let yy = 0;
  let xy = 0;
  for (const pixel of pixels) {
    const row = window.row0 + Math.floor(pixel / window.cols);
    const east = 1.1132 * Math.cos((rowLat(LATTICES.conus, row) * Math.PI) / 180) * (pixel % window.cols);
    const south = 1.112 * row;
    area_km2 += pixelAreaKm2(LATTICES.conus, row);
    x += east;
    y += south;
    xx += east * east;
    yy += south * south;
    xy += east * south;
  }
  const n = pixels.length;
  const a = xx / n - (x / n) ** 2;
  const b = yy / n - (y / n) ** 2;
  const c = xy / n - (x / n) * (y / n);
  const root = Math.hypot((a - b) / 2, c);
  return {
    pixels: n,
    members: pixels,
    area_km2,
    length_km: Math.sqrt(12 * Math.max(0, (a + b) / 2 + root)),
    width_km: Math.sqrt(12 * Math.max(0, (a + b) / 2 - root)),
  };
}
