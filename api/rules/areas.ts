import { bbox } from '@turf/bbox';
import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import { distanceKm, roughDistanceKm } from '../../schemas/geo/distance.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import type { MultiPolygon } from '../../schemas/geo/rings.ts';
import { multiPolygonFromWkt } from '../../schemas/geo/wkt.ts';

/** Distances on the sphere differ by up to 0.6 %; a distance nearer to the limit than that is measured on the ellipsoid. */
const SPHERE_SLACK = 0.01;

/** A row with an area, WKT. */
export type HasGeometry = Readonly<Record<'geometry', string>>;

const parsed = new WeakMap<HasGeometry, ReturnType<typeof parse>>();

/** Polygons of a row, parsed at the first call and kept with the row. */
export function polygonsOf(row: HasGeometry): MultiPolygon {
  return areaOf(row).coordinates;
}

/** True when a point lies in the area of a row or on its edge, not in a hole of it. */
export function holds(row: HasGeometry, { lat, lon }: Position): boolean {
  return booleanPointInPolygon([lon, lat], areaOf(row));
}

function areaOf(row: HasGeometry) {
  const area = parsed.get(row) ?? parse(row);
  parsed.set(row, area);
  return area;
}

function parse({ geometry }: HasGeometry) {
  const coordinates = multiPolygonFromWkt(geometry);
  return {
    type: 'MultiPolygon' as const,
    coordinates,
    bbox: [...boxOf(coordinates)] as [number, number, number, number],
  };
}

/** True for a row with an area. */
export function hasGeometry<Row extends { readonly geometry: string | null }>(row: Row): row is Row & HasGeometry {
  return row.geometry !== null;
}

/**
 * True when polygons hold a point, or their nearest edge is within a distance of it. Edges are straight in longitude and
 * latitude, as GeoJSON has them; the distance is the geodesic of WGS84.
 */
export function isWithin(polygons: MultiPolygon, point: Position, radius_km: number): boolean {
  return (
    booleanPointInPolygon([point.lon, point.lat], { type: 'MultiPolygon', coordinates: polygons }) ||
    edgesOf(polygons).some((edge) => isEdgeWithin(edge, point, radius_km))
  );
}

export function boxOf(coordinates: MultiPolygon): Bbox {
  return bbox({ type: 'MultiPolygon', coordinates }) as [number, number, number, number];
}

export type Edge = readonly [from: readonly number[], to: readonly number[]];

export function edgesOf(polygons: MultiPolygon): Edge[] {
  return polygons.flat().flatMap((ring) => ring.slice(1).map((to, index): Edge => [ring[index] as number[], to]));
}

function isEdgeWithin(edge: Edge, point: Position, radius_km: number): boolean {
  const rough_km = nearestKm(edge, point, roughDistanceKm);
  if (rough_km > radius_km * (1 + SPHERE_SLACK)) return false;
  return rough_km < radius_km * (1 - SPHERE_SLACK) || nearestKm(edge, point, distanceKm) <= radius_km;
}

/** The remaining interval is 8e-15 of an edge. */
const STEPS = 80;

/** Smallest distance from a point to an edge: it falls and then rises along the edge, so thirds close in on it. */
function nearestKm([from, to]: Edge, point: Position, km: (a: Position, b: Position) => number): number {
  const at = (share: number) =>
    km(point, { lat: from[1] + share * (to[1] - from[1]), lon: from[0] + share * (to[0] - from[0]) });
  let [low, high] = [0, 1];
  for (let step = 0; step < STEPS; step++) {
    const third = (high - low) / 3;
    if (at(low + third) <= at(high - third)) high -= third;
    else low += third;
  }
  return at((low + high) / 2);
}
