import { CONUS } from '../../schemas/geo/position.ts';

/** Why a position is not in the interface's CONUS, with what was probably meant; null when it is, edges included. */
export function conusFault(lat: number, lon: number): string | null {
  const { south, north, west, east } = CONUS;
  if (lat < south || lat > north) return `lat is ${lat}, expected ${south} to ${north}${hemisphereHint(lat, lon)}`;
  if (lon < west || lon > east) return `lon is ${lon}, expected ${west} to ${east}${hemisphereHint(lat, lon)}`;
  return null;
}

/** What was probably meant by a position outside CONUS; empty when nothing suggests itself. */
export function hemisphereHint(lat: number, lon: number): string {
  const { south, north, west, east } = CONUS;
  if (lat >= west && lat <= east && lon >= south && lon <= north) return ', lat and lon look swapped';
  return lon >= -east && lon <= -west ? ', longitudes west of Greenwich are negative' : '';
}
