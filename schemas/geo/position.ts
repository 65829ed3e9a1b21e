/** Degrees of latitude and longitude, WGS84. */
export interface Position {
  readonly lat: number;
  readonly lon: number;
}

/** West, south, east, north in degrees: minLon,minLat,maxLon,maxLat of the interface. */
export type Bbox = readonly [west: number, south: number, east: number, north: number];

/** The interface's CONUS, edges included, in degrees: a box around the 48 states that reaches over their borders. */
export const CONUS = { south: 24, north: 50, west: -125, east: -66 } as const;

/** True for a position in the interface's CONUS. */
export function isInConus({ lat, lon }: Position): boolean {
  return lat >= CONUS.south && lat <= CONUS.north && lon >= CONUS.west && lon <= CONUS.east;
}

/** Outline of a box, counter-clockwise from its south-west corner, closed. */
export function boxRing([west, south, east, north]: Bbox): number[][] {
  return [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ];
}
