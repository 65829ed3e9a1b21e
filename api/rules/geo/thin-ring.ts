import FlatQueue from 'flatqueue';
import KDBush from 'kdbush';
import { RAD_PER_DEG } from '../../../schemas/geo/constants.ts';
import { type MicroRing, outermost, turnOf } from './micro-ring.ts';

/**
 * A ring with at most `most` of its vertices, four or more. Removes the vertex whose triangle with its neighbours is smallest, one
 * by one, unless another vertex lies in that triangle: a simple ring stays simple. The outermost vertices stay,
 * hence its box. A ring with few enough vertices is returned unchanged; winding is kept. Expects a simple ring.
 * Source: Visvalingam & Whyatt 1993, Cartographic Journal 30, 46-51. That a vertex can always go: a ring that is not convex
 * has a mouth, a vertex between two others that it can be cut off from outside (Toussaint 1991), and no outermost vertex is one.
 */
export function thinRing(ring: MicroRing, most: number): MicroRing {
  const { x, y } = ring;
  const count = x.length;
  if (count <= most) return ring;
  const before = Int32Array.from(x, (_, i) => (i + count - 1) % count);
  const after = Int32Array.from(x, (_, i) => (i + 1) % count);
  const fixed = outermost(Array.from(x, (lon, i) => ({ x: lon, y: y[i] })));
  const gone = new Uint8Array(count);
  let indexed = count;
  let vertexInside = vertexFinder(ring, gone);
  /** Twice the area of the triangle of each vertex, millionths of a degree squared as wide as at the equator. */
  const areas = new Float64Array(count);
  /** Vertices by area. An entry whose area is no longer that of its vertex is void. */
  const smallest = new FlatQueue<number>();
  /** Vertices by the vertex that lies in their triangle: they are offered again once it is gone. */
  const blocked = new Map<number, number[]>();
  const offer = (vertex: number) => {
    if (gone[vertex] === 1 || fixed.includes(vertex)) return;
    const turn = turnOf(ring, before[vertex], vertex, after[vertex]);
    areas[vertex] = Math.abs(turn) * Math.cos((y[vertex] / 1e6) * RAD_PER_DEG);
    smallest.push(vertex, areas[vertex]);
  };
  for (let vertex = 0; vertex < count; vertex++) offer(vertex);

  for (let left = count; left > most; ) {
    const area = smallest.peekValue();
    const vertex = smallest.pop();
    if (vertex === undefined) throw new RangeError(`no vertex of ${left} can go, expected ${most} to be left`);
    if (gone[vertex] === 1 || area !== areas[vertex]) continue;
    const [a, c] = [before[vertex], after[vertex]];
    const inside = vertexInside(a, vertex, c);
    if (inside !== undefined) {
      const others = blocked.get(inside);
      if (others === undefined) blocked.set(inside, [vertex]);
      else others.push(vertex);
      continue;
    }
    gone[vertex] = 1;
    after[a] = c;
    before[c] = a;
    left -= 1;
    // Hardly any of the vertices that are looked at should be gone.
    if (2 * left < indexed) {
      indexed = left;
      vertexInside = vertexFinder(ring, gone);
    }
    for (const one of [a, c, ...(blocked.get(vertex) ?? [])]) offer(one);
  }
  const kept = [fixed[0]];
  for (let vertex = after[fixed[0]]; vertex !== fixed[0]; vertex = after[vertex]) kept.push(vertex);
  return { x: Float64Array.from(kept, (vertex) => x[vertex]), y: Float64Array.from(kept, (vertex) => y[vertex]) };
}

/** Finds a vertex that is not gone in the triangle of three others or on its edge. */
function vertexFinder(ring: MicroRing, gone: Uint8Array): (a: number, b: number, c: number) => number | undefined {
  const { x, y } = ring;
  const vertices = [...x.keys()].filter((vertex) => gone[vertex] === 0);
  const tree = new KDBush(vertices.length);
  for (const vertex of vertices) tree.add(x[vertex], y[vertex]);
  tree.finish();
  return (a, b, c) => {
    const [west, east] = [Math.min(x[a], x[b], x[c]), Math.max(x[a], x[b], x[c])];
    const [south, north] = [Math.min(y[a], y[b], y[c]), Math.max(y[a], y[b], y[c])];
    const [p, q, r] = turnOf(ring, a, b, c) >= 0 ? [a, b, c] : [a, c, b];
    const isInside = (vertex: number) =>
      turnOf(ring, p, q, vertex) >= 0 && turnOf(ring, q, r, vertex) >= 0 && turnOf(ring, r, p, vertex) >= 0;
    return tree
      .range(west, south, east, north)
      .map((at) => vertices[at] as number)
      .find((vertex) => gone[vertex] === 0 && vertex !== a && vertex !== b && vertex !== c && isInside(vertex));
  };
}
