import simplifyLine from 'simplify-js';
import type { Bbox } from '../../../schemas/geo/position.ts';
import type { MultiPolygon, Ring } from '../../../schemas/geo/rings.ts';
import { findConflicts } from '../../../schemas/geo/validity.ts';
import { boxesMeet, boxOf, type Edge, edgesOf } from '../areas.ts';
import { outermost } from './micro-ring.ts';

/** Upper bound of the length of a degree on WGS84, so that no distance is underestimated. */
const METRES_PER_DEGREE = 111_700;
/** Least half-length of a stretch of a ring, metres: shorter ones are not halved. */
const FINEST_M = 0.5;

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
  const outlines = around?.map((polygon) => ({ box: boxOf([polygon]), edges: edgesOf([polygon]) }));
  for (;;) {
    const result = assemble(drafts);
    const involved = new Set(findConflicts(result).flatMap((conflict) => conflict.rings));
    for (const [index, draft] of drafts.entries()) {
      if (outlines === undefined || draft.ring === draft.accepted) continue;
      if (reachesOut(draft.ring, outlines, tolerance_m)) involved.add(index);
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

/** Vertices in metres from the first one, degrees of longitude as wide as where the ring is nearest the equator. */
function toMetres(ring: Ring) {
  const nearest = ring.reduce((lat, position) => Math.min(lat, Math.abs(position[1])), 90);
  const [lon0, lat0] = ring[0] as [number, number];
  const metresPerLon = METRES_PER_DEGREE * Math.cos((nearest * Math.PI) / 180);
  return ring.map((position) => ({
    x: (position[0] - lon0) * metresPerLon,
    y: (position[1] - lat0) * METRES_PER_DEGREE,
    position,
  }));
}

/** One ring by itself, at least four positions; the original when less would remain. */
function simplifyRing(ring: Ring, tolerance_m: number): Ring {
  const points = toMetres(ring);
  const [x, y] = [points.map((point) => point.x), points.map((point) => point.y)];
  const fixed = [...new Set(outermost({ x, y }))].sort((a, b) => a - b);
  const kept = fixed.flatMap((from, k) => {
    const to = fixed[k + 1] ?? (fixed[0] as number) + points.length - 1;
    const arc = points.slice(from, to + 1).concat(points.slice(1, Math.max(0, to - points.length + 2)));
    return (simplifyLine(arc, tolerance_m, true) as typeof points).slice(0, -1);
  });
  if (kept.length < 3) return ring;
  const simplified = kept.map(({ position }) => position);
  return [...simplified, [...(simplified[0] as number[])]];
}

/** A polygon that a ring must not leave. */
interface Outline {
  readonly box: Bbox;
  readonly edges: readonly Edge[];
}

/** True when a point of a ring is farther than `slack_m` from all outlines. */
function reachesOut(ring: Ring, outlines: readonly Outline[], slack_m: number): boolean {
  const box = boxOf([[ring]]);
  const slack_lat = slack_m / METRES_PER_DEGREE;
  const [south, north] = [box[1] - slack_lat, box[3] + slack_lat];
  const slack_lon = slack_lat / Math.cos((Math.max(Math.abs(south), Math.abs(north)) * Math.PI) / 180);
  const reach: Bbox = [box[0] - slack_lon, south, box[2] + slack_lon, north];
  const near = outlines
    .filter((outline) => boxesMeet(outline.box, reach))
    .map(({ edges }) => edges.filter(([a, b]) => Math.min(a[1], b[1]) <= north && Math.max(a[1], b[1]) >= south));
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
  if (half_m < FINEST_M) return true;
  return staysNear(a, middle, near, slack_m) && staysNear(middle, b, near, slack_m);
}

/** Distance of a point from a polygon, metres; 0 inside. */
function gapM(point: readonly number[], edges: readonly Edge[], perLon: number): number {
  let inside = false;
  let least = Number.POSITIVE_INFINITY;
  for (const [from, to] of edges) {
    const ax = (from[0] - point[0]) * perLon;
    const ay = (from[1] - point[1]) * METRES_PER_DEGREE;
    const bx = (to[0] - point[0]) * perLon;
    const by = (to[1] - point[1]) * METRES_PER_DEGREE;
    if (ay > 0 !== by > 0 && ax - (ay * (bx - ax)) / (by - ay) > 0) inside = !inside;
    const [dx, dy] = [bx - ax, by - ay];
    const share = Math.max(0, Math.min(1, -(ax * dx + ay * dy) / (dx * dx + dy * dy)));
    least = Math.min(least, (ax + share * dx) ** 2 + (ay + share * dy) ** 2);
  }
  return inside ? 0 : Math.sqrt(least);
}
