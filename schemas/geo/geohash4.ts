import { geohash } from './geohash.ts';
import { type Bbox, CONUS, type Position } from './position.ts';

/** Sides of a four-character geohash: ten bits each of longitude and of latitude. */
export const GEOHASH4_LON_DEG = 360 / 2 ** 10;
export const GEOHASH4_LAT_DEG = 180 / 2 ** 10;

/** One grid cell of forecasts, outlooks and climatology; `lat` and `lon` are its centre. */
export interface Geohash4Cell extends Position {
  readonly geohash4: string;
}

const WEST = Math.floor((CONUS.west + 180) / GEOHASH4_LON_DEG);
const SOUTH = Math.floor((CONUS.south + 90) / GEOHASH4_LAT_DEG);

/** Rows from south and columns from west of the cells that touch CONUS. */
export const CONUS_CELL_ROWS = Math.floor((CONUS.north + 90) / GEOHASH4_LAT_DEG) - SOUTH + 1;
export const CONUS_CELL_COLS = Math.floor((CONUS.east + 180) / GEOHASH4_LON_DEG) - WEST + 1;

/** Every four-character geohash that touches CONUS, row by row from the south-west. */
export const CONUS_CELLS: readonly Geohash4Cell[] = Array.from(
  { length: CONUS_CELL_ROWS * CONUS_CELL_COLS },
  (_, index) => {
    const lat = (SOUTH + Math.floor(index / CONUS_CELL_COLS) + 0.5) * GEOHASH4_LAT_DEG - 90;
    const lon = (WEST + (index % CONUS_CELL_COLS) + 0.5) * GEOHASH4_LON_DEG - 180;
    return { geohash4: geohash(lat, lon, 4), lat, lon };
  },
);

/** Of the cells that touch CONUS, those whose centre lies in a box, row by row from the south-west. */
export function cellsIn([west, south, east, north]: Bbox): Geohash4Cell[] {
  const [row0, row1] = span(south + 90, north + 90, GEOHASH4_LAT_DEG, SOUTH, CONUS_CELL_ROWS);
  const [col0, col1] = span(west + 180, east + 180, GEOHASH4_LON_DEG, WEST, CONUS_CELL_COLS);
  const cells: Geohash4Cell[] = [];
  for (let row = row0; row <= row1; row++)
    for (let col = col0; col <= col1; col++) cells.push(CONUS_CELLS[row * CONUS_CELL_COLS + col] as Geohash4Cell);
  return cells;
}

/** First and last of `count` steps from `first` on whose centre lies between two values; the last is smaller for none. */
function span(from: number, to: number, step: number, first: number, count: number): [number, number] {
  return [Math.max(0, Math.ceil(from / step - 0.5) - first), Math.min(count - 1, Math.floor(to / step - 0.5) - first)];
}
