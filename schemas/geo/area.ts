import { WGS84_A_KM, WGS84_E2_12_DIGITS } from './constants.ts';

const WGS84_E = Math.sqrt(WGS84_E2_12_DIGITS);

/** Authalic function q of a latitude in degrees: areas between parallels are proportional to its difference. */
export function authalicQ(lat_deg: number): number {
  const s = Math.sin((lat_deg * Math.PI) / 180);
  const es = WGS84_E * s;
  return (1 - WGS84_E2_12_DIGITS) * (s / (1 - es * es) - Math.log((1 - es) / (1 + es)) / (2 * WGS84_E));
}

/**
 * Area of the WGS84 ellipsoid between two parallels over `width_deg` of longitude, km2.
 * Source: closed authalic form, a^2/2 x dlon x (q(north) - q(south)).
 */
export function cellAreaKm2(south: number, north: number, width_deg: number): number {
  return ((WGS84_A_KM * WGS84_A_KM) / 2) * ((width_deg * Math.PI) / 180) * (authalicQ(north) - authalicQ(south));
}
