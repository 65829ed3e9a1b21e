import KDBush from 'kdbush';
import { RAD_PER_DEG } from '../../../schemas/geo/constants.ts';
import { type MicroRing, outermost, turnOf } from './micro-ring.ts';

/** Largest share of the vertices that one pass removes: their triangles change with each that goes. */
const SHARE_OF_PASS = 0.2;

/**
 * A ring with at most `most` of its vertices, four or more. Pass by pass removes vertices whose triangles with their neighbours are
 * smallest, unless another vertex lies in that triangle: a simple ring stays simple. The outermost vertices stay,
 * hence its box. A ring with few enough vertices is returned unchanged; winding is kept. Expects a simple ring.
 * Source: Visvalingam & Whyatt 1993, Cartographic Journal 30, 46-51. That a vertex can always go: a ring that is not convex
 * has a mouth, a vertex between two others that it can be cut off from outside (Toussaint 1991), and no outermost vertex is one.
 */
export function thinRing(ring: MicroRing, most: number): MicroRing {
  let thin = ring;
  while (thin.x.length > most) thin = thinned(thin, Math.max(most, Math.floor(thin.x.length * (1 - SHARE_OF_PASS))));
  return thin;
}

/** The ring after one pass, with fewer vertices, at least `most` of them. */
function thinned(ring: MicroRing, most: number): MicroRing {
  const { x, y } = ring;
  const count = x.length;
  const [before, after] = [(v: number) => (v + count - 1) % count, (v: number) => (v + 1) % count];
  /** Twice the area of the triangle of each vertex, millionths of a degree squared as wide as at the equator. */
  const areas = Float64Array.from(
    x,
    (_, v) => Math.abs(turnOf(ring, before(v), v, after(v))) * Math.cos((y[v] / 1e6) * RAD_PER_DEG),
  );
  const kept = new Set(x.keys());
  const fixed = new Set(outermost(Array.from(x, (lon, v) => ({ x: lon, y: y[v] }))));
  const holdsVertex = triangleFinder(ring);
  for (const v of Uint32Array.from(x.keys()).sort((a, b) => areas[a] - areas[b])) {
    if (kept.size <= most) break;
    const [a, c] = [before(v), after(v)];
    // The triangle of a vertex beside one that went is another by now: it waits for the next pass.
    if (!fixed.has(v) && kept.has(a) && kept.has(c) && !holdsVertex(a, v, c)) kept.delete(v);
  }
  if (kept.size === count) throw new RangeError(`no vertex of ${count} can go, expected ${most} to be left`);
  return { x: Float64Array.from(kept, (v) => x[v]), y: Float64Array.from(kept, (v) => y[v]) };
}

/** Whether another vertex lies in the triangle of three, or on its edge. */
function triangleFinder(ring: MicroRing): (a: number, b: number, c: number) => boolean {
  const { x, y } = ring;
  const tree = new KDBush(x.length);
  for (const [v, lon] of x.entries()) tree.add(lon, y[v]);
  tree.finish();
  return (a, b, c) => {
    const [west, east] = [Math.min(x[a], x[b], x[c]), Math.max(x[a], x[b], x[c])];
    const [south, north] = [Math.min(y[a], y[b], y[c]), Math.max(y[a], y[b], y[c])];
    const [p, q, r] = turnOf(ring, a, b, c) >= 0 ? [a, b, c] : [a, c, b];
    const isInside = (v: number) =>
      turnOf(ring, p, q, v) >= 0 && turnOf(ring, q, r, v) >= 0 && turnOf(ring, r, p, v) >= 0;
    return tree.range(west, south, east, north).some((v) => v !== a && v !== b && v !== c && isInside(v));
  };
}
