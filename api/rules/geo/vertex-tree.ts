import { type MicroRing, turnOf } from './micro-ring.ts';

/** Remaining vertices of a ring, searchable by place. */
interface VertexTree {
  /** A vertex in the triangle of three others, its edges included; null when there is none. */
  readonly anyInside: (a: number, b: number, c: number) => number | null;
  readonly remove: (vertex: number) => void;
}

/** Most vertices of a leaf. */
const LEAF = 8;

/**
 * A tree of boxes, each around the vertices below it and halved across its longer side. A search skips boxes outside the triangle
 * and boxes without remaining vertices, so that long thin triangles and dense clusters cost little more than others.
 * Source: Bentley 1975, Communications of the ACM 18, 509-517.
 */
export function vertexTree(ring: MicroRing): VertexTree {
  const { x, y } = ring;
  const order = Int32Array.from(x, (_, i) => i);
  const nodes = 2 ** (Math.ceil(Math.log2(Math.max(1, x.length / LEAF))) + 2);
  const west = new Float64Array(nodes);
  const south = new Float64Array(nodes);
  const east = new Float64Array(nodes);
  const north = new Float64Array(nodes);
  /** Remaining vertices below a node. */
  const present = new Int32Array(nodes);
  const leafOf = new Int32Array(x.length);

  /** Node k holds order[from .. to - 1]; its halves are nodes 2k and 2k + 1. */
  const build = (node: number, from: number, to: number): void => {
    const part = order.subarray(from, to);
    west[node] = part.reduce((least, i) => Math.min(least, x[i]), Infinity);
    south[node] = part.reduce((least, i) => Math.min(least, y[i]), Infinity);
    east[node] = part.reduce((most, i) => Math.max(most, x[i]), -Infinity);
    north[node] = part.reduce((most, i) => Math.max(most, y[i]), -Infinity);
    present[node] = to - from;
    if (to - from <= LEAF) {
      for (const i of part) leafOf[i] = node;
      return;
    }
    const along = east[node] - west[node] > north[node] - south[node] ? x : y;
    part.sort((i, j) => along[i] - along[j]);
    const middle = (from + to) >> 1;
    build(2 * node, from, middle);
    build(2 * node + 1, middle, to);
  };
  build(1, 0, x.length);
  const gone = new Uint8Array(x.length);

  return {
    remove: (vertex) => {
      gone[vertex] = 1;
      for (let node = leafOf[vertex]; node > 0; node >>= 1) present[node] -= 1;
    },
    anyInside: (a, b, c) => {
      const [p, q, r] = turnOf(ring, a, b, c) >= 0 ? [a, b, c] : [a, c, b];
      const [w, e] = [Math.min(x[a], x[b], x[c]), Math.max(x[a], x[b], x[c])];
      const [s, n] = [Math.min(y[a], y[b], y[c]), Math.max(y[a], y[b], y[c])];
      /** True for a box that lies wholly to the right of the way from one vertex to another. */
      const isRight = (i: number, j: number, west: number, south: number, east: number, north: number) => {
        const [dx, dy] = [x[j] - x[i], y[j] - y[i]];
        return dx * ((dx > 0 ? north : south) - y[i]) - dy * ((dy > 0 ? west : east) - x[i]) < 0;
      };
      const isBeside = (west: number, south: number, east: number, north: number) =>
        west > e ||
        east < w ||
        south > n ||
        north < s ||
        isRight(p, q, west, south, east, north) ||
        isRight(q, r, west, south, east, north) ||
        isRight(r, p, west, south, east, north);
      const search = (node: number, from: number, to: number): number | null => {
        if (present[node] === 0 || isBeside(west[node], south[node], east[node], north[node])) return null;
        if (to - from <= LEAF) {
          for (let k = from; k < to; k++) {
            const i = order[k];
            if (gone[i] === 0 && i !== a && i !== b && i !== c && !isBeside(x[i], y[i], x[i], y[i])) return i;
          }
          return null;
        }
        const middle = (from + to) >> 1;
        return search(2 * node, from, middle) ?? search(2 * node + 1, middle, to);
      };
      return search(1, 0, x.length);
    },
  };
}
