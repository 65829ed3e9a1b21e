import { RAD_PER_DEG, WGS84_A_KM, WGS84_E2 } from '../../schemas/geo/constants.ts';
import { distanceKm } from '../../schemas/geo/distance.ts';
import { colLon, LATTICE, rowLat } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';

/**
 * The point of a pixel's rectangle that is nearest to a position: each coordinate moved into the rectangle. On the eastern
 * and western edges the foot of the geodesic lies off that parallel by a quarter of a metre at 1.6 km; the distance differs
 * by less than 0.1 mm.
 */
function nearestInPixel({ lat, lon }: Position, row: number, col: number): Position {
  const half_deg = LATTICE.step / 2;
  return {
    lat: Math.min(Math.max(lat, rowLat(row) - half_deg), rowLat(row) + half_deg),
    lon: Math.min(Math.max(lon, colLon(col) - half_deg), colLon(col) + half_deg),
  };
}

/** Geodesic distance from a position to a pixel's rectangle on WGS84, m; 0 inside: the distance of record. */
export function pixelDistanceM(position: Position, row: number, col: number): number {
  const nearest = nearestInPixel(position, row, col);
  if (nearest.lat === position.lat && nearest.lon === position.lon) return 0;
  return 1000 * distanceKm(position, nearest);
}

/**
 * Distance between two points a few kilometres apart, m: straight across the ellipsoid's own radii of curvature at the middle
 * latitude. Between 20 and 60 degrees within 0.1 mm of the geodesic up to 2 km, 1 mm up to 5 km: enough
 * for all distances but those next to a bound.
 */
function shortDistanceM(a: Position, b: Position): number {
  const sine = Math.sin(((a.lat + b.lat) / 2) * RAD_PER_DEG);
  const w2 = 1 - WGS84_E2 * sine * sine;
  const across_m = (1000 * WGS84_A_KM) / Math.sqrt(w2);
  const along_m = (across_m * (1 - WGS84_E2)) / w2;
  const north_m = (b.lat - a.lat) * RAD_PER_DEG * along_m;
  const east_m = (b.lon - a.lon) * RAD_PER_DEG * across_m * Math.sqrt(1 - sine * sine);
  return Math.sqrt(north_m * north_m + east_m * east_m);
}

/** One number for a lattice row and column. */
export function pixelKey(row: number, col: number): number {
  return row * LATTICE.cols + col;
}

/** Rows and columns of the lattice, both ends included. */
export type PixelWindow = Readonly<Record<'row0' | 'row1' | 'col0' | 'col1', number>>;

/** Rows and columns of the lattice whose pixels may lie within a distance of a position on it. */
export function pixelsAround({ lat, lon }: Position, radius_m: number): PixelWindow {
  // A degree of latitude is at least 110.5 km, one of longitude at the equator at least 111.3 km.
  const north_deg = radius_m / 110_500;
  const east_deg = radius_m / (111_300 * Math.cos((Math.abs(lat) + north_deg) * RAD_PER_DEG));
  return {
    row0: Math.max(0, Math.floor((LATTICE.north - lat - north_deg) / LATTICE.step)),
    row1: Math.min(LATTICE.rows - 1, Math.floor((LATTICE.north - lat + north_deg) / LATTICE.step)),
    col0: Math.max(0, Math.floor((lon - east_deg - LATTICE.west) / LATTICE.step)),
    col1: Math.min(LATTICE.cols - 1, Math.floor((lon + east_deg - LATTICE.west) / LATTICE.step)),
  };
}

/** Distances this near a bound are measured exactly, m: far more than the straight measure is off by up to 20 km. */
const CLOSE_CALL_M = 1;

/** Distance from a position to a pixel's rectangle, m, that is on the same side of each bound as the distance of record; up to 20 km. */
export function boundedDistanceM(position: Position, row: number, col: number, bounds_m: readonly number[]): number {
  const short_m = shortDistanceM(position, nearestInPixel(position, row, col));
  for (const bound_m of bounds_m)
    if (Math.abs(short_m - bound_m) <= CLOSE_CALL_M) return pixelDistanceM(position, row, col);
  return short_m;
}
