import { bbox } from '@turf/bbox';
import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import { distanceKm, roughDistanceKm } from '../../schemas/geo/distance.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import type { MultiPolygon } from '../../schemas/geo/rings.ts';
import { multiPolygonFromWkt } from '../../schemas/geo/wkt.ts';

/** Distances on the sphere differ by up to 0.6 %; a distance nearer to the limit than that is measured on the ellipsoid. */
const SPHERE_SLACK = 0.01;

/** A row with an area, WKT. */
export interface HasGeometry {
  readonly geometry: string;
}

interface Area {
  readonly type: 'MultiPolygon';
  readonly coordinates: MultiPolygon;
  readonly bbox: [west: number, south: number, east: number, north: number];
}

const parsed = new WeakMap<HasGeometry, Area>();

/** Polygons of a row, parsed at the first call and kept with the row. */
export function polygonsOf(row: HasGeometry): MultiPolygon {
  return areaOf(row).coordinates;
}

/** True when a point lies in the area of a row or on its edge, not in a hole of it. */
export function holds(row: HasGeometry, { lat, lon }: Position): boolean {
  return booleanPointInPolygon([lon, lat], areaOf(row));
}

function areaOf(row: HasGeometry): Area {
  const known = parsed.get(row);
  if (known !== undefined) return known;
  const coordinates = multiPolygonFromWkt(row.geometry);
  const area: Area = { type: 'MultiPolygon', coordinates, bbox: [...boxOf(coordinates)] };
  parsed.set(row, area);
  return area;
}

/**
 * True when polygons hold a point, or their nearest edge is within a distance of it. Edges are straight in longitude and
 * latitude, as GeoJSON has them; the distance is the geodesic of WGS84.
 */
export function isWithin(polygons: MultiPolygon, point: Position, radius_km: number): boolean {
  const surely_km = radius_km * (1 - SPHERE_SLACK);
  const isVertexWithin = ([lon = Number.NaN, lat = Number.NaN]: readonly number[]) =>
    roughDistanceKm(point, { lat, lon }) < surely_km;
  return (
    polygons.flat(2).some(isVertexWithin) ||
    booleanPointInPolygon([point.lon, point.lat], { type: 'MultiPolygon', coordinates: polygons }) ||
    edgesOf(polygons).some((edge) => isEdgeWithin(edge, point, radius_km))
  );
}

/** True when two boxes overlap or touch. */
export function boxesMeet(a: Bbox, b: Bbox): boolean {
  return a[0] <= b[2] && a[2] >= b[0] && a[1] <= b[3] && a[3] >= b[1];
}

/** The smallest box around polygons. */
export function boxOf(coordinates: MultiPolygon): Bbox {
  return bbox({ type: 'MultiPolygon', coordinates }) as [number, number, number, number];
}

/** A side of a ring. */
export type Edge = readonly [from: readonly number[], to: readonly number[]];

/** The sides of all rings. */
export function edgesOf(polygons: MultiPolygon): Edge[] {
  return polygons.flat().flatMap((ring) => ring.slice(1).map((to, index): Edge => [ring[index] as number[], to]));
}

function isEdgeWithin(edge: Edge, point: Position, radius_km: number): boolean {
  const rough_km = nearestKm(edge, point, roughDistanceKm);
  if (rough_km > radius_km * (1 + SPHERE_SLACK)) return false;
  return rough_km < radius_km * (1 - SPHERE_SLACK) || nearestKm(edge, point, distanceKm) <= radius_km;
}

const GOLDEN = (Math.sqrt(5) - 1) / 2;
/** The remaining interval is 4e-9 of an edge: less than a millimetre of 200 km. */
const STEPS = 40;

/** Smallest distance from a point to an edge: it falls and then rises along the edge, so golden sections close in on it. */
function nearestKm([from, to]: Edge, point: Position, km: (a: Position, b: Position) => number): number {
  const [lon0 = Number.NaN, lat0 = Number.NaN] = from;
  const [lon1 = Number.NaN, lat1 = Number.NaN] = to;
  const at = (share: number) => km(point, { lat: lat0 + share * (lat1 - lat0), lon: lon0 + share * (lon1 - lon0) });
  let [low, high] = [0, 1];
  let [left, right] = [1 - GOLDEN, GOLDEN];
  let [left_km, right_km] = [at(left), at(right)];
  for (let step = 0; step < STEPS; step++) {
    if (left_km <= right_km) {
      [high, right, right_km] = [right, left, left_km];
      left = high - GOLDEN * (high - low);
      left_km = at(left);
    } else {
      [low, left, left_km] = [left, right, right_km];
      right = low + GOLDEN * (high - low);
      right_km = at(right);
    }
  }
  return Math.min(at(0), at(1), left_km, right_km);
}
