import { geodesicAreaKm2, pixelHull, ringCentroid } from '../../schemas/geo/hull.ts';
import type { Position } from '../../schemas/geo/position.ts';
import type { Ring } from '../../schemas/geo/rings.ts';

/** Pixels by rows of the lattice, each row once, from north: line k reaches from column west[k] to east[k] of row[k], both included. */
export interface PixelLines {
  readonly row: readonly number[];
  readonly west: readonly number[];
  readonly east: readonly number[];
}

/** Geodesic area and centre of the convex hull of some pixels; one or two pixels have their own box. Throws without any. */
export function affectedArea(lines: PixelLines): { area_km2: number; centroid: Position } {
  const hull = hullOf(lines);
  return { area_km2: geodesicAreaKm2(hull), centroid: ringCentroid(hull) };
}

/** Convex hull of the corners of some pixels, as `pixelHull` has it. Throws without any. */
export function hullOf({ row, west, east }: PixelLines): Ring {
  if (row.length === 0) throw new RangeError('no pixels were given, expected at least one');
  const western = envelope(row, west);
  const eastern = envelope(
    row,
    east.map((col) => -col),
  );
  const at = (values: readonly number[], indices: readonly number[]) => indices.map((i) => values[i]);
  return pixelHull({
    rows: [...at(row, western), ...at(row, eastern)],
    cols: [...at(west, western), ...at(east, eastern)],
  });
}

/**
 * Indices of the lines on the convex side of smallest `col`: only they touch the hull, since all pixels have one shape.
 * Source: one chain of Andrew 1979; `row` ascends, so nothing is sorted.
 */
function envelope(row: readonly number[], col: readonly number[]): number[] {
  const chain: number[] = [];
  const bends = (a: number, b: number, c: number) => {
    const [ra, rb, rc] = [row[a], row[b], row[c]] as [number, number, number];
    const [ca, cb, cc] = [col[a], col[b], col[c]] as [number, number, number];
    return (cb - ca) * (rc - rb) < (cc - cb) * (rb - ra);
  };
  for (let i = 0; i < row.length; i++) {
    while (chain.length > 1 && !bends(chain.at(-2) as number, chain.at(-1) as number, i)) chain.pop();
    chain.push(i);
  }
  return chain;
}
