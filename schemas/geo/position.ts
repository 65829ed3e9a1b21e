/** Degrees of latitude and longitude, WGS84. */
export interface Position {
  readonly lat: number;
  readonly lon: number;
}

/** West, south, east, north in degrees: minLon,minLat,maxLon,maxLat of the interface. */
export type Bbox = readonly [west: number, south: number, east: number, north: number];
