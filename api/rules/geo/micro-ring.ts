import Flatbush from 'flatbush';
import type { Ring } from '../../../schemas/geo/rings.ts';

/**
 * A ring in whole millionths of a degree, as GeoJSON is written with six decimals (0.1 m): vertices in order, the first not
 * repeated at the end. Turns between its vertices are exact where it spans less than 94 degrees each way, CONUS by far.
 */
export type MicroRing = Readonly<Record<'x' | 'y', Float64Array>>;

const PER_DEGREE = 1e6;

/** A closed ring on the grid of millionths; positions that repeat the one before them are left out. */
export function toMicroRing(ring: Ring): MicroRing {
  const x: number[] = [];
  const y: number[] = [];
  for (const [lon, lat] of ring as [number, number][]) {
    const [px, py] = [Math.round(lon * PER_DEGREE), Math.round(lat * PER_DEGREE)];
    if (px === x.at(-1) && py === y.at(-1)) continue;
    x.push(px);
    y.push(py);
  }
  if (x.length > 1 && x[0] === x.at(-1) && y[0] === y.at(-1)) {
    x.pop();
    y.pop();
  }
  return { x: Float64Array.from(x), y: Float64Array.from(y) };
}

/** Closed ring in degrees. */
export function fromMicroRing({ x, y }: MicroRing): Ring {
  const ring = Array.from(x, (lon, i) => [lon / PER_DEGREE, y[i] / PER_DEGREE]);
  return [...ring, [...(ring[0] as number[])]];
}

/** A vertex as text, longitude first. */
export function placeOf({ x, y }: MicroRing, i: number): string {
  return `${x[i] / PER_DEGREE} ${y[i] / PER_DEGREE}`;
}

/** Positive where the way from vertex a over b to c turns left, negative to the right, 0 straight on or back. */
export function turnOf({ x, y }: MicroRing, a: number, b: number, c: number): number {
  return turnTo(x[a], y[a], x[b], y[b], x[c], y[c]);
}

/** The turn of the way from a over b to c. */
export function turnTo(ax: number, ay: number, bx: number, by: number, cx: number, cy: number): number {
  return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
}

/** Order of two vertices from west, then from south. */
export function fromWest({ x, y }: MicroRing, a: number, b: number): number {
  return x[a] - x[b] || y[a] - y[b];
}

/** True when all vertices lie on a line, or there are fewer than three. */
export function isFlat(ring: MicroRing): boolean {
  return ring.x.every((_, i) => turnOf(ring, 0, 1, i) === 0);
}

/** A ring that does not touch itself, wound counter-clockwise. */
export function counterClockwise(ring: MicroRing): MicroRing {
  const { x, y } = ring;
  const count = x.length;
  let least = 0;
  for (let i = 1; i < count; i++) if (fromWest(ring, i, least) < 0) least = i;
  const isSo = turnOf(ring, (least + count - 1) % count, least, (least + 1) % count) > 0;
  return isSo ? ring : { x: x.toReversed(), y: y.toReversed() };
}

/** A westernmost, southernmost, easternmost and northernmost vertex, the first of equals. */
export function outermost(vertices: readonly Readonly<Record<'x' | 'y', number>>[]): number[] {
  const first = (value: (vertex: (typeof vertices)[number]) => number) =>
    vertices.reduce((least, vertex, i) => (value(vertex) < value(vertices[least] as typeof vertex) ? i : least), 0);
  return [first(({ x }) => x), first(({ y }) => y), first(({ x }) => -x), first(({ y }) => -y)];
}

/** Index of the edges by their boxes; edge e leads from vertex e to the next. */
export function edgeTree({ x, y }: MicroRing): Flatbush {
  const tree = new Flatbush(x.length);
  for (let a = 0; a < x.length; a++) {
    const b = (a + 1) % x.length;
    tree.add(Math.min(x[a], x[b]), Math.min(y[a], y[b]), Math.max(x[a], x[b]), Math.max(y[a], y[b]));
  }
  tree.finish();
  return tree;
}
