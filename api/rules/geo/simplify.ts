import simplifyLine from 'simplify-js';
import type { MultiPolygon, Ring } from '../../../schemas/geo/rings.ts';
import { findConflicts } from '../../../schemas/geo/validity.ts';
import { METRES_PER_DEGREE, surrounding } from './nesting.ts';

/** Most halvings of the tolerance of a ring in conflict; after them the ring stays unsimplified. */
const MAX_HALVINGS = 6;

/** A ring being simplified. */
interface Draft {
  readonly polygon: number;
  readonly original: Ring;
  ring: Ring;
  tolerance_m: number;
  halvings: number;
  /** The last ring that was found near enough to the polygons around it. */
  accepted: Ring;
}

/**
 * The MultiPolygon with fewer vertices, no edge farther than `tolerance_m` from the original ones, and still valid: a ring
 * that would cross itself or another is simplified with half the tolerance, up to six times, and else stays as it was. So is
 * one that would reach farther than `tolerance_m` out of `around`: the simplified outline, at the same tolerance, of something
 * that holds all of the given polygons. Vertices are a subset of the given ones, and no ring is dropped: one smaller than the
 * tolerance keeps its outermost vertices. Expects a valid MultiPolygon as `traceMultiPolygon` gives it; a tolerance of 0 or
 * less returns it as it is.
 * Source: Douglas & Peucker 1973, in local metres between the four outermost vertices of each ring.
 */
export function simplifyMultiPolygon(
  polygons: MultiPolygon,
  tolerance_m: number,
  around: MultiPolygon | null = null,
): MultiPolygon {
  if (!(tolerance_m > 0)) return polygons;
  const drafts = polygons.flatMap((rings, polygon) =>
    rings.map((original): Draft => {
      const ring = simplifyRing(original, tolerance_m);
      return { polygon, original, ring, tolerance_m, halvings: 0, accepted: original };
    }),
  );
  const outer = around === null ? null : surrounding(around);
  for (;;) {
    const result = assemble(drafts);
    const involved = new Set(findConflicts(result).flatMap((conflict) => conflict.rings));
    for (const [index, draft] of drafts.entries()) {
      if (outer === null || draft.ring === draft.accepted) continue;
      if (outer.reachesOut(draft.ring, tolerance_m)) involved.add(index);
      else draft.accepted = draft.ring;
    }
    const relaxed = [...involved].filter((ring) => relax(drafts[ring] as Draft));
    if (relaxed.length === 0) return result;
  }
}

/** Brings a ring nearer to its original; false when it is there. */
function relax(draft: Draft): boolean {
  if (draft.ring === draft.original) return false;
  draft.halvings++;
  draft.tolerance_m /= 2;
  draft.ring = draft.halvings > MAX_HALVINGS ? draft.original : simplifyRing(draft.original, draft.tolerance_m);
  return true;
}

function assemble(drafts: readonly Draft[]): MultiPolygon {
  return [...Map.groupBy(drafts, (draft) => draft.polygon).values()].map((rings) => rings.map((draft) => draft.ring));
}

interface Metres {
  x: number;
  y: number;
  /** Index in the ring. */
  i: number;
}

/** Vertices in metres from the first one, degrees of longitude as wide as where the ring is nearest the equator. */
function toMetres(ring: Ring): Metres[] {
  const nearest = ring.reduce((lat, position) => Math.min(lat, Math.abs(position[1])), 90);
  const [lon0, lat0] = ring[0] as [number, number];
  const metresPerLon = METRES_PER_DEGREE * Math.cos((nearest * Math.PI) / 180);
  return ring.map((position, i) => ({
    x: (position[0] - lon0) * metresPerLon,
    y: (position[1] - lat0) * METRES_PER_DEGREE,
    i,
  }));
}

/** One ring by itself, at least four positions; the original when less would remain. */
function simplifyRing(ring: Ring, tolerance_m: number): Ring {
  const points = toMetres(ring);
  const fixed = outermost(points);
  const kept = fixed.flatMap((from, k) => {
    const to = fixed[k + 1] ?? fixed[0] + points.length - 1;
    const arc = points.slice(from, to + 1).concat(points.slice(1, Math.max(0, to - points.length + 2)));
    return (simplifyLine(arc, tolerance_m, true) as Metres[]).slice(0, -1);
  });
  if (kept.length < 3) return ring;
  const simplified = kept.map((point) => ring[point.i] as number[]);
  return [...simplified, [...(simplified[0] as number[])]];
}

/** Indices of the westernmost, southernmost, easternmost and northernmost vertices, the first of equals, ascending. */
function outermost(points: readonly Metres[]): number[] {
  const found = [0, 0, 0, 0];
  points.forEach((point, i) => {
    const at = (k: number) => points[found[k]] as Metres;
    if (point.x < at(0).x) found[0] = i;
    if (point.y < at(1).y) found[1] = i;
    if (point.x > at(2).x) found[2] = i;
    if (point.y > at(3).y) found[3] = i;
  });
  return [...new Set(found)].sort((a, b) => a - b);
}
