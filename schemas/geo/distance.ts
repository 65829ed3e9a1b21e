import geodesic from 'geographiclib-geodesic';
import type { Position } from './position.ts';

const WGS84 = geodesic.Geodesic.WGS84;
const EARTH_RADIUS_KM = 6371.0088;

/** Geodesic distance on WGS84, km: the one that is published. */
export function distanceKm(a: Position, b: Position): number {
  return (WGS84.Inverse(a.lat, a.lon, b.lat, b.lon).s12 as number) / 1000;
}

/** Great-circle distance on a sphere, km; off by up to 0.4 %, so only a pre-filter with 1 % slack. */
export function roughDistanceKm(a: Position, b: Position): number {
  const rad = Math.PI / 180;
  const dLat = Math.sin(((b.lat - a.lat) * rad) / 2);
  const dLon = Math.sin(((b.lon - a.lon) * rad) / 2);
  const h = dLat * dLat + Math.cos(a.lat * rad) * Math.cos(b.lat * rad) * dLon * dLon;
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.min(1, Math.sqrt(h)));
}

/** The point reached from `from` after `distance_km` along the geodesic that starts at `bearing_deg` (0 north, clockwise). */
export function destination(from: Position, bearing_deg: number, distance_km: number): Position {
  const end = WGS84.Direct(from.lat, from.lon, bearing_deg, distance_km * 1000);
  return { lat: end.lat2 as number, lon: end.lon2 as number };
}
