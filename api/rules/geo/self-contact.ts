import { edgeTree, fromWest, type MicroRing, placeOf, turnOf } from './micro-ring.ts';

/**
 * Place where a ring crosses or touches itself, as a phrase; null for a simple ring. Expects three vertices or more, none equal to the
 * one before it. Exact: edges are compared where their boxes meet.
 */
export function selfContact(ring: MicroRing): string | null {
  const { x, y } = ring;
  const count = x.length;
  const passed = new Set<string>();
  for (let b = 0; b < count; b++) {
    const place = placeOf(ring, b);
    if (passed.has(place)) return `passes ${place} twice`;
    passed.add(place);
    const [a, c] = [(b + count - 1) % count, (b + 1) % count];
    const isBack = (x[a] - x[b]) * (x[c] - x[b]) + (y[a] - y[b]) * (y[c] - y[b]) > 0;
    if (isBack && turnOf(ring, a, b, c) === 0) return `goes back on itself at ${place}`;
  }
  return crossing(ring);
}

/** The westernmost contact. Expects distinct vertices and no spike. Edge e leads from vertex e to the next. */
function crossing(ring: MicroRing): string | null {
  const { x, y } = ring;
  const count = x.length;
  const west = Uint32Array.from(x, (_, a) => (fromWest(ring, a, (a + 1) % count) < 0 ? a : (a + 1) % count));
  const tree = edgeTree(ring);
  for (const a of west.map((_, edge) => edge).sort((a, b) => fromWest(ring, west[a], west[b]))) {
    const b = (a + 1) % count;
    const isContact = (c: number) => fromWest(ring, west[c], west[a]) <= 0 && meet(ring, a, c);
    const box = [Math.min(x[a], x[b]), Math.min(y[a], y[b]), Math.max(x[a], x[b]), Math.max(y[a], y[b])] as const;
    if (tree.search(...box, isContact).length > 0) return `crosses or touches itself near ${placeOf(ring, west[a])}`;
  }
  return null;
}

/** True when two edges have a point in common, other than the vertex between consecutive ones. */
function meet(ring: MicroRing, a: number, c: number): boolean {
  const count = ring.x.length;
  const [b, d] = [(a + 1) % count, (c + 1) % count];
  if (a === c || b === c || d === a) return false;
  const [ofC, ofD] = [turnOf(ring, a, b, c), turnOf(ring, a, b, d)];
  const [ofA, ofB] = [turnOf(ring, c, d, a), turnOf(ring, c, d, b)];
  if (Math.sign(ofC) * Math.sign(ofD) < 0 && Math.sign(ofA) * Math.sign(ofB) < 0) return true;
  return (
    (ofC === 0 && isBetween(ring, c, a, b)) ||
    (ofD === 0 && isBetween(ring, d, a, b)) ||
    (ofA === 0 && isBetween(ring, a, c, d)) ||
    (ofB === 0 && isBetween(ring, b, c, d))
  );
}

/** True when a vertex on the line of two others lies between them. */
function isBetween(ring: MicroRing, vertex: number, a: number, b: number): boolean {
  return fromWest(ring, vertex, a) * fromWest(ring, vertex, b) <= 0;
}
