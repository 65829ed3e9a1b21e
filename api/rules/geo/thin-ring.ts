import KDBush from 'kdbush';
import { RAD_PER_DEG } from '../../../schemas/geo/constants.ts';
import { type MicroRing, turnOf } from './micro-ring.ts';

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
  const fixed = outermost(ring);
  const vertices = vertexIndex(ring);
  /** Number of changes of a vertex's neighbours: candidates with an older number are void. */
  const changes = new Int32Array(count);
  const waiting = createHeap();
  /** Candidates by the vertex that lies in their triangle: they can go once it is gone. */
  const held = new Map<number, Candidate[]>();

  const offer = (vertex: number) => {
    if (fixed.includes(vertex)) return;
    const area =
      Math.abs(turnOf(ring, before[vertex], vertex, after[vertex])) * Math.cos((y[vertex] / 1e6) * RAD_PER_DEG);
    waiting.push({ vertex, area, change: changes[vertex] });
  };
  for (let vertex = 0; vertex < count; vertex++) offer(vertex);

  for (let left = count; left > most; ) {
    const candidate = waiting.pop();
    if (candidate === undefined) throw new RangeError(`no vertex of ${left} can go, expected ${most} to be left`);
    const { vertex, change } = candidate;
    if (change !== changes[vertex]) continue;
    const [a, c] = [before[vertex], after[vertex]];
    const inside = vertices.anyInside(a, vertex, c);
    if (inside !== null) {
      const others = held.get(inside);
      if (others === undefined) held.set(inside, [candidate]);
      else others.push(candidate);
      continue;
    }
    vertices.remove(vertex);
    after[a] = c;
    before[c] = a;
    left -= 1;
    changes[vertex] += 1;
    for (const neighbour of [a, c]) {
      changes[neighbour] += 1;
      offer(neighbour);
    }
    for (const freed of held.get(vertex) ?? []) if (freed.change === changes[freed.vertex]) waiting.push(freed);
    held.delete(vertex);
  }

  const kept = [fixed[0]];
  for (let vertex = after[fixed[0]]; vertex !== fixed[0]; vertex = after[vertex]) kept.push(vertex);
  return { x: Float64Array.from(kept, (vertex) => x[vertex]), y: Float64Array.from(kept, (vertex) => y[vertex]) };
}

interface Candidate {
  readonly vertex: number;
  /** Twice the area of the triangle with its neighbours, millionths of a degree squared as wide as at the equator. */
  readonly area: number;
  readonly change: number;
}

/** A westernmost, southernmost, easternmost and northernmost vertex. */
function outermost({ x, y }: MicroRing): [number, number, number, number] {
  const found: [number, number, number, number] = [0, 0, 0, 0];
  for (let i = 1; i < x.length; i++) {
    if (x[i] < x[found[0]]) found[0] = i;
    if (y[i] < y[found[1]]) found[1] = i;
    if (x[i] > x[found[2]]) found[2] = i;
    if (y[i] > y[found[3]]) found[3] = i;
  }
  return found;
}

/** Finds vertices in triangles. The index is made again once half of its vertices are gone, so that few of those are looked at. */
function vertexIndex(ring: MicroRing) {
  const { x, y } = ring;
  const gone = new Uint8Array(x.length);
  const make = (vertices: readonly number[]) => {
    const tree = new KDBush(vertices.length);
    for (const vertex of vertices) tree.add(x[vertex], y[vertex]);
    tree.finish();
    return { tree, vertices, left: vertices.length };
  };
  let index = make([...x.keys()]);
  return {
    remove: (vertex: number): void => {
      gone[vertex] = 1;
      index.left -= 1;
      if (2 * index.left < index.vertices.length) index = make(index.vertices.filter((one) => gone[one] === 0));
    },
    /** A vertex that lies in the triangle of three others or on its edge; null without one. */
    anyInside: (a: number, b: number, c: number): number | null => {
      const [p, q, r] = turnOf(ring, a, b, c) >= 0 ? [a, b, c] : [a, c, b];
      const box = [
        Math.min(x[a], x[b], x[c]),
        Math.min(y[a], y[b], y[c]),
        Math.max(x[a], x[b], x[c]),
        Math.max(y[a], y[b], y[c]),
      ] as const;
      for (const at of index.tree.range(...box)) {
        const vertex = index.vertices[at] as number;
        if (gone[vertex] === 1 || vertex === a || vertex === b || vertex === c) continue;
        const [of_pq, of_qr, of_rp] = [
          turnOf(ring, p, q, vertex),
          turnOf(ring, q, r, vertex),
          turnOf(ring, r, p, vertex),
        ];
        if (of_pq >= 0 && of_qr >= 0 && of_rp >= 0) return vertex;
      }
      return null;
    },
  };
}

/** A binary heap: the smallest area first, of equal ones the first vertex. */
function createHeap() {
  const items: Candidate[] = [];
  const isBefore = (a: Candidate, b: Candidate) => a.area - b.area || a.vertex - b.vertex;
  return {
    push: (item: Candidate): void => {
      let at = items.length;
      while (at > 0) {
        const parent = (at - 1) >> 1;
        if (isBefore(items[parent] as Candidate, item) <= 0) break;
        items[at] = items[parent] as Candidate;
        at = parent;
      }
      items[at] = item;
    },
    pop: (): Candidate | undefined => {
      const first = items[0];
      const last = items.pop();
      if (last === undefined || items.length === 0) return first;
      let at = 0;
      for (;;) {
        let child = 2 * at + 1;
        if (child >= items.length) break;
        if (child + 1 < items.length && isBefore(items[child + 1] as Candidate, items[child] as Candidate) < 0) child++;
        if (isBefore(last, items[child] as Candidate) <= 0) break;
        items[at] = items[child] as Candidate;
        at = child;
      }
      items[at] = last;
      return first;
    },
  };
}
