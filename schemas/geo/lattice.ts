import { cellAreaKm2 } from './area.ts';
import { type Bbox, CONUS, type Position } from './position.ts';

/** Names of the lattices of MRMS. */
export const LATTICE_NAMES = ['conus', 'alaska', 'hawaii', 'guam', 'caribbean'] as const;
export type LatticeName = (typeof LATTICE_NAMES)[number];

/**
 * A lattice of MRMS: rows from north, columns from west. A data root has one, and every table's `row` and `col` are its indices,
 * whatever window of it the root holds. Plain data, which can be sent between threads.
 */
export interface Lattice {
  readonly name: LatticeName;
  /** Name in sentences. */
  readonly title: string;
  /** Folder of its grids in the public bucket. */
  readonly folder: string;
  readonly rows: number;
  readonly cols: number;
  /** Outer edges, whole degrees. */
  readonly north: number;
  readonly west: number;
  /** Side of a pixel, degrees. */
  readonly step: number;
  /** Pixels to a degree: with whole numbers the centres come out exact. */
  readonly per_degree: number;
  /** Outer edges. */
  readonly bbox: Bbox;
  /** Box in which the interface takes positions. */
  readonly served: Bbox;
}

function lattice(
  name: LatticeName,
  title: string,
  folder: string,
  per_degree: number,
  bbox: Bbox,
  served = bbox,
): Lattice {
  const [west, south, east, north] = bbox;
  const [rows, cols] = [(north - south) * per_degree, (east - west) * per_degree];
  return Object.freeze({
    name,
    title,
    folder,
    rows,
    cols,
    north,
    west,
    step: 1 / per_degree,
    per_degree,
    bbox,
    served,
  });
}

/** The lattices by name; `data/README.md` says where their edges and steps come from. */
export const LATTICES: Readonly<Record<LatticeName, Lattice>> = {
  conus: lattice(
    'conus',
    'CONUS',
    'CONUS',
    100,
    [-130, 20, -60, 55],
    [CONUS.west, CONUS.south, CONUS.east, CONUS.north],
  ),
  alaska: lattice('alaska', 'Alaska', 'ALASKA', 100, [-176, 50, -126, 72]),
  hawaii: lattice('hawaii', 'Hawaii', 'HAWAII', 200, [-164, 15, -151, 26]),
  guam: lattice('guam', 'Guam', 'GUAM', 200, [140, 9, 150, 18]),
  caribbean: lattice('caribbean', 'Caribbean', 'CARIB', 100, [-90, 10, -60, 25]),
};

/** Factor of the row where row and column make one number: at least the columns of every lattice. */
export const ROW_STRIDE = 7000;

/** Rectangle of a lattice, in its indices. */
export interface Window {
  readonly lattice: Lattice;
  readonly row0: number;
  readonly col0: number;
  readonly rows: number;
  readonly cols: number;
}

/** The window that holds a whole lattice. */
export function wholeWindow(lattice: Lattice): Window {
  return { lattice, row0: 0, col0: 0, rows: lattice.rows, cols: lattice.cols };
}

/** True for a point on the lattice, its outer edges included; there are no data elsewhere. */
export function isOnLattice({ bbox: [west, south, east, north] }: Lattice, { lat, lon }: Position): boolean {
  return lat >= south && lat <= north && lon >= west && lon <= east;
}

/** Latitude of the centre of a lattice row, exact to four decimals. */
export function rowLat({ north, per_degree }: Lattice, row: number): number {
  return (2 * per_degree * north - 1 - 2 * row) / (2 * per_degree);
}

/** Longitude of the centre of a lattice column, exact to four decimals. */
export function colLon({ west, per_degree }: Lattice, col: number): number {
  return (2 * per_degree * west + 1 + 2 * col) / (2 * per_degree);
}

/** Row of the pixel that holds a latitude; a latitude on an edge belongs to the pixel south of it. */
export function latRow({ north, step }: Lattice, lat: number): number {
  return Math.floor((north - lat) / step + 1e-9);
}

/** Column of the pixel that holds a longitude. */
export function lonCol({ west, step }: Lattice, lon: number): number {
  return Math.floor((lon - west) / step + 1e-9);
}

function rowAreas({ rows, north, per_degree, step }: Lattice): Float64Array {
  const edge = (row: number) => (north * per_degree - row) / per_degree;
  return Float64Array.from({ length: rows }, (_, row) => cellAreaKm2(edge(row + 1), edge(row), step));
}

const AREAS: Readonly<Record<LatticeName, Float64Array>> = {
  conus: rowAreas(LATTICES.conus),
  alaska: rowAreas(LATTICES.alaska),
  hawaii: rowAreas(LATTICES.hawaii),
  guam: rowAreas(LATTICES.guam),
  caribbean: rowAreas(LATTICES.caribbean),
};

/** Area of any pixel of each lattice row on the WGS84 ellipsoid, km2. */
export function rowAreasKm2({ name }: Lattice): Readonly<Float64Array> {
  return AREAS[name];
}

/** Area of any pixel of a lattice row on the WGS84 ellipsoid, km2. */
export function pixelAreaKm2({ name }: Lattice, row: number): number {
  return AREAS[name][row];
}

/** Pixels of a lattice that together are as large as `count` pixels of 0.01 degrees, rounded. */
export function pixelsLike({ per_degree }: Lattice, count: number): number {
  return Math.round(count * (per_degree / 100) ** 2);
}

/** Pixels of a lattice that span as many degrees as `count` pixels of 0.01 degrees. */
export function pixelsAcross({ per_degree }: Lattice, count: number): number {
  return count * (per_degree / 100);
}

/** Outer edges of a window, exact to three decimals. */
export function windowBbox({ lattice, row0, col0, rows, cols }: Window): Bbox {
  const { north, west, per_degree } = lattice;
  return [
    (col0 + west * per_degree) / per_degree,
    (north * per_degree - row0 - rows) / per_degree,
    (col0 + cols + west * per_degree) / per_degree,
    (north * per_degree - row0) / per_degree,
  ];
}

/**
 * The lattice that holds the whole of a box, with its step in degrees: `preferred` where it does, else one with just these edges,
 * else the first; null for none.
 */
export function latticeOf(bbox: Bbox, step: number, preferred: Lattice | null): Lattice | null {
  // Positions of the islands' grids are rounded to thousandths of a degree, a tenth of their pixels.
  const slack = step / 8;
  const candidates = LATTICE_NAMES.map((name) => LATTICES[name]).filter(
    ({ bbox: [west, south, east, north], step: own }) =>
      Math.abs(own - step) < own / 1000 &&
      bbox[0] >= west - slack &&
      bbox[1] >= south - slack &&
      bbox[2] <= east + slack &&
      bbox[3] <= north + slack,
  );
  const isWhole = (one: Lattice) => one.bbox.every((edge, k) => Math.abs(edge - bbox[k]) <= slack);
  return candidates.find((one) => one === preferred) ?? candidates.find(isWhole) ?? candidates[0] ?? null;
}
