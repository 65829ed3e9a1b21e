import { CONUS } from '../../schemas/geo/position.ts';

/** Reason why a position is outside CONUS as the interface defines it, with a hint at the likely mistake; null inside, edges included. */
export function conusFault(lat: number, lon: number): string | null {
  const { south, north, west, east } = CONUS;
  if (lat < south || lat > north) return `lat is ${lat}, expected ${south} to ${north}${hemisphereHint(lat, lon)}`;
  if (lon < west || lon > east) return `lon is ${lon}, expected ${west} to ${east}${hemisphereHint(lat, lon)}`;
  return null;
}

/** Hint at the likely mistake in a position outside CONUS; empty without one. */
export function hemisphereHint(lat: number, lon: number): string {
  const { south, north, west, east } = CONUS;
  if (lat >= west && lat <= east && lon >= south && lon <= north) return ', lat and lon look swapped';
  return lon >= -east && lon <= -west ? ', longitudes west of Greenwich are negative' : '';
}
