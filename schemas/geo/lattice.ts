import { cellAreaKm2 } from './area.ts';
import type { Bbox, Position } from './position.ts';

/**
 * The 0.01 degree CONUS lattice of MRMS: 3500 rows from north, 7000 columns from west; pixel centres end in 5.
 * Every table's `row` and `col` are indices of this lattice, whatever window a data root holds.
 */
export const LATTICE = { rows: 3500, cols: 7000, north: 55, west: -130, step: 0.01 } as const;

/** Rectangle of the lattice, in lattice indices. */
export interface Window {
  readonly row0: number;
  readonly col0: number;
  readonly rows: number;
  readonly cols: number;
}

/** Outer edges of the lattice. */
export const LATTICE_BBOX: Bbox = [-130, 20, -60, 55];

/** True for a point on the lattice, its outer edges included; there are no data elsewhere. */
export function isOnLattice({ lat, lon }: Position): boolean {
  const [west, south, east, north] = LATTICE_BBOX;
  return lat >= south && lat <= north && lon >= west && lon <= east;
}

/** Latitude of the centre of a lattice row, exact to three decimals. */
export function rowLat(row: number): number {
  return (54995 - 10 * row) / 1000;
}

/** Longitude of the centre of a lattice column, exact to three decimals. */
export function colLon(col: number): number {
  return (-129995 + 10 * col) / 1000;
}

/** Row of the pixel that holds a latitude; a latitude on an edge belongs to the pixel south of it. */
export function latRow(lat: number): number {
  return Math.floor((LATTICE.north - lat) / LATTICE.step + 1e-9);
}

/** Column of the pixel that holds a longitude. */
export function lonCol(lon: number): number {
  return Math.floor((lon - LATTICE.west) / LATTICE.step + 1e-9);
}

const rowAreas = Float64Array.from({ length: LATTICE.rows }, (_, row) =>
  cellAreaKm2((5500 - row - 1) / 100, (5500 - row) / 100, LATTICE.step),
);

/** Area of any pixel of a lattice row on the WGS84 ellipsoid, km2. */
export function pixelAreaKm2(row: number): number {
  return rowAreas[row];
}

/** Outer edges of a window, exact to two decimals. */
export function windowBbox({ row0, col0, rows, cols }: Window): Bbox {
  return [(col0 - 13000) / 100, (5500 - row0 - rows) / 100, (col0 + cols - 13000) / 100, (5500 - row0) / 100];
}
