import type { Position } from '../../schemas/geo/position.ts';

/** Rounds a number of an answer half up to `decimals`; never -0. Null stays null. */
export function rounded(value: number, decimals: number): number;
export function rounded(value: number | null, decimals: number): number | null;
export function rounded(value: number | null, decimals: number): number | null {
  if (value === null) return null;
  const scale = 10 ** decimals;
  return Math.round(value * scale) / scale + 0;
}

/** Rings of a polygon with rounded degrees. */
export function roundedRings(rings: readonly (readonly (readonly number[])[])[], decimals: number): number[][][] {
  return rings.map((ring) => ring.map((position) => position.map((degrees) => rounded(degrees, decimals))));
}

/** A position as answers show it, with 5 decimals: 1 m. */
export function roundedPosition({ lat, lon }: Position): { lat: number; lon: number } {
  return { lat: rounded(lat, 5), lon: rounded(lon, 5) };
}
