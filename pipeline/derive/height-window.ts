import type { Bbox } from '../../schemas/geo/position.ts';
import type { HeightGrid } from '../grid.ts';

/** Height above sea level at a place, m, bilinear between cells; NaN where one of the four cells is unknown. */
export type HeightAt = (lat: number, lon: number) => number;

/**
 * Function that loads the rows of a grid of heights that a box crosses, and drops all others. Boxes in order from north to south
 * read every row once, so the model of a continent is never in memory as a whole.
 */
export function heightWindow(grid: HeightGrid): (box: Bbox) => Promise<HeightAt> {
  const rows: (Float32Array | undefined)[] = [];
  return async ([, south, , north]) => {
    const first = clamped((grid.north_lat - north) / grid.lat_step_deg, grid.rows);
    const last = clamped((grid.north_lat - south) / grid.lat_step_deg + 1, grid.rows);
    for (const [row] of rows.entries()) if (row < first || row > last) rows[row] = undefined;
    for (let row = first; row <= last; row++) {
      if (rows[row] !== undefined) continue;
      let end = row + 1;
      while (end <= last && rows[end] === undefined) end++;
      for (const [index, heights] of (await grid.readRows(row, end - row)).entries()) rows[row + index] = heights;
    }
    return (lat, lon) => interpolated(grid, rows, lat, lon);
  };
}

function clamped(row: number, rows: number): number {
  return Math.min(rows - 1, Math.max(0, Math.floor(row)));
}

function interpolated(
  { north_lat, west_lon, lat_step_deg, lon_step_deg, cols }: HeightGrid,
  rows: readonly (Float32Array | undefined)[],
  lat: number,
  lon: number,
): number {
  const y = (north_lat - lat) / lat_step_deg;
  // Some models count longitudes from 0 to 360. A place up to one cell west of the first centre has column -1.
  const x = positiveDegrees(lon - west_lon + lon_step_deg) / lon_step_deg - 1;
  const [row, col] = [Math.floor(y), Math.floor(x)];
  const upper = rows[row];
  const lower = rows[row + 1];
  if (upper === undefined || lower === undefined || col < 0 || col + 1 >= cols) return Number.NaN;
  const [down, right] = [y - row, x - col];
  const north_m = upper[col] * (1 - right) + upper[col + 1] * right;
  const south_m = lower[col] * (1 - right) + lower[col + 1] * right;
  return north_m * (1 - down) + south_m * down;
}

/** Difference of longitudes within 0 to 360 degrees. */
function positiveDegrees(degrees: number): number {
  return degrees - 360 * Math.floor(degrees / 360);
}
