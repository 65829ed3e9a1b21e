import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import { WGS84_A_KM, WGS84_E2_12_DIGITS } from '../../schemas/geo/constants.ts';
import { geohash } from '../../schemas/geo/geohash.ts';
import { GEOHASH4_LAT_DEG, GEOHASH4_LON_DEG } from '../../schemas/geo/geohash4.ts';
import { LATTICE, rowLat } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { OUTLOOK_DOMAIN } from '../../schemas/reference/outlook-domain.ts';
import { RISK_RADIUS_KM } from '../../schemas/risk.ts';

/** The 48 states lie in these rows and columns of geohash4 cells, counted from the south pole and from 180 W. */
const ROWS = { first: Math.floor((24 + 90) / GEOHASH4_LAT_DEG), last: Math.floor((50 + 90) / GEOHASH4_LAT_DEG) };
const COLS = { first: Math.floor((180 - 126) / GEOHASH4_LON_DEG), last: Math.floor((180 - 66) / GEOHASH4_LON_DEG) };

/** One geohash4 cell: its name, its centre, its row and column from the south-western corner of the grid. */
export interface RiskCell extends Position {
  readonly geohash4: string;
  readonly row: number;
  readonly col: number;
}

/** Cells on a grid of geohash4; where the grid has no cell, the index is -1. */
export interface RiskGrid {
  readonly cells: readonly RiskCell[];
  readonly rows: number;
  readonly cols: number;
  /** Number of a cell by row * cols + column. */
  readonly index: Int32Array;
}

/** Latitude of the centre of a row of the grid. */
function centreLat(row: number): number {
  return (ROWS.first + row + 0.5) * GEOHASH4_LAT_DEG - 90;
}

function centreLon(col: number): number {
  return (COLS.first + col + 0.5) * GEOHASH4_LON_DEG - 180;
}

/**
 * Every geohash4 cell that a point of the 48 states may lie in. The domain reaches at least 11 km beyond the coast and nine points of
 * a cell are at most 20 km apart, so that a cell with land is never missed; along the coast some cells are all water.
 */
export function conusCells(): RiskGrid {
  const domain = { type: 'Polygon' as const, coordinates: [OUTLOOK_DOMAIN.map((position) => [...position])] };
  const [rows, cols] = [ROWS.last - ROWS.first + 1, COLS.last - COLS.first + 1];
  const index = new Int32Array(rows * cols).fill(-1);
  const cells: RiskCell[] = [];
  for (let row = 0; row < rows; row++)
    for (let col = 0; col < cols; col++) {
      const [lat, lon] = [centreLat(row), centreLon(col)];
      const isInside = NINE.some(([north, east]) =>
        booleanPointInPolygon([lon + east * GEOHASH4_LON_DEG, lat + north * GEOHASH4_LAT_DEG], domain),
      );
      if (!isInside) continue;
      index[row * cols + col] = cells.length;
      cells.push({ geohash4: geohash(lat, lon, 4), lat, lon, row, col });
    }
  return { cells, rows, cols, index };
}

/** The centre of a cell first, then its corners and the middles of its edges, in cells. */
const NINE = [0, -0.5, 0.5].flatMap((north) => [0, -0.5, 0.5].map((east) => [north, east] as const));

/** Pixels of one lattice row that lie within 10 km of the centres of one row of cells: those so near in longitude. */
export interface Reach {
  readonly row: number;
  readonly cell_row: number;
  readonly centre_lat: number;
  readonly reach_deg: number;
}

/**
 * For every row of the lattice the rows of cells within 10 km of it, and how far from a centre a pixel may lie in longitude. South
 * of 60 degrees the circle stays within the column of its cell.
 */
export function cellReaches(): Reach[] {
  const reaches: Reach[] = [];
  for (let row = 0; row < LATTICE.rows; row++) {
    const lat = rowLat(row);
    const own = Math.floor((lat + 90) / GEOHASH4_LAT_DEG) - ROWS.first;
    for (const cell_row of [own - 1, own, own + 1]) {
      if (cell_row < 0 || cell_row > ROWS.last - ROWS.first) continue;
      const reach_deg = reachDeg(lat, centreLat(cell_row));
      if (reach_deg !== null) reaches.push({ row, cell_row, centre_lat: centreLat(cell_row), reach_deg });
    }
  }
  return reaches;
}

/**
 * Difference in longitude at which two points of these latitudes are 10 km apart, degrees; null where they always are farther.
 * Source: Gauss's middle-latitude formula, within a metre of the geodesic at this distance.
 */
function reachDeg(lat: number, centre_lat: number): number | null {
  const middle = (((lat + centre_lat) / 2) * Math.PI) / 180;
  const w2 = 1 - WGS84_E2_12_DIGITS * Math.sin(middle) ** 2;
  const degree_km = (WGS84_A_KM * Math.PI) / 180;
  const north_km = ((degree_km * (1 - WGS84_E2_12_DIGITS)) / w2 ** 1.5) * (lat - centre_lat);
  const rest = RISK_RADIUS_KM ** 2 - north_km ** 2;
  return rest < 0 ? null : Math.sqrt(rest) / ((degree_km / Math.sqrt(w2)) * Math.cos(middle));
}

/** SQL of the column of the grid that a longitude lies in, and of the longitude of that column's centre. */
export const CELL_COL_SQL = `floor((lon + 180) / ${GEOHASH4_LON_DEG})::INTEGER - ${COLS.first}`;
export const CENTRE_LON_SQL = `(floor((lon + 180) / ${GEOHASH4_LON_DEG}) + 0.5) * ${GEOHASH4_LON_DEG} - 180`;
