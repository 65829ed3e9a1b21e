import { type Antenna, detectionQuality } from '../../schemas/geo/beam.ts';
import type { Blockage } from '../../schemas/geo/blockage.ts';
import { WGS84_A_KM, WGS84_E2_12_DIGITS } from '../../schemas/geo/constants.ts';
import { roughDistanceKm } from '../../schemas/geo/distance.ts';
import {
  CONUS_CELL_COLS,
  CONUS_CELL_ROWS,
  CONUS_CELLS,
  GEOHASH4_LAT_DEG,
  GEOHASH4_LON_DEG,
  type Geohash4Cell,
} from '../../schemas/geo/geohash4.ts';
import { LATTICE, rowLat } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { hailDayFreezingLevelKm } from '../../schemas/reference/freezing-level.ts';
import { isInOutlookDomain } from '../../schemas/reference/outlook-domain.ts';
import { groundM } from '../../schemas/reference/terrain.ts';
import { RISK_RADIUS_KM } from '../../schemas/risk.ts';

/** One geohash4 cell, with its row and column from the south-western corner of the grid. */
export interface RiskCell extends Geohash4Cell {
  readonly row: number;
  readonly col: number;
}

/** Some of the cells of `CONUS_CELLS`. */
export interface RiskGrid {
  readonly cells: readonly RiskCell[];
  readonly rows: number;
  readonly cols: number;
  /** Number of the cell at row * cols + column; -1 where the grid has no cell. */
  readonly index: Int32Array;
}

/**
 * Geohash4 cells that may contain a point of the 48 states. The domain reaches at least 11 km beyond the coast and nine points
 * of a cell are at most 20 km apart, so no cell with land is missing; along the coast some cells are all water.
 */
export function conusCells(): RiskGrid {
  const [rows, cols] = [CONUS_CELL_ROWS, CONUS_CELL_COLS];
  const index = new Int32Array(CONUS_CELLS.length).fill(-1);
  const cells: RiskCell[] = [];
  for (const [k, cell] of CONUS_CELLS.entries()) {
    const { lat, lon } = cell;
    const isInside = NINE.some(([north, east]) =>
      isInOutlookDomain({ lat: lat + north * GEOHASH4_LAT_DEG, lon: lon + east * GEOHASH4_LON_DEG }),
    );
    if (!isInside) continue;
    index[k] = cells.length;
    cells.push({ ...cell, row: Math.floor(k / cols), col: k % cols });
  }
  return { cells, rows, cols, index };
}

/** Offsets of a cell's centre, its corners and the middles of its edges, in cells. */
const NINE = [0, -0.5, 0.5].flatMap((north) => [0, -0.5, 0.5].map((east) => [north, east] as const));

/**
 * Rows of cells within 10 km of each lattice row, with the largest distance of a pixel from a centre in longitude. South of 60
 * degrees the circle around a centre stays within the column of its cell.
 */
export function cellReaches() {
  const reaches: { row: number; cell_row: number; centre_lat: number; reach_deg: number }[] = [];
  for (let row = 0; row < LATTICE.rows; row++) {
    const lat = rowLat(row);
    const own = Math.round((lat - CONUS_CELLS[0].lat) / GEOHASH4_LAT_DEG);
    for (const cell_row of [own - 1, own, own + 1]) {
      if (cell_row < 0 || cell_row >= CONUS_CELL_ROWS) continue;
      const centre_lat = CONUS_CELLS[cell_row * CONUS_CELL_COLS].lat;
      const reach_deg = reachDeg(lat, centre_lat);
      if (reach_deg !== null) reaches.push({ row, cell_row, centre_lat, reach_deg });
    }
  }
  return reaches;
}

/**
 * Difference in longitude at which two points of these latitudes are 10 km apart, degrees; null where they are always farther.
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

/** SQL of the grid column of a longitude, and of the longitude of that column's centre. */
export const CELL_COL_SQL = `floor((lon + 180) / ${GEOHASH4_LON_DEG})::INTEGER - ${Math.floor((CONUS_CELLS[0].lon + 180) / GEOHASH4_LON_DEG)}`;
export const CENTRE_LON_SQL = `(floor((lon + 180) / ${GEOHASH4_LON_DEG}) + 0.5) * ${GEOHASH4_LON_DEG} - 180`;

/** Detection quality from which a day without a detection counts as a day without hail. */
const AVAILABLE_MIN = 0.3;
/** Month whose quality stands for the year: most hail falls in May, and poor coverage hardly depends on the month. */
const MONTH = 5;
/** Distances between which one radar suffices, km; the quality is not computed there. */
const SURE_FROM_KM = 25;
const SURE_TO_KM = 190;

/** 1 for each place where a day without a detection counts as a day without hail, else 0. */
export function availableCells(
  places: readonly Position[],
  sites: readonly Antenna[],
  blockage: Blockage | null,
): Float64Array {
  const isSure = (km: number) => km >= SURE_FROM_KM && km <= SURE_TO_KM;
  return Float64Array.from(places, (place) => {
    if (blockage === null && sites.some((site) => isSure(roughDistanceKm(site, place)))) return 1;
    const freezing_level_km = hailDayFreezingLevelKm(place.lat, MONTH);
    const ground_m = groundM(place, blockage);
    const { hdqi } = detectionQuality(place, { sites, freezing_level_km, ground_m, blockage: blockage?.blocked });
    return hdqi >= AVAILABLE_MIN ? 1 : 0;
  });
}
