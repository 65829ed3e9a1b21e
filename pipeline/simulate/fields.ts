import { KM_PER_DEG, KM_PER_DEG_EQUATOR } from '../../schemas/geo/constants.ts';
import { distanceKm } from '../../schemas/geo/distance.ts';
import { colLon, rowLat, type Window } from '../../schemas/geo/lattice.ts';
import { type ColumnTables, columnTables, MAX_TENTHS, SKIRT_MAX_DBZ, SKIRT_MIN_DBZ } from './column.ts';
import { type Texture, textureAt, textureValue } from './random.ts';
import {
  boxAround,
  coreFall,
  coreReach,
  coverageOf,
  distanceFrom,
  SKEW,
  type StormCore,
  seenCoresOf,
} from './storm-core.ts';
import { type Storm, type StormState, stormAt, stormsBetween } from './storms.ts';
import type { Scenario } from './weather.ts';

export const SIMULATED_PRODUCTS = [
  'MESH',
  'POSH',
  'VIL',
  'EchoTop_18',
  'EchoTop_50',
  'MergedReflectivityQCComposite',
] as const;
export type SimulatedProduct = (typeof SIMULATED_PRODUCTS)[number];

/** Value of a covered pixel without an echo in a simulated scan. */
export const MISSING = -32768;

/** Radar products at one instant: the pixels with an echo, all products from the same columns. */
export interface SimulatedScan {
  readonly scan_time: number;
  readonly window: Window;
  /** Pixels as row x cols + col in the window, ascending; only pixels that a radar covers. */
  readonly index: Uint32Array;
  /** Value of each pixel in tenths (MESH, VIL, reflectivity, POSH) or metres (echo tops); MISSING where there is none. */
  readonly values: Readonly<Record<SimulatedProduct, Int16Array>>;
}

/** Smallest MESH in the product, tenths of a millimetre. */
const SMALLEST_TENTHS = 8;
/** Standard deviation of the texture of hail, natural logarithm, and of rain, dB. */
const TEXTURE_LN = 0.18;
/** Growth of the texture of hail per core length from the middle of a core: edges are ragged. */
const TEXTURE_GROWTH = 0.6;
const TEXTURE_DB = 2.5;
/** Largest texture, standard deviations, that the extent of a storm allows for. */
const TEXTURE_MOST = 3.2;

/** The fields of all products at one instant. */
export function simulateScan(scenario: Scenario, time_ms: number): SimulatedScan {
  const canvas: Canvas = { window: scenario.window, rows: new Map(), columns: [] };
  for (const storm of stormsBetween(scenario, time_ms, time_ms)) {
    const state = stormAt(storm, time_ms);
    if (state.peak_mm > 0) paintStorm(canvas, scenario, state, time_ms);
  }
  return readCanvas(canvas, coverageOf(scenario), time_ms);
}

/** A row of the window that has an echo. */
interface Row {
  readonly mesh_mm: Float32Array;
  readonly dbz: Float32Array;
  /** Column of the storm at each pixel: index into the canvas's columns. */
  readonly owner: Uint16Array;
}

interface Canvas {
  readonly window: Window;
  readonly rows: Map<number, Row>;
  readonly columns: ColumnTables[];
}

function rowAt({ rows, window: { cols } }: Canvas, r: number): Row {
  const known = rows.get(r);
  if (known) return known;
  const dbz = new Float32Array(cols).fill(SKIRT_MIN_DBZ - 1);
  const row = { mesh_mm: new Float32Array(cols), dbz, owner: new Uint16Array(cols) };
  rows.set(r, row);
  return row;
}

/** Hail and echo profile around the middle of a core. */
interface Brush {
  readonly core: StormCore;
  /** Distance at which MESH reaches its smallest value, in core lengths, and the echo there. */
  readonly edge: number;
  readonly edge_dbz: number;
  /** Decrease of the echo beyond the edge, dB per core length. */
  readonly fall_db: number;
  /** Distance of the farthest echo. */
  readonly reach_km: number;
}

function brushOf(core: StormCore, storm: Storm, tables: ColumnTables): Brush {
  const smallest_mm = SMALLEST_TENTHS / 10;
  const edge = coreReach(core.peak_mm, smallest_mm);
  const edge_dbz =
    tables.core.dbz_tenths[SMALLEST_TENTHS] / 10 - 1 + Math.min(0, 8 * Math.log(core.peak_mm / smallest_mm));
  const fall_db = (storm.kind === 'ordinary' ? 3.5 : 3) * core.core_km;
  const farthest = edge + Math.max(0, edge_dbz + TEXTURE_DB * TEXTURE_MOST - SKIRT_MIN_DBZ) / fall_db;
  return { core, edge, edge_dbz, fall_db, reach_km: core.along_km * ((1 + SKEW) * farthest) };
}

/** One storm on its way onto the canvas: its cores, and the texture around its centre. */
interface Painting {
  readonly state: StormState;
  readonly brushes: readonly Brush[];
  readonly texture: Texture;
}

function paintStorm(canvas: Canvas, scenario: Scenario, state: StormState, time_ms: number): void {
  const { storm } = state;
  const depth_km = 2 + 2 * Math.min(1, storm.peak_mm / 60);
  const tables = columnTables(storm.freezing_level_km, depth_km);
  const brushes = seenCoresOf(scenario, state, time_ms).map((core) => brushOf(core, storm, tables));
  const reach_km = Math.max(0, ...brushes.map(({ core, reach_km }) => distanceKm(core, state) + reach_km));
  const box = boxAround(state, reach_km, canvas.window);
  if (box === null) return;
  canvas.columns.push(tables);
  // The corners of the box are farther away than the reach.
  const painting = { state, brushes, texture: textureAt(storm.key, time_ms, 1.5 * reach_km) };
  for (let r = box.top; r <= box.bottom; r += 1) paintRow(canvas, painting, r, box.left, box.right);
}

/** Hot loop: paints hail and echo of one storm along one row, keeping the maximum at each pixel. */
function paintRow(canvas: Canvas, { state, brushes, texture }: Painting, r: number, left: number, right: number): void {
  const { window } = canvas;
  const owner = canvas.columns.length - 1;
  const lat = rowLat(window.row0 + r);
  const km_per_degree = KM_PER_DEG_EQUATOR * Math.cos((lat * Math.PI) / 180);
  // The echo of other cores does not reach the row.
  const near = brushes.filter(({ core, reach_km }) => Math.abs(lat - core.lat) * KM_PER_DEG <= reach_km);
  if (near.length === 0) return;
  const row = rowAt(canvas, r);
  for (let c = left; c <= right; c += 1) {
    const lon = colLon(window.col0 + c);
    let echo = Number.NEGATIVE_INFINITY;
    let smooth_mm = 0;
    let middle = 0;
    for (const { core, edge, edge_dbz, fall_db } of near) {
      const distance = distanceFrom(core, (lon - core.lon) * km_per_degree, (lat - core.lat) * KM_PER_DEG);
      echo = Math.max(echo, edge_dbz - Math.max(0, distance - edge) * fall_db);
      const mm = core.peak_mm * coreFall(distance);
      if (mm > smooth_mm) {
        smooth_mm = mm;
        middle = distance;
      }
    }
    if (echo < SKIRT_MIN_DBZ - TEXTURE_DB * TEXTURE_MOST) continue;
    const noise = textureValue(texture, (lon - state.lon) * km_per_degree, (lat - state.lat) * KM_PER_DEG);
    const dbz = Math.min(SKIRT_MAX_DBZ, echo + TEXTURE_DB * noise);
    const mesh_mm = smooth_mm * Math.exp(TEXTURE_LN * (1 + TEXTURE_GROWTH * middle) * noise);
    if (mesh_mm > row.mesh_mm[c]) {
      row.mesh_mm[c] = mesh_mm;
      row.owner[c] = owner;
    }
    if (dbz > row.dbz[c]) row.dbz[c] = dbz;
  }
}

/** Products of the painted rows, from north to south. */
function readCanvas({ window, rows, columns }: Canvas, covered: Uint8Array, scan_time: number): SimulatedScan {
  const index: number[] = [];
  const values = SIMULATED_PRODUCTS.map((): number[] => []);
  for (const [r, row] of [...rows].sort(([a], [b]) => a - b))
    for (let c = 0, pixel = r * window.cols; c < window.cols; c += 1, pixel += 1) {
      if (covered[pixel] === 0) continue;
      const column = readColumn(columns[row.owner[c]], row.mesh_mm[c], row.dbz[c]);
      if (column === null) continue;
      index.push(pixel);
      for (let k = 0; k < values.length; k += 1) values[k].push(column[k]);
    }
  const products = SIMULATED_PRODUCTS.map((product, k) => [product, Int16Array.from(values[k])] as const);
  return {
    scan_time,
    window,
    index: Uint32Array.from(index),
    values: Object.fromEntries(products) as Record<SimulatedProduct, Int16Array>,
  };
}

/** Values of one pixel in the order of SIMULATED_PRODUCTS; null without an echo. */
function readColumn({ core, skirt }: ColumnTables, mesh_mm: number, dbz: number): readonly number[] | null {
  const tenths = Math.min(MAX_TENTHS, Math.round(10 * mesh_mm));
  if (tenths >= SMALLEST_TENTHS) {
    const tops = [orMissing(core.echo_top_18_m[tenths]), orMissing(core.echo_top_50_m[tenths])];
    return [tenths, 10 * core.posh_pct[tenths], core.vil_tenths[tenths], ...tops, core.dbz_tenths[tenths]];
  }
  const level = Math.round(dbz) - SKIRT_MIN_DBZ;
  if (level < 0) return null;
  const top = orMissing(skirt.echo_top_18_m[level]);
  return [MISSING, MISSING, skirt.vil_tenths[level], top, MISSING, 5 * Math.round(2 * dbz)];
}

function orMissing(height_m: number): number {
  return height_m < 0 ? MISSING : height_m;
}
