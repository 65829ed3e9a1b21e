import geodesic from 'geographiclib-geodesic';
import { LATTICE } from './lattice.ts';
import type { Position } from './position.ts';
import type { PixelSet, Ring } from './rings.ts';

/**
 * Convex hull of points in the plane as a closed counter-clockwise ring without collinear vertices, from the leftmost,
 * then lowest point. Of one point or of points on a line it is that point or line, there and back.
 * Source: Andrew's monotone chain, 1979.
 */
export function convexHull(points: readonly number[][]): Ring {
  const sorted = points.toSorted((a, b) => a[0] - b[0] || a[1] - b[1]);
  const lower = chain(sorted);
  const upper = chain(sorted.reverse());
  return [...lower, ...upper.slice(1)];
}

/** The chain of left turns from the first to the last point. */
function chain(points: readonly number[][]): number[][] {
  const turns: number[][] = [];
  for (const point of points) {
    while (turns.length > 1 && turn(turns.at(-2) as number[], turns.at(-1) as number[], point) <= 0) turns.pop();
    turns.push(point);
  }
  return turns;
}

/** Turn of the way from a over b to c: positive to the left, negative to the right, 0 straight on or back. */
export function turn([ax, ay]: readonly number[], [bx, by]: readonly number[], [cx, cy]: readonly number[]): number {
  return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
}

/**
 * Convex hull of the corners of pixels, `[lon, lat]` in exact edges of the lattice, straight between longitude and latitude
 * as GeoJSON has it: every pixel lies inside. Empty for no pixels; the pixel's own box for one.
 */
export function pixelHull({ rows, cols }: PixelSet): Ring {
  const { per_degree, west: edge, north } = LATTICE;
  const west = new Map<number, number>();
  const east = new Map<number, number>();
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i];
    const col = cols[i];
    west.set(row, Math.min(west.get(row) ?? col, col));
    east.set(row, Math.max(east.get(row) ?? col, col));
  }
  const corners = Array.from(west, ([row, col]) => {
    const right = (east.get(row) as number) + 1;
    return [
      [col, -row],
      [right, -row],
      [col, -row - 1],
      [right, -row - 1],
    ];
  }).flat();
  if (corners.length === 0) return [];
  return convexHull(corners).map(([x, y]) => [
    (per_degree * edge + x) / per_degree,
    (per_degree * north + y) / per_degree,
  ]);
}

/** Area inside a ring whose edges are geodesics of WGS84, km2. Source: Karney 2013, J. Geodesy 87, 43-55. */
export function geodesicAreaKm2(ring: Ring): number {
  const polygon = geodesic.Geodesic.WGS84.Polygon(false);
  for (const [lon, lat] of ring.slice(0, -1)) polygon.AddPoint(lat as number, lon as number);
  return Math.abs(polygon.Compute(false, true).area as number) / 1e6;
}

/**
 * Centre of gravity of a ring, inside it where it is convex: triangles from the first vertex, each weighed at its three edge
 * midpoints by the cosine of latitude, which stands for area on the globe.
 */
export function ringCentroid(ring: Ring): Position {
  const [first, ...rest] = ring.slice(0, -1) as [number[], ...number[][]];
  let weight = 0;
  let lon = 0;
  let lat = 0;
  rest.slice(1).forEach((corner, i) => {
    const triangle = [first, rest[i] as number[], corner] as [number[], number[], number[]];
    const area = turn(...triangle);
    triangle.forEach((a, k) => {
      const b = triangle[(k + 1) % 3] as number[];
      const middleLon = (a[0] + b[0]) / 2;
      const middleLat = (a[1] + b[1]) / 2;
      const share = area * Math.cos((middleLat * Math.PI) / 180);
      weight += share;
      lon += share * middleLon;
      lat += share * middleLat;
    });
  });
  return { lat: lat / weight, lon: lon / weight };
}
