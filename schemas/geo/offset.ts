import geodesic from 'geographiclib-geodesic';
import type { Position } from './position.ts';

/** Offset of `to` from `from` along the WGS84 geodesic, km east and north. */
export function offsetKm(from: Position, to: Position): { readonly east_km: number; readonly north_km: number } {
  const { s12, azi1 } = geodesic.Geodesic.WGS84.Inverse(from.lat, from.lon, to.lat, to.lon);
  const bearing = ((azi1 as number) * Math.PI) / 180;
  const km = (s12 as number) / 1000;
  return { east_km: km * Math.sin(bearing), north_km: km * Math.cos(bearing) };
}
