import simplifyLine from 'simplify-js';
import type { MultiPolygon, Polygon, Ring } from './rings.ts';
import { findConflicts } from './validity.ts';

/** Not less than a degree is anywhere on WGS84, so that no distance is taken for shorter than it is. */
const METRES_PER_DEGREE = 111_700;
/** How often the tolerance of a ring in conflict is halved before the ring stays as it was. */
const MAX_HALVINGS = 6;

/** A ring on its way to be simplified. */
interface Draft {
  readonly polygon: number;
  readonly original: Ring;
  ring: Ring;
  tolerance_m: number;
  halvings: number;
}

/**
 * The MultiPolygon with fewer vertices, each at most `tolerance_m` from where it ran before, and still valid: a ring that
 * would cross itself or another is simplified with half the tolerance, up to six times, and else stays as it was.
 * Vertices are a subset of the given ones. Polygons smaller than tolerance_m^2 / 2 are dropped, except the largest.
 * Expects a valid MultiPolygon as `traceMultiPolygon` gives it; a tolerance of 0 or less returns it as it is.
 * Source: Douglas & Peucker 1973, in local metres between the four outermost vertices of each ring.
 */
export function simplifyMultiPolygon(polygons: MultiPolygon, tolerance_m: number): MultiPolygon {
  if (!(tolerance_m > 0)) return polygons;
  const drafts = withoutSpecks(polygons, tolerance_m).flatMap((rings, polygon) =>
    rings.map(
      (original): Draft => ({ polygon, original, ring: simplifyRing(original, tolerance_m), tolerance_m, halvings: 0 }),
    ),
  );
  for (;;) {
    const result = assemble(drafts);
    const involved = new Set(findConflicts(result).flatMap((conflict) => conflict.rings));
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

function withoutSpecks(polygons: MultiPolygon, tolerance_m: number): MultiPolygon {
  const least_km2 = tolerance_m ** 2 / 2 / 1e6;
  const areas = polygons.map((polygon) => shellAreaKm2(polygon));
  const kept = polygons.filter((_, i) => (areas[i] as number) >= least_km2);
  return kept.length > 0 ? kept : polygons.slice(areas.indexOf(Math.max(...areas))).slice(0, 1);
}

/** Area inside the outer ring, flat in local metres: good enough to tell specks. */
function shellAreaKm2([shell]: Polygon): number {
  const points = toMetres(shell as Ring);
  const sum = points.reduce((total, b, i) => {
    const a = points.at(i - 1) as Metres;
    return total + a.x * b.y - b.x * a.y;
  }, 0);
  return Math.abs(sum) / 2 / 1e6;
}

interface Metres {
  x: number;
  y: number;
  /** Index in the ring. */
  i: number;
}

/** Vertices in metres from the first one, degrees of longitude as wide as where the ring is nearest the equator. */
function toMetres(ring: Ring): Metres[] {
  const nearest = ring.reduce((lat, position) => Math.min(lat, Math.abs(position[1] as number)), 90);
  const [lon0, lat0] = ring[0] as [number, number];
  const metresPerLon = METRES_PER_DEGREE * Math.cos((nearest * Math.PI) / 180);
  return ring.map((position, i) => ({
    x: ((position[0] as number) - lon0) * metresPerLon,
    y: ((position[1] as number) - lat0) * METRES_PER_DEGREE,
    i,
  }));
}

/** One ring by itself, at least four positions; the original when less would remain. */
function simplifyRing(ring: Ring, tolerance_m: number): Ring {
  const points = toMetres(ring);
  const fixed = outermost(points);
  const kept = fixed.flatMap((from, k) => {
    const to = fixed[k + 1] ?? (fixed[0] as number) + points.length - 1;
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
    const at = (k: number) => points[found[k] as number] as Metres;
    if (point.x < at(0).x) found[0] = i;
    if (point.y < at(1).y) found[1] = i;
    if (point.x > at(2).x) found[2] = i;
    if (point.y > at(3).y) found[3] = i;
  });
  return [...new Set(found)].sort((a, b) => a - b);
}
