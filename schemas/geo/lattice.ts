import { cellAreaKm2 } from './area.ts';
import type { Bbox, Position } from './position.ts';

/**
 * The MRMS lattice over CONUS: rows from north, columns from west, pixels of 0.01 degree. Every table's `row` and `col` are its indices.
 */
export const LATTICE = Object.freeze({
  rows: 3500,
  cols: 7000,
  /** Outer edges, whole degrees. */
  north: 55,
  west: -130,
  /** Side of a pixel, degrees. */
  step: 0.01,
  /** Pixels to a degree: with whole numbers the centres come out exact. */
  per_degree: 100,
  /** Outer edges. */
  bbox: [-130, 20, -60, 55] as Bbox,
});

/** Rectangle of the lattice, in its indices. */
export interface Window {
  readonly row0: number;
  readonly col0: number;
  readonly rows: number;
  readonly cols: number;
}

/** The window that holds the whole lattice. */
export const WHOLE_LATTICE: Window = { row0: 0, col0: 0, rows: LATTICE.rows, cols: LATTICE.cols };

/** True for a point on the lattice, its outer edges included; there are no data elsewhere. */
export function isOnLattice({ lat, lon }: Position): boolean {
  const [west, south, east, north] = LATTICE.bbox;
  return lat >= south && lat <= north && lon >= west && lon <= east;
}

/** Latitude of the centre of a lattice row, exact to three decimals. */
export function rowLat(row: number): number {
  return (2 * LATTICE.per_degree * LATTICE.north - 1 - 2 * row) / (2 * LATTICE.per_degree);
}

/** Longitude of the centre of a lattice column, exact to three decimals. */
export function colLon(col: number): number {
  return (2 * LATTICE.per_degree * LATTICE.west + 1 + 2 * col) / (2 * LATTICE.per_degree);
}

/** Row of the pixel that holds a latitude; a latitude on an edge belongs to the pixel south of it. */
export function latRow(lat: number): number {
  return Math.floor((LATTICE.north - lat) / LATTICE.step + 1e-9);
}

/** Column of the pixel that holds a longitude. */
export function lonCol(lon: number): number {
  return Math.floor((lon - LATTICE.west) / LATTICE.step + 1e-9);
}

/** Area of any pixel of each lattice row on the WGS84 ellipsoid, km2. */
export const ROW_AREAS_KM2: Readonly<Float64Array> = Float64Array.from({ length: LATTICE.rows }, (_, row) => {
  const edge = (k: number) => (LATTICE.north * LATTICE.per_degree - k) / LATTICE.per_degree;
  return cellAreaKm2(edge(row + 1), edge(row), LATTICE.step);
});

/** Area of any pixel of a lattice row on the WGS84 ellipsoid, km2. */
export function pixelAreaKm2(row: number): number {
  return ROW_AREAS_KM2[row];
}

/** Outer edges of a window, exact to two decimals. */
export function windowBbox({ row0, col0, rows, cols }: Window): Bbox {
  const { north, west, per_degree } = LATTICE;
  return [
    (col0 + west * per_degree) / per_degree,
    (north * per_degree - row0 - rows) / per_degree,
    (col0 + cols + west * per_degree) / per_degree,
    (north * per_degree - row0) / per_degree,
  ];
}
