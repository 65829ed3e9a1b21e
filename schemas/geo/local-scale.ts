import { WGS84_A_KM, WGS84_E2_12_DIGITS } from './constants.ts';
import type { Position } from './position.ts';

/**
 * Polynomials that convert steps in degrees from a point to kilometres, for databases: with `dy` and `dx` the steps in latitude
 * and longitude, the distance squared is (dx (east[0] + dy (east[1] + dy east[2])))² + (dy (north[0] + dy north[1]))².
 */
export interface LocalScale {
  readonly east: readonly [number, number, number];
  readonly north: readonly [number, number];
}

/**
 * Scale around a point that holds to `reach_deg` of latitude on either side: within 100 km and south of 60 degrees distances are off by
 * less than 1e-4 of the geodesic.
 * Source: Gauss's middle-latitude formula, radii of curvature of WGS84 at the middle of both latitudes.
 */
export function localScale({ lat }: Position, reach_deg: number): LocalScale {
  const east = (dy: number) => parallelKm(lat + dy / 2);
  const north = (dy: number) => meridianKm(lat + dy / 2);
  const [low, middle, high] = [east(-reach_deg), east(0), east(reach_deg)];
  return {
    east: [middle, (high - low) / (2 * reach_deg), (high - 2 * middle + low) / (2 * reach_deg ** 2)],
    north: [north(0), (north(reach_deg) - north(-reach_deg)) / (2 * reach_deg)],
  };
}

/** Kilometres of a degree of longitude. */
function parallelKm(lat: number): number {
  const sine = Math.sin(radians(lat));
  return radians((WGS84_A_KM * Math.cos(radians(lat))) / Math.sqrt(1 - WGS84_E2_12_DIGITS * sine * sine));
}

/** Kilometres of a degree of latitude. */
function meridianKm(lat: number): number {
  const sine = Math.sin(radians(lat));
  return radians((WGS84_A_KM * (1 - WGS84_E2_12_DIGITS)) / (1 - WGS84_E2_12_DIGITS * sine * sine) ** 1.5);
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}
