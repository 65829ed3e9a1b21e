import { boxAround } from '../../schemas/geo/around.ts';
import { type Antenna, REACH_KM } from '../../schemas/geo/beam.ts';
import { KM_PER_DEG_EQUATOR } from '../../schemas/geo/constants.ts';
import type { HeightGrid } from '../grid.ts';
import { type RadarBlockage, radarBlockage } from './blockage.ts';
import { heightWindow } from './height-window.ts';

/** A radar whose own ground the model knows, and what its terrain blocks. */
export interface ExaminedRadar extends RadarBlockage {
  readonly id: string;
}

/**
 * Examines every radar that stands in a terrain model, from north to south, so that each of its rows is read once. Radars
 * outside are passed over; `onRadar` is told after each one how many of all are done.
 */
export async function* examineRadars(
  sites: readonly Antenna[],
  grid: HeightGrid,
  onRadar: (done: number, total: number) => void,
): AsyncGenerator<ExaminedRadar> {
  const cell_km = KM_PER_DEG_EQUATOR * Math.max(grid.lat_step_deg, grid.lon_step_deg);
  const windowOf = heightWindow(grid);
  const ordered = sites.toSorted((a, b) => b.lat - a.lat);
  for (const [index, site] of ordered.entries()) {
    if (mayHold(grid, site)) {
      const heightAt = await windowOf(boxAround(site, REACH_KM));
      if (!Number.isNaN(heightAt(site.lat, site.lon))) yield { id: site.id, ...radarBlockage(site, heightAt, cell_km) };
    }
    onRadar(index + 1, ordered.length);
  }
}

/** False for a site north or south of the model: its rows need not be read. */
function mayHold({ rows, north_lat, lat_step_deg }: HeightGrid, { lat }: Antenna): boolean {
  return lat <= north_lat && lat >= north_lat - (rows - 1) * lat_step_deg;
}
