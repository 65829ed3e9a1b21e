import simplifyLine from 'simplify-js';
import { type Bbox, boxesMeet } from '../../../schemas/geo/position.ts';
import type { MultiPolygon, Ring } from '../../../schemas/geo/rings.ts';
import { findConflicts } from '../../../schemas/geo/validity.ts';
import { boxOf, type Edge, edgesOf } from '../areas.ts';
import { outermost } from './micro-ring.ts';

/** Upper bound of the length of a degree on WGS84, so that no distance is underestimated. */
const METRES_PER_DEGREE = 111_700;
/** Least half-length of a stretch of a ring, metres: shorter ones are not halved. */
const FINEST_M = 0.5;
/** Most halvings of the tolerance of a ring in conflict; after them the ring stays unsimplified. */
const MAX_HALVINGS = 6;

/**
 * The MultiPolygon with fewer vertices, no edge farther than `tolerance_m` from the original ones, and still valid: a ring
 * that would cross itself or another is simplified with half the tolerance, up to six times, and else stays as it was. So is
 * one that would reach farther than `tolerance_m` out of `around`: the simplified outline, at the same tolerance, of something
 * that holds all of the given polygons; null without one. Vertices are a subset of the given ones, and no ring is dropped: one
 * smaller than the tolerance keeps its outermost vertices. Expects a valid MultiPolygon as `traceMultiPolygon` gives it; a
 * tolerance of 0 or less returns it unchanged.
 * Source: Douglas & Peucker 1973, in local metres between the four outermost vertices of each ring.
 */
export function simplifyMultiPolygon(polygons: MultiPolygon, tolerance_m: number, around: MultiPolygon | null = null) {
  if (!(tolerance_m > 0)) return polygons;
  const drafts = polygons.flatMap((rings, polygon) =>
    rings.map((original) => ({ polygon, original, ring: simplifyRing(original, tolerance_m), tolerance_m })),
  );
  const outlines = around?.map((polygon) => ({ box: boxOf([polygon]), edges: edgesOf([polygon]) })) ?? null;
  const changed = new Set(drafts);
  for (;;) {
    const byPolygon = Map.groupBy(drafts, ({ polygon }) => polygon).values();
    const result = Array.from(byPolygon, (rings) => rings.map(({ ring }) => ring));
    const involved = new Set(findConflicts(result).flatMap(({ rings }) => rings));
    const relaxed = drafts.filter(
      (draft, index) =>
        draft.ring !== draft.original &&
        (involved.has(index) ||
          (outlines !== null && changed.has(draft) && reachesOut(draft.ring, outlines, tolerance_m))),
    );
    if (relaxed.length === 0) return result;
    changed.clear();
    for (const draft of relaxed) {
      draft.tolerance_m /= 2;
      const isSpent = draft.tolerance_m < tolerance_m / 2 ** MAX_HALVINGS;
      draft.ring = isSpent ? draft.original : simplifyRing(draft.original, draft.tolerance_m);
      changed.add(draft);
    }
  }
}

/** One ring by itself, at least four positions; the original when less would remain. */
function simplifyRing(ring: Ring, tolerance_m: number): Ring {
  const [lon0, lat0] = ring[0] as [number, number];
  // Degrees of longitude are as wide as where the ring is nearest the equator.
  const nearest = ring.reduce((least, [, lat]) => Math.min(least, Math.abs(lat)), 90);
  const metresPerLon = METRES_PER_DEGREE * Math.cos((nearest * Math.PI) / 180);
  const points = ring.map((position) => ({
    x: (position[0] - lon0) * metresPerLon,
    y: (position[1] - lat0) * METRES_PER_DEGREE,
    position,
  }));
  const fixed = [...new Set(outermost(points))].sort((a, b) => a - b);
  // Once round from the first of them: the closing position is that at which the ring begins.
  const start = fixed[0] as number;
  const round = [...points.slice(start, -1), ...points.slice(0, start + 1)];
  const kept = fixed.flatMap((from, k) => {
    const arc = round.slice(from - start, (fixed[k + 1] ?? points.length - 1 + start) - start + 1);
    return (simplifyLine(arc, tolerance_m, true) as typeof points).slice(0, -1);
  });
  if (kept.length < 3) return ring;
  return [...kept, kept[0] as (typeof points)[number]].map(({ position }) => position);
}

/** True when a point of a ring is farther than `slack_m` from all outlines. */
function reachesOut(
  ring: Ring,
  outlines: readonly { readonly box: Bbox; readonly edges: readonly Edge[] }[],
  slack_m: number,
): boolean {
  const [west, south, east, north] = boxOf([[ring]]);
  const slack_lat = slack_m / METRES_PER_DEGREE;
  const slack_lon = slack_lat / Math.cos(((Math.max(Math.abs(south), Math.abs(north)) + slack_lat) * Math.PI) / 180);
  const reach: Bbox = [west - slack_lon, south - slack_lat, east + slack_lon, north + slack_lat];
  const near = outlines
    .filter(({ box }) => boxesMeet(box, reach))
    .map(({ edges }) => edges.filter(([a, b]) => Math.min(a[1], b[1]) <= reach[3] && Math.max(a[1], b[1]) >= reach[1]));
  return ring.slice(1).some((to, i) => !staysNear(ring[i] as number[], to, near, slack_m));
}

/**
 * True when no point between two positions is farther than the slack from the polygons. The gap changes by no more than one
 * metre a metre, so the distance at its middle decides a stretch, or it is halved.
 */
function staysNear(
  a: readonly number[],
  b: readonly number[],
  near: readonly (readonly Edge[])[],
  slack_m: number,
): boolean {
  const middle = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
  const perLon = METRES_PER_DEGREE * Math.cos((middle[1] * Math.PI) / 180);
  const half_m = Math.hypot((b[0] - a[0]) * perLon, (b[1] - a[1]) * METRES_PER_DEGREE) / 2;
  const gap_m = near.reduce(
    (least, edges) => (least === 0 ? 0 : Math.min(least, gapM(middle, edges, perLon))),
    Infinity,
  );
  if (gap_m + half_m <= slack_m) return true;
  if (gap_m > slack_m) return false;
  return half_m < FINEST_M || (staysNear(a, middle, near, slack_m) && staysNear(middle, b, near, slack_m));
}

/** Distance of a point from a polygon, metres; 0 inside. */
function gapM(point: readonly number[], edges: readonly Edge[], perLon: number): number {
  let inside = false;
  let least = Number.POSITIVE_INFINITY;
  for (const [from, to] of edges) {
    const [ax, ay] = [(from[0] - point[0]) * perLon, (from[1] - point[1]) * METRES_PER_DEGREE];
    const [bx, by] = [(to[0] - point[0]) * perLon, (to[1] - point[1]) * METRES_PER_DEGREE];
    if (ay > 0 !== by > 0 && ax - (ay * (bx - ax)) / (by - ay) > 0) inside = !inside;
    const [dx, dy] = [bx - ax, by - ay];
    const share = Math.max(0, Math.min(1, -(ax * dx + ay * dy) / (dx * dx + dy * dy)));
    least = Math.min(least, (ax + share * dx) ** 2 + (ay + share * dy) ** 2);
  }
  return inside ? 0 : Math.sqrt(least);
}
