import { boxAround } from '../../schemas/geo/around.ts';
import { type Antenna, beamAt, partialBlockage, REACH_KM, TILTS_DEG } from '../../schemas/geo/beam.ts';
import { GROUND_CELL_PX, GROUND_COLS, GROUND_ROWS, groundIndex } from '../../schemas/geo/blockage.ts';
import { KM_PER_DEG_EQUATOR } from '../../schemas/geo/constants.ts';
import { destination } from '../../schemas/geo/distance.ts';
import { heightAt } from '../../schemas/geo/heights.ts';
import { LATTICE, latRow, lonCol } from '../../schemas/geo/lattice.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import type { BlockageStep, GroundCell } from '../../schemas/tables/derived.ts';
import type { HeightGrid } from '../grid.ts';

/** Rays of a radar, one for each whole degree: about the width of a beam. */
const AZIMUTHS = 360;
/** Distance between two samples of the terrain under a ray, km. */
const STEP_KM = 0.25;
const SAMPLES = REACH_KM / STEP_KM;
/** A ray is computed as a geodesic at points this far apart, and interpolated between them with an error below 5 m. */
const NODE_KM = 10;
/** Samples nearer than this, or than one cell of the terrain model, are ignored: heights are not exact enough there, km. */
const NEAR_KM = 1;
/** Rows of a terrain model that are read at a time for the ground. */
const ROWS_READ = 256;

/** One step of a ray, without the columns that are the same for the whole table. */
type RayStep = Omit<BlockageStep, 'terrain_file' | 'terrain_step_arcsec'>;

/** Terrain blockage of the beams of one radar. */
interface RadarBlockage {
  readonly steps: readonly RayStep[];
  /** Share of the samples with unknown height; they block nothing. */
  readonly unknown_share: number;
  /** Share of the directions in which more than half of the lowest beam is blocked somewhere within reach. */
  readonly shadowed_share: number;
}

/** Heights of beam centres above the antenna, and half the beam widths, at each sample, m, for one tilt. */
interface Tilt {
  readonly tilt_deg: number;
  readonly centre_m: Float64Array;
  readonly radius_m: Float64Array;
}

const TILTS = TILTS_DEG.map((tilt_deg): Tilt => {
  const beams = Array.from({ length: SAMPLES + 1 }, (_, sample) => beamAt(sample * STEP_KM, tilt_deg));
  return {
    tilt_deg,
    centre_m: Float64Array.from(beams, ({ centre_km }) => 1000 * centre_km),
    radius_m: Float64Array.from(beams, ({ width_km }) => 500 * width_km),
  };
});

/**
 * Blockage of every radar inside a terrain model, from north to south, so that each row of the model is read once. Calls
 * `onRadar` after each radar, inside or outside, with the number done and the total.
 */
export async function* examineRadars(
  sites: readonly Antenna[],
  grid: HeightGrid,
  onRadar: (done: number, total: number) => void,
): AsyncGenerator<RadarBlockage & { readonly id: string }> {
  const cell_km = KM_PER_DEG_EQUATOR * Math.max(grid.lat_step_deg, grid.lon_step_deg);
  const south_lat = grid.north_lat - (grid.rows - 1) * grid.lat_step_deg;
  const windowOf = heightWindow(grid);
  const ordered = sites.toSorted((a, b) => b.lat - a.lat);
  for (const [index, site] of ordered.entries()) {
    if (site.lat <= grid.north_lat && site.lat >= south_lat) {
      const heightAt = await windowOf(boxAround(site, REACH_KM));
      if (!Number.isNaN(heightAt(site.lat, site.lon))) yield { id: site.id, ...radarBlockage(site, heightAt, cell_km) };
    }
    onRadar(index + 1, ordered.length);
  }
}

/**
 * Steps of the share of each beam that terrain blocks, along every whole degree to 230 km, for the tilts that are blocked.
 * Along a ray the share is the largest so far, in hundredths; the lowest tilt begins with a step to 0.
 *
 * Heights of terrain and of beam centres are above sea level, beams with the 4/3 earth radius model; the terrain under the
 * middle of a beam stands for its whole width. `cell_km` is the spacing of the heights.
 * Source: Bech et al. 2003, Journal of Atmospheric and Oceanic Technology 20, 845–855, eq. 2.
 */
export function radarBlockage(site: Antenna, heightAt: HeightAt, cell_km: number): RadarBlockage {
  const nearest = Math.ceil(Math.max(NEAR_KM, cell_km) / STEP_KM);
  const steps: RayStep[] = [];
  let [unknown, samples, shadowed] = [0, 0, 0];
  for (let azimuth_deg = 0; azimuth_deg < AZIMUTHS; azimuth_deg++) {
    const heights = heightsAlong(site, azimuth_deg, heightAt);
    for (let sample = nearest; sample <= SAMPLES; sample++) if (Number.isNaN(heights[sample])) unknown++;
    samples += SAMPLES + 1 - nearest;
    for (const [index, tilt] of TILTS.entries()) {
      const rises = risesAlong(heights, site.antenna_m, tilt, nearest);
      // A higher tilt is not blocked where a lower one is clear.
      if (index > 0 && rises.length === 0) break;
      const first = index === 0 ? [{ distance_km: 0, blocked: 0 }] : [];
      for (const rise of [...first, ...rises])
        steps.push({ radar_id: site.id, tilt_deg: tilt.tilt_deg, azimuth_deg, ...rise });
      if (index === 0 && (rises.at(-1)?.blocked ?? 0) > 0.5) shadowed++;
    }
  }
  return { steps, unknown_share: unknown / samples, shadowed_share: shadowed / AZIMUTHS };
}

/** Terrain height above sea level at each sample along a ray, m; NaN where unknown. */
function heightsAlong(site: Antenna, azimuth_deg: number, heightAt: HeightAt): Float64Array {
  const heights = new Float64Array(SAMPLES + 1);
  const perNode = NODE_KM / STEP_KM;
  let from: Position = site;
  for (let node = 0; node < REACH_KM / NODE_KM; node++) {
    const to = destination(site, azimuth_deg, (node + 1) * NODE_KM);
    for (let k = node === 0 ? 0 : 1; k <= perNode; k++) {
      const share = k / perNode;
      const east_deg = shortestTurn(to.lon - from.lon);
      heights[node * perNode + k] = heightAt(from.lat + share * (to.lat - from.lat), from.lon + share * east_deg);
    }
    from = to;
  }
  return heights;
}

/** Difference of longitudes within -180 to 180 degrees: a ray may cross the date line. */
function shortestTurn(degrees: number): number {
  return degrees - 360 * Math.round(degrees / 360);
}

/** Distances at which the running maximum of the blocked share, in hundredths, rises, with its new value. */
function risesAlong(
  heights: Float64Array,
  antenna_m: number,
  { centre_m, radius_m }: Tilt,
  nearest: number,
): { readonly distance_km: number; readonly blocked: number }[] {
  const rises: { distance_km: number; blocked: number }[] = [];
  let percent = 0;
  for (let sample = nearest; sample <= SAMPLES; sample++) {
    const over_m = heights[sample] - antenna_m - centre_m[sample];
    const radius = radius_m[sample];
    if (!(over_m > -radius)) continue;
    const here = Math.round(100 * partialBlockage(over_m, radius));
    if (here <= percent) continue;
    percent = here;
    rises.push({ distance_km: sample * STEP_KM, blocked: percent / 100 });
  }
  return rises;
}

/** Height above sea level at a place, m, bilinear between cells; NaN where one of the four cells is unknown. */
type HeightAt = (lat: number, lon: number) => number;

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
    return (lat, lon) => heightAt(grid, rows, lat, lon);
  };
}

/** Mean height of a terrain model in each cell of the lattice in which it knows any; heights below sea level, such as sea floor, count as 0. */
export async function groundCells(grid: HeightGrid): Promise<GroundCell[]> {
  const sums = new Float64Array(GROUND_ROWS * GROUND_COLS);
  const known = new Uint32Array(sums.length);
  const cols = Array.from({ length: grid.cols }, (_, col) =>
    groundIndex(lonCol(shortestTurn(grid.west_lon + col * grid.lon_step_deg))),
  );
  const [, south, , north] = LATTICE.bbox;
  const end = clamped((grid.north_lat - south) / grid.lat_step_deg, grid.rows) + 1;
  for (let first = clamped((grid.north_lat - north) / grid.lat_step_deg, grid.rows); first < end; first += ROWS_READ) {
    for (const [index, heights] of (await grid.readRows(first, Math.min(ROWS_READ, end - first))).entries()) {
      const row = groundIndex(latRow(grid.north_lat - (first + index) * grid.lat_step_deg));
      if (row < 0 || row >= GROUND_ROWS) continue;
      for (let at = 0; at < cols.length; at++) {
        const col = cols[at];
        if (col < 0 || col >= GROUND_COLS || Number.isNaN(heights[at])) continue;
        sums[row * GROUND_COLS + col] += Math.max(0, heights[at]);
        known[row * GROUND_COLS + col]++;
      }
    }
  }
  return Array.from(sums, (sum, cell) => ({
    row: GROUND_CELL_PX * Math.floor(cell / GROUND_COLS),
    col: GROUND_CELL_PX * (cell % GROUND_COLS),
    ground_m: Math.round(sum / known[cell]),
  })).filter(({ ground_m }) => !Number.isNaN(ground_m));
}

function clamped(row: number, rows: number): number {
  return Math.min(rows - 1, Math.max(0, Math.floor(row)));
}
