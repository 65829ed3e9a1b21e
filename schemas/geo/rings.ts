import { LATTICE } from './lattice.ts';
import { rootOf } from './union-find.ts';

/** A position as GeoJSON writes it, `[lon, lat]`; a ring, first position = last; a shell with its holes; several of them. */
export type Ring = number[][];
export type Polygon = Ring[];
export type MultiPolygon = Polygon[];

/** Twice the area inside a ring, closed or open, in squares of its unit: positive where it runs counter-clockwise. */
export function signedArea(ring: Ring): number {
  let sum = 0;
  let [x0, y0] = ring.at(-1) as [number, number];
  for (const [x1, y1] of ring as [number, number][]) {
    sum += x0 * y1 - x1 * y0;
    [x0, y0] = [x1, y1];
  }
  return sum;
}

/** Pixels of a lattice: row and column of each, in any order; a pixel named twice counts once. */
export interface PixelSet {
  readonly rows: ArrayLike<number>;
  readonly cols: ArrayLike<number>;
}

/** Pixels as runs along rows, from north and west: run k covers columns start[k] .. end[k] - 1 of row[k]. */
interface Runs {
  readonly count: number;
  readonly row: Int32Array;
  readonly start: Int32Array;
  readonly end: Int32Array;
}

/**
 * Corners of the outline, from north and west. A corner ends exactly one horizontal and one vertical edge;
 * where two pixels touch diagonally, two corners share the position and follow each other in the arrays.
 * `next` is the corner at the other end of the outgoing edge, with the pixels on the left.
 */
interface Corners {
  readonly count: number;
  readonly row: Int32Array;
  readonly col: Int32Array;
  readonly next: Int32Array;
  /** A run whose edge the corner lies on. */
  readonly run: Int32Array;
}

/**
 * Outline of a set of pixels as a valid RFC 7946 MultiPolygon: shells counter-clockwise, holes clockwise, longitude
 * before latitude in exact edges of the lattice, no collinear vertices. Pixels that touch only at a corner are
 * separate polygons, and no ring passes through a position twice. Shells come from north, then west. Empty for no pixels.
 */
export function traceMultiPolygon(pixels: PixelSet): MultiPolygon {
  const runs = runsOf(sortedKeys(pixels));
  const component = Int32Array.from({ length: runs.count }, (_, run) => run);
  return assemble(linkCorners(runs, component), component);
}

/** row x columns + column of every pixel, ascending. */
function sortedKeys({ rows, cols }: PixelSet): Uint32Array {
  const keys = new Uint32Array(rows.length);
  let sorted = true;
  for (let i = 0; i < keys.length; i++) {
    keys[i] = rows[i] * LATTICE.cols + cols[i];
    if (i > 0 && keys[i] < keys[i - 1]) sorted = false;
  }
  return sorted ? keys : keys.sort();
}

function runsOf(keys: Uint32Array): Runs {
  const row = new Int32Array(keys.length);
  const start = new Int32Array(keys.length);
  const end = new Int32Array(keys.length);
  let count = 0;
  let open = -1;
  for (const key of keys) {
    const r = Math.floor(key / LATTICE.cols);
    const c = key - r * LATTICE.cols;
    if (open >= 0 && row[open] === r && c <= end[open]) {
      end[open] = c + 1;
      continue;
    }
    open = count++;
    row[open] = r;
    start[open] = c;
    end[open] = c + 1;
  }
  return { count, row, start, end };
}

/**
 * Finds the corners along the lines between rows, from north: an edge lies where exactly one of the two rows has a pixel,
 * a corner where such a stretch starts or ends. Joins runs that share an edge in `component`.
 */
function linkCorners(runs: Runs, component: Int32Array): Corners {
  const row = new Int32Array(4 * runs.count);
  const col = new Int32Array(4 * runs.count);
  const next = new Int32Array(4 * runs.count);
  const run = new Int32Array(4 * runs.count);
  /** Upper end of the open vertical edge of each column at the current line. */
  const hanging = new Int32Array(LATTICE.cols + 1);
  let count = 0;

  const corner = (line: number, column: number): number => {
    row[count] = line;
    col[count] = column;
    return count++;
  };
  const joinVertical = (lower: number, insideWest: boolean): void => {
    const upper = hanging[col[lower]];
    if (insideWest) next[lower] = upper;
    else next[upper] = lower;
  };
  const joinHorizontal = (left: number, right: number, insideNorth: boolean, owner: number): void => {
    if (insideNorth) next[left] = right;
    else next[right] = left;
    run[left] = owner;
    run[right] = owner;
  };

  /** One line; `a` iterates over the runs above it, `b` over those below. */
  const walkLine = (line: number, aFrom: number, aTo: number, bFrom: number, bTo: number): void => {
    let a = aFrom;
    let b = bFrom;
    let above = false;
    let below = false;
    let open = -1;
    while (a < aTo || b < bTo) {
      const nextA = a < aTo ? ((above ? runs.end[a] : runs.start[a]) as number) : LATTICE.cols + 1;
      const nextB = b < bTo ? ((below ? runs.end[b] : runs.start[b]) as number) : LATTICE.cols + 1;
      const column = Math.min(nextA, nextB);
      const turnsAbove = nextA === column;
      const turnsBelow = nextB === column;
      const onEdge = above !== below;
      if (turnsAbove !== turnsBelow || onEdge) {
        const left = corner(line, column);
        if (onEdge) joinHorizontal(open, left, above, above ? a : b);
        if (turnsAbove && turnsBelow) {
          const right = corner(line, column);
          joinVertical(above ? left : right, above);
          hanging[column] = above ? right : left;
          open = right;
        } else {
          if (turnsAbove) joinVertical(left, above);
          else hanging[column] = left;
          open = left;
        }
      }
      if (turnsAbove) {
        if (above) a++;
        above = !above;
      }
      if (turnsBelow) {
        if (below) b++;
        below = !below;
      }
      if (above && below) component[rootOf(component, b)] = rootOf(component, a);
    }
  };

  let previousFrom = 0;
  let from = 0;
  while (from < runs.count) {
    const r = runs.row[from];
    let to = from;
    while (to < runs.count && runs.row[to] === r) to++;
    const adjacent = from > previousFrom && runs.row[previousFrom] === r - 1;
    if (from > previousFrom && !adjacent) walkLine(runs.row[previousFrom] + 1, previousFrom, from, 0, 0);
    walkLine(r, adjacent ? previousFrom : from, from, from, to);
    previousFrom = from;
    from = to;
  }
  if (runs.count > 0) walkLine(runs.row[previousFrom] + 1, previousFrom, runs.count, 0, 0);
  return { count, row, col, next, run };
}

/** Chains the corners into rings and assigns each hole to the shell of its 4-connected component. */
function assemble(corners: Corners, component: Int32Array): MultiPolygon {
  const polygons: MultiPolygon = [];
  const polygonOf = new Map<number, Polygon>();
  const holes: { owner: number; ring: Ring }[] = [];
  for (const path of simplePaths(corners)) {
    const ring = ringOf(corners, path);
    const owner = rootOf(component, corners.run[path[0]]);
    if (signedArea(ring) < 0) holes.push({ owner, ring });
    else {
      const polygon = [ring];
      polygons.push(polygon);
      polygonOf.set(owner, polygon);
    }
  }
  for (const { owner, ring } of holes) (polygonOf.get(owner) as Polygon).push(ring);
  return polygons;
}

/**
 * Closed walks over the corners. A walk that comes back to a position it has passed (a hole that reaches the outside
 * through a diagonal gap, two holes that touch) is cut there in two, so that every walk is a simple ring.
 */
function simplePaths(corners: Corners): number[][] {
  const { count, row, col, next } = corners;
  const walked = new Uint8Array(count);
  const position = new Int32Array(count).fill(-1);
  const paths: number[][] = [];
  const samePlace = (i: number, j: number) => j >= 0 && j < count && row[i] === row[j] && col[i] === col[j];
  for (let first = 0; first < count; first++) {
    if (walked[first]) continue;
    const path: number[] = [];
    let i = first;
    do {
      walked[i] = 1;
      const twin = samePlace(i, i - 1) ? i - 1 : samePlace(i, i + 1) ? i + 1 : -1;
      if (twin >= 0 && position[twin] >= 0) {
        const loop = path.splice(position[twin]);
        for (const j of loop) position[j] = -1;
        paths.push(loop);
      }
      position[i] = path.length;
      path.push(i);
      i = next[i];
    } while (i !== first);
    for (const j of path) position[j] = -1;
    paths.push(path);
  }
  return paths;
}

function ringOf({ row, col }: Corners, path: readonly number[]): Ring {
  const { per_degree, west, north } = LATTICE;
  const ring = path.map((i) => [(per_degree * west + col[i]) / per_degree, (per_degree * north - row[i]) / per_degree]);
  ring.push([...(ring[0] as number[])]);
  return ring;
}
