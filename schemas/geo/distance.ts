import geodesic from 'geographiclib-geodesic';
import { EARTH_RADIUS_KM, RAD_PER_DEG } from './constants.ts';
import type { Position } from './position.ts';

const WGS84 = geodesic.Geodesic.WGS84;

/** Geodesic distance on WGS84, km: the published distance. */
export function distanceKm(a: Position, b: Position): number {
  return (WGS84.Inverse(a.lat, a.lon, b.lat, b.lon).s12 as number) / 1000;
}

/** Largest relative error of the distance on a sphere, rounded up. */
const SPHERE_SLACK = 0.01;

/** Great-circle distance on a sphere, km. It is off by up to 0.4 %: a pre-filter, with 1 % slack. */
export function roughDistanceKm(a: Position, b: Position): number {
  const dLat = Math.sin(((b.lat - a.lat) * RAD_PER_DEG) / 2);
  const dLon = Math.sin(((b.lon - a.lon) * RAD_PER_DEG) / 2);
  const h = dLat * dLat + Math.cos(a.lat * RAD_PER_DEG) * Math.cos(b.lat * RAD_PER_DEG) * dLon * dLon;
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.min(1, Math.sqrt(h)));
}

/** True within a geodesic distance, the distance included; computed exactly only where the distance on a sphere is not decisive. */
export function isWithinKm(a: Position, b: Position, radius_km: number): boolean {
  const rough_km = roughDistanceKm(a, b);
  if (rough_km < radius_km * (1 - SPHERE_SLACK)) return true;
  return rough_km <= radius_km * (1 + SPHERE_SLACK) && distanceKm(a, b) <= radius_km;
}

/** The point reached from `from` after `distance_km` along the geodesic that starts at `bearing_deg` (0 north, clockwise). */
export function destination(from: Position, bearing_deg: number, distance_km: number): Position {
  const end = WGS84.Direct(from.lat, from.lon, bearing_deg, distance_km * 1000);
  return { lat: end.lat2 as number, lon: end.lon2 as number };
}

/** Offset of `to` from `from` along the WGS84 geodesic, km east and north. */
export function offsetKm(from: Position, to: Position): { readonly east_km: number; readonly north_km: number } {
  const { s12, azi1 } = WGS84.Inverse(from.lat, from.lon, to.lat, to.lon);
  const bearing = ((azi1 as number) * Math.PI) / 180;
  const km = (s12 as number) / 1000;
  return { east_km: km * Math.sin(bearing), north_km: km * Math.cos(bearing) };
}
