import { KM_PER_DEG, KM_PER_DEG_EQUATOR, RAD_PER_DEG } from '../../schemas/geo/constants.ts';
import {
  CONUS_CELL_COLS,
  CONUS_CELL_ROWS,
  CONUS_CELLS,
  GEOHASH4_LAT_DEG,
  GEOHASH4_LON_DEG,
} from '../../schemas/geo/geohash4.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { MS_PER_HOUR } from '../../schemas/time.ts';
import { columnTables, MAX_TENTHS } from './column.ts';
import { drawsOf, hashOf, normal, uniformOf } from './random.ts';
import { type Storm, stormAt, stormsBetween } from './storms.ts';
import { boundariesAt, dailyCycle, isInWindow, offsetPosition, parametersAt, type Scenario } from './weather.ts';

/** Delay from the start of a run to its hours, and number of runs: two are enough to blend. */
const RUN_DELAY_H = 1;
const RUNS = 2;
const LEADS_H = 24;
/** Samples of the storms per hour. */
const SAMPLES_PER_HOUR = 10;
/** A value of a cell is the largest within this distance. */
const NEIGHBOURHOOD_KM = 40;
/** Reflectivity without a storm. */
const CLEAR_DBZ = -20;
/** Depth of a core above the 0 C level: the middle of those the radar paints. */
const CORE_DEPTH_KM = 3;
/** Updraft helicity per millimetre of hail, m2/s2. */
const ROTATION_PER_MM = { ordinary: 0.3, multicell: 1, supercell: 3 } as const;
/** Distance over which instability decays away from a boundary. */
const WARM_SECTOR_KM = 260;

/**
 * Hours of the runs available at an instant on `CONUS_CELLS`, of which the cells in the scenario's window are covered: the hours to
 * come and the previous one, because storms count in adjacent hours too.
 */
export function simulatedModelHours(scenario: Scenario, now_ms: number) {
  const newest = Math.floor(now_ms / MS_PER_HOUR - RUN_DELAY_H);
  const covered = Uint8Array.from(CONUS_CELLS, (cell) => (isInWindow(scenario, cell) ? 1 : 0));
  return Array.from({ length: RUNS }, (_, k) => (newest - k) * MS_PER_HOUR).flatMap((run_time) =>
    Array.from({ length: LEADS_H }, (_, k) => run_time + (k + 1) * MS_PER_HOUR)
      .filter((valid_time) => valid_time > now_ms - MS_PER_HOUR)
      .map((valid_time) => {
        const largest = { ...airOf(scenario, valid_time), ...stormsOf(scenario, run_time, valid_time) };
        return { run_time, valid_time, simulated: true, covered, largest };
      }),
  );
}

/** Storms of the scenario as the run that started at `run_time` forecasts them for the hour that ends at `end_ms`. */
function stormsOf(scenario: Scenario, run_time: number, end_ms: number) {
  const hail_mm = new Float32Array(CONUS_CELLS.length);
  const updraft_helicity_m2_s2 = new Float32Array(CONUS_CELLS.length);
  const reflectivity_dbz = new Float32Array(CONUS_CELLS.length).fill(CLEAR_DBZ);
  const lead_h = (end_ms - run_time) / MS_PER_HOUR;
  for (const storm of stormsBetween(scenario, end_ms - MS_PER_HOUR, end_ms)) {
    const error = forecastError(scenario, storm, run_time, lead_h);
    if (error === null) continue;
    const { core } = columnTables(storm.freezing_level_km, CORE_DEPTH_KM);
    for (let sample = 1; sample <= SAMPLES_PER_HOUR; sample += 1) {
      const state = stormAt(storm, end_ms - MS_PER_HOUR + (sample * MS_PER_HOUR) / SAMPLES_PER_HOUR);
      const peak_mm = state.peak_mm * error.factor;
      if (!(peak_mm > 1)) continue;
      const cells = cellsAround(offsetPosition(state, error.east_km, error.north_km));
      raise(hail_mm, cells, peak_mm);
      raise(updraft_helicity_m2_s2, cells, ROTATION_PER_MM[storm.kind] * peak_mm);
      const tenths = Math.min(MAX_TENTHS, Math.round(10 * peak_mm));
      if (sample === SAMPLES_PER_HOUR) raise(reflectivity_dbz, cells, core.dbz_tenths[tenths] / 10);
    }
  }
  return { hail_mm, updraft_helicity_m2_s2, reflectivity_dbz };
}

/**
 * Forecast error of a run for a storm at a lead; null when the run misses the storm. A run shifts a storm by a distance that grows
 * with the lead and changes its strength, so that runs differ from each other as real ones do.
 */
function forecastError({ seed }: Scenario, storm: Storm, run_time: number, lead_h: number) {
  const run = run_time / MS_PER_HOUR;
  if (uniformOf(seed, 0x30de1, storm.key, run) < Math.min(0.5, 0.08 + 0.01 * lead_h)) return null;
  const draw = drawsOf(hashOf(seed, 0x30de1), storm.key, run);
  const spread_km = 8 + 1.2 * lead_h;
  return {
    east_km: spread_km * normal(draw),
    north_km: spread_km * normal(draw),
    factor: Math.exp(0.25 * normal(draw)),
  };
}

function raise(values: Float32Array, cells: readonly number[], value: number): void {
  for (const cell of cells) values[cell] = Math.max(values[cell], value);
}

/** Indexes of the cells whose centre lies within the neighbourhood of a place. */
function cellsAround(place: Position): number[] {
  const km_per_lon = KM_PER_DEG_EQUATOR * Math.cos(place.lat * RAD_PER_DEG);
  const [{ lat: south, lon: west }] = CONUS_CELLS;
  const row = (place.lat - south) / GEOHASH4_LAT_DEG;
  const col = (place.lon - west) / GEOHASH4_LON_DEG;
  const rows = NEIGHBOURHOOD_KM / (GEOHASH4_LAT_DEG * KM_PER_DEG);
  const cols = NEIGHBOURHOOD_KM / (GEOHASH4_LON_DEG * km_per_lon);
  const cells: number[] = [];
  for (let r = Math.max(0, Math.ceil(row - rows)); r <= Math.min(CONUS_CELL_ROWS - 1, row + rows); r += 1)
    for (let c = Math.max(0, Math.ceil(col - cols)); c <= Math.min(CONUS_CELL_COLS - 1, col + cols); c += 1)
      if (Math.hypot((r - row) / rows, (c - col) / cols) <= 1) cells.push(r * CONUS_CELL_COLS + c);
  return cells;
}

/** Environment of the storms: unstable near the boundaries, with the shear of the day type. */
function airOf(scenario: Scenario, valid_time: number) {
  const { shear_ms, size_factor } = parametersAt(scenario, valid_time);
  const boundaries = boundariesAt(scenario, valid_time);
  const warmth = scenario.steady ? 1 : Math.min(1, 0.35 + 0.4 * dailyCycle(valid_time));
  const cape_j_kg = new Float32Array(CONUS_CELLS.length);
  const ship = new Float32Array(CONUS_CELLS.length);
  for (const [i, cell] of CONUS_CELLS.entries()) {
    const near = Math.max(
      ...boundaries.map(({ centre }) => Math.exp(-((roughKm(cell, centre) / WARM_SECTOR_KM) ** 2))),
    );
    const cape = 100 + 3400 * size_factor * warmth * near;
    cape_j_kg[i] = cape;
    // SPC's significant hail parameter with 12 g/kg of moisture and -12 C at 500 hPa.
    const product = (cape * 12 * (6.3 + 1.4 * near) * 12 * (shear_ms[0] + shear_ms[1])) / 2 / 42e6;
    ship[i] = product * Math.min(1, cape / 1300);
  }
  return { cape_j_kg, ship };
}

function roughKm(a: Position, b: Position): number {
  const east = (a.lon - b.lon) * Math.cos(((a.lat + b.lat) / 2) * RAD_PER_DEG);
  return KM_PER_DEG * Math.hypot(east, a.lat - b.lat);
}
