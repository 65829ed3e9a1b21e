import { KM_PER_DEG, RAD_PER_DEG } from '../../schemas/geo/constants.ts';
import { windowBbox } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { MS_PER_HOUR } from '../../schemas/time.ts';
import { columnTables, MAX_TENTHS } from './column.ts';
import { HRRR_MAP, type LambertSpec, type ModelFieldSpec, writeModelField } from './model-grib2.ts';
import { drawsOf, hashOf, normal, uniformOf } from './random.ts';
import type { Scenario } from './scenario.ts';
import { type Storm, stormAt, stormsBetween } from './storms.ts';
import {
  boundariesAt,
  DAY_TYPE_PARAMETERS,
  dailyCycle,
  dayTypeAt,
  freezingLevelKm,
  offsetPosition,
} from './weather.ts';

/** Samples of the storms per hour. */
const LOOKS_PER_HOUR = 10;
/** Margin of the grid around the radar's window, for the smoothing of the forecast. */
const MARGIN_M = 120_000;
const USUAL_STEP_M = 12_000;
/** Step for wide windows, which keeps an hour below a megabyte. */
const WIDE_STEP_M = 24_000;
const WIDE_M = 2_000_000;

/** Delay from the start of a run to its files, and number of runs: two are enough to blend. */
const RUN_DELAY_H = 1;
const RUNS = 2;
/** Length of a simulated run, hours. */
const LEADS_H = 24;

/** Hours of the runs available at an instant: the hours to come and the previous one, because storms count in adjacent hours too. */
export function simulatedHours(now_ms: number): { readonly run_time: number; readonly lead_h: number }[] {
  const newest = Math.floor(now_ms / MS_PER_HOUR - RUN_DELAY_H);
  return Array.from({ length: RUNS }, (_, k) => (newest - k) * MS_PER_HOUR).flatMap((run_time) =>
    Array.from({ length: LEADS_H }, (_, k) => ({ run_time, lead_h: k + 1 })).filter(
      ({ lead_h }) => run_time + lead_h * MS_PER_HOUR > now_ms - MS_PER_HOUR,
    ),
  );
}

/** A grid and the position of each of its points. */
interface ModelGridSpec extends LambertSpec {
  readonly points: readonly Position[];
}

/** One hour of a simulated run in the layout of the public HRRR bucket, with its index. */
interface SimulatedModelFile {
  /** Path below the output folder; the index has the same path with `.idx` appended. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly index: string;
}

/** Cone constant and scale of a Lambert conformal map with one standard parallel. Source: Snyder 1987, eqs. 15-1 to 15-4. */
const N = Math.sin(HRRR_MAP.parallel_deg * RAD_PER_DEG);
const SCALE_M =
  (HRRR_MAP.earth_m * Math.cos(HRRR_MAP.parallel_deg * RAD_PER_DEG) * tangent(HRRR_MAP.parallel_deg) ** N) / N;

function tangent(lat: number): number {
  return Math.tan(Math.PI / 4 + (lat * RAD_PER_DEG) / 2);
}

function onMap({ lat, lon }: Position): Point {
  const rho = SCALE_M / tangent(lat) ** N;
  const theta = N * (lon + 360 - HRRR_MAP.meridian_deg) * RAD_PER_DEG;
  return { x: rho * Math.sin(theta), y: -rho * Math.cos(theta) };
}

function fromMap(x: number, y: number): Position {
  const lat = 2 * Math.atan((SCALE_M / Math.hypot(x, y)) ** (1 / N)) - Math.PI / 2;
  return { lat: lat / RAD_PER_DEG, lon: HRRR_MAP.meridian_deg - 360 + Math.atan2(x, -y) / N / RAD_PER_DEG };
}

/** A grid on HRRR's projection that covers a scenario's window with a margin. */
export function modelGridOf({ window }: Scenario): ModelGridSpec {
  const [west, south, east, north] = windowBbox(window);
  const edge = Array.from({ length: 21 }, (_, k) => k / 20).flatMap((part) => {
    const lon = west + part * (east - west);
    const lat = south + part * (north - south);
    return [
      [south, lon],
      [north, lon],
      [lat, west],
      [lat, east],
    ].map(([lat, lon]) => onMap({ lat, lon }));
  });
  const [xs, ys] = [edge.map(({ x }) => x), edge.map(({ y }) => y)];
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const step_m = right - left > WIDE_M ? WIDE_STEP_M : USUAL_STEP_M;
  const first = fromMap(left - MARGIN_M, low - MARGIN_M);
  const first_lat_udeg = Math.round(first.lat * 1e6);
  const first_lon_udeg = Math.round((first.lon + 360) * 1e6);
  const origin = onMap({ lat: first_lat_udeg / 1e6, lon: first_lon_udeg / 1e6 - 360 });
  const cols = Math.ceil((right - left + 2 * MARGIN_M) / step_m) + 1;
  const rows = Math.ceil((high - low + 2 * MARGIN_M) / step_m) + 1;
  const points = Array.from({ length: rows * cols }, (_, k) =>
    fromMap(origin.x + (k % cols) * step_m, origin.y + Math.floor(k / cols) * step_m),
  );
  return { cols, rows, first_lat_udeg, first_lon_udeg, step_m, points };
}

/**
 * Forecast of the run that started at `run_time` for the hour that ends `lead_h` later.
 *
 * Its storms are those of the scenario with forecast errors: each run shifts a storm by a distance that grows with the lead, changes
 * its strength and misses some storms, so that runs differ from each other as real ones do.
 */
export function simulatedModelFile(
  scenario: Scenario,
  grid: ModelGridSpec,
  run_time: number,
  lead_h: number,
): SimulatedModelFile {
  const valid_time = run_time + lead_h * MS_PER_HOUR;
  const fields = [...stormFields(scenario, grid, run_time, lead_h), ...airFields(scenario, grid, valid_time)];
  const messages = fields.map((field) => writeModelField(grid, run_time, lead_h, field));
  const compact = new Date(run_time).toISOString().replaceAll(/[-:T]/g, '');
  const [date, hour] = [compact.slice(0, 8), compact.slice(8, 10)];
  let offset = 0;
  const lines = messages.map((message, k) => {
    const { name, level_words, is_maximum } = fields[k];
    const forecast = is_maximum ? `${lead_h - 1}-${lead_h} hour max fcst` : `${lead_h} hour fcst`;
    const line = `${k + 1}:${offset}:d=${date}${hour}:${name}:${level_words}:${forecast}:`;
    offset += message.length;
    return line;
  });
  return {
    path: `hrrr.${date}/conus/hrrr.t${hour}z.wrfsfcf${String(lead_h).padStart(2, '0')}.grib2`,
    bytes: Buffer.concat(messages),
    index: `${lines.join('\n')}\n`,
  };
}

/** A level or layer: its words in an index file, its type in code table 4.5, and its one or two bounds. */
function level(level_words: string, type: number, value: number, second?: number) {
  return {
    level_words,
    level: { type, value },
    ...(second === undefined ? {} : { second_level: { type, value: second } }),
  };
}

const at = (hpa: number) => level(`${hpa} mb`, 100, 100 * hpa);
const SURFACE = level('surface', 1, 0);
const DEEP_LAYER = level('0-6000 m above ground', 103, 0, 6000);
/** Fields by their names in an index file, with discipline, category and number of the parameter. */
const REFC = { name: 'REFC', parameter: [0, 16, 196], ...level('entire atmosphere', 10, 0) } as const;
const MXUPHL = {
  name: 'MXUPHL',
  parameter: [0, 7, 199],
  ...level('5000-2000 m above ground', 103, 5000, 2000),
} as const;
const HAIL = { name: 'HAIL', parameter: [0, 1, 31], ...SURFACE } as const;
const CAPE = { name: 'CAPE', parameter: [0, 7, 6], ...level('255-0 mb above ground', 108, 25_500, 0) } as const;
const TMP = { name: 'TMP', parameter: [0, 0, 0] } as const;
const HGT = { name: 'HGT', parameter: [0, 3, 5] } as const;
const VUCSH = { name: 'VUCSH', parameter: [0, 2, 15], ...DEEP_LAYER } as const;
const VVCSH = { name: 'VVCSH', parameter: [0, 2, 16], ...DEEP_LAYER } as const;
const SPFH = { name: 'SPFH', parameter: [0, 1, 0], ...level('2 m above ground', 103, 2) } as const;

/** Reflectivity without a storm. */
const CLEAR_DBZ = -20;

function stormFields(scenario: Scenario, grid: ModelGridSpec, run_time: number, lead_h: number): ModelFieldSpec[] {
  const size = grid.cols * grid.rows;
  const reflectivity_dbz = new Float32Array(size).fill(CLEAR_DBZ);
  const rotation = new Float32Array(size);
  const hail_mm = new Float32Array(size);
  const end_ms = run_time + lead_h * MS_PER_HOUR;
  const shape = { ...grid, origin: onMap(grid.points[0]) };
  for (const storm of stormsBetween(scenario, end_ms - MS_PER_HOUR, end_ms)) {
    const error = forecastError(scenario, storm, run_time, lead_h);
    if (error === null) continue;
    for (let look = 1; look <= LOOKS_PER_HOUR; look += 1) {
      const time_ms = end_ms - MS_PER_HOUR + (look * MS_PER_HOUR) / LOOKS_PER_HOUR;
      const state = stormAt(storm, time_ms);
      const peak_mm = state.peak_mm * error.factor;
      if (!(peak_mm > 1)) continue;
      const place = onMap(offsetPosition(state, error.east_km, error.north_km));
      raise(hail_mm, shape, place, storm.core_km, peak_mm, 0);
      raise(rotation, shape, place, 2 * storm.core_km, ROTATION_PER_MM[storm.kind] * peak_mm, 0);
      if (look === LOOKS_PER_HOUR)
        raise(reflectivity_dbz, shape, place, 3 * storm.core_km, echoDbz(storm, peak_mm) - CLEAR_DBZ, CLEAR_DBZ);
    }
  }
  return [
    { ...REFC, decimals: 1, values: reflectivity_dbz },
    { ...MXUPHL, is_maximum: true, decimals: 1, values: rotation },
    { ...HAIL, is_maximum: true, decimals: 4, values: hail_mm.map((mm) => mm / 1000) },
  ];
}

/** Echo of a core of this MESH, as the radar of the simulation shows it. */
function echoDbz(storm: Storm, peak_mm: number): number {
  const { core } = columnTables(storm.freezing_level_km, CORE_DEPTH_KM);
  return core.dbz_tenths[Math.min(MAX_TENTHS, Math.round(10 * peak_mm))] / 10;
}

/** Depth of a core above the 0 C level: the middle of those the radar paints. */
const CORE_DEPTH_KM = 3;

/** Updraft helicity per millimetre of hail, m2/s2. */
const ROTATION_PER_MM = { ordinary: 0.3, multicell: 1, supercell: 3 } as const;

/** Forecast error of a run for a storm at a lead; null when the run misses the storm. */
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

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Raises a field around a place to `floor` + `peak` x exp(-r / reach), with r measured from the nearest grid point. */
function raise(
  field: Float32Array,
  { cols, rows, step_m, origin }: LambertSpec & { readonly origin: Point },
  place: Point,
  reach_km: number,
  peak: number,
  floor: number,
): void {
  const [col, row] = [(place.x - origin.x) / step_m, (place.y - origin.y) / step_m];
  const [middle_col, middle_row] = [Math.round(col), Math.round(row)];
  for (let j = Math.max(0, middle_row - 2); j <= Math.min(rows - 1, middle_row + 2); j += 1)
    for (let i = Math.max(0, middle_col - 2); i <= Math.min(cols - 1, middle_col + 2); i += 1) {
      const distance_km = (Math.hypot(i - middle_col, j - middle_row) * step_m) / 1000;
      const value = floor + peak * Math.exp(-distance_km / reach_km);
      if (value > field[j * cols + i]) field[j * cols + i] = value;
    }
}

/** Distance over which instability decays away from a boundary. */
const WARM_SECTOR_KM = 260;

/** Environment of the scenario's storms: unstable near the boundaries, with the shear of the day type. */
function airFields(scenario: Scenario, grid: ModelGridSpec, valid_time: number): ModelFieldSpec[] {
  const character = DAY_TYPE_PARAMETERS[dayTypeAt(scenario, valid_time)];
  const boundaries = boundariesAt(scenario, valid_time);
  const warmth = scenario.steady ? 1 : Math.min(1, 0.35 + 0.4 * dailyCycle(valid_time));
  const strength = character.size_factor * warmth;
  const shear_ms = (character.shear_ms[0] + character.shear_ms[1]) / 2;
  const [line] = boundaries;
  const towards =
    line === undefined ? 0 : Math.atan2(line.right.north - line.left.north, line.right.east - line.left.east);
  const near = grid.points.map((point) =>
    boundaries.reduce(
      (most, { centre }) => Math.max(most, Math.exp(-((roughKm(point, centre) / WARM_SECTOR_KM) ** 2))),
      0,
    ),
  );
  const terrain_m = grid.points.map(({ lon }) => 250 + 1100 / (1 + Math.exp((lon + 101) / 1.5)));
  // The table of freezing levels steps by 0.2 km; a mean over two degrees of latitude hides the steps.
  const freezing_m = grid.points.map(({ lat }, k) => {
    const heights = [-1, -0.5, 0, 0.5, 1].map((shift) => freezingLevelKm(scenario, valid_time, lat + shift));
    return terrain_m[k] + 200 * heights.reduce((sum, height_km) => sum + height_km, 0);
  });
  const t700_k = freezing_m.map((freezing) => 273.15 + (6.5 * (freezing - HEIGHT_700_M)) / 1000);
  const lapse = near.map((part) => 6.3 + 1.4 * part);
  const t500_k = t700_k.map((kelvin, k) => kelvin - (lapse[k] * (HEIGHT_500_M - HEIGHT_700_M)) / 1000);
  return [
    { ...CAPE, decimals: 0, values: near.map((part) => 100 + 3400 * strength * part) },
    { ...TMP, ...at(700), decimals: 2, values: t700_k },
    { ...TMP, ...at(500), decimals: 2, values: t500_k },
    { ...HGT, ...at(700), decimals: 1, values: near.map(() => HEIGHT_700_M) },
    { ...HGT, ...at(500), decimals: 1, values: near.map(() => HEIGHT_500_M) },
    { ...HGT, ...level('0C isotherm', 4, 0), decimals: 0, values: freezing_m },
    { ...HGT, ...SURFACE, decimals: 0, values: terrain_m },
    { ...VUCSH, decimals: 2, values: near.map(() => -shear_ms * Math.sin(towards)) },
    { ...VVCSH, decimals: 2, values: near.map(() => shear_ms * Math.cos(towards)) },
    { ...SPFH, decimals: 5, values: near.map((part) => 0.008 + 0.006 * part) },
  ];
}

const HEIGHT_700_M = 3120;
const HEIGHT_500_M = 5780;

function roughKm(a: Position, b: Position): number {
  const east = (a.lon - b.lon) * Math.cos(((a.lat + b.lat) / 2) * RAD_PER_DEG);
  return KM_PER_DEG * Math.hypot(east, a.lat - b.lat);
}
