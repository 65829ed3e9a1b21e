/** Centres of the cells of a grid of heights: the north-western one, and the steps between neighbours, degrees. */
export interface HeightCells {
  readonly north_lat: number;
  readonly west_lon: number;
  readonly lat_step_deg: number;
  readonly lon_step_deg: number;
}

/** Height at a place, bilinear between cells; NaN where one of the four cells, given by row from the north, is unknown. */
export function heightAt(
  { north_lat, west_lon, lat_step_deg, lon_step_deg }: HeightCells,
  rows: readonly (ArrayLike<number> | undefined)[],
  lat: number,
  lon: number,
): number {
  const y = (north_lat - lat) / lat_step_deg;
  // Some models count longitudes from 0 to 360. A place up to one cell west of the first centre has column -1.
  const east_deg = lon - west_lon + lon_step_deg;
  const x = (east_deg - 360 * Math.floor(east_deg / 360)) / lon_step_deg - 1;
  const [row, col] = [Math.floor(y), Math.floor(x)];
  const upper = rows[row];
  const lower = rows[row + 1];
  if (upper === undefined || lower === undefined || col < 0 || col + 1 >= upper.length) return Number.NaN;
  const [down, right] = [y - row, x - col];
  const north_m = upper[col] * (1 - right) + upper[col + 1] * right;
  const south_m = lower[col] * (1 - right) + lower[col + 1] * right;
  return north_m * (1 - down) + south_m * down;
}
