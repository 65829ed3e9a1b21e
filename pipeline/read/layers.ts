import { basename } from 'node:path';
import { cellAreaKm2 } from '../../schemas/geo/area.ts';
import { distanceKm } from '../../schemas/geo/distance.ts';
import { colLon, LATTICE, rowLat } from '../../schemas/geo/lattice.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import { timestamp } from '../../schemas/time.ts';
import { MM_PER_INCH } from '../../schemas/units.ts';
import { BadInput } from '../error.ts';
import type { Grid, HailField } from '../grid.ts';
import { type GridNumbers, gridNumbers, gridWords, type PackingNumbers, packingNumbers } from './describe.ts';
import { readGeotiff } from './geotiff.ts';
import {
  type Decoded,
  decodeField,
  type Field,
  nearestPoint,
  type PackingLaw,
  parameterOf,
  parseGrib2,
  positionOf,
  surfaceWords,
} from './grib2/index.ts';
import { gunzip } from './gunzip.ts';
import { listedProduct, SIMULATED_STATUS } from './mrms.ts';
import { type FileObject, type ProbSevereFile, readProbSevere } from './probsevere.ts';

/** One field of a file in a line: what `--field` picks from. */
export interface FieldHead {
  /** 1 for the first field of the file. */
  readonly field: number;
  /** Product of MRMS, abbreviation of a model parameter, or discipline/category/number. */
  readonly name: string;
  readonly unit: string | null;
  readonly parameter: string;
  readonly level: string;
  /** Reference time: of an observation its own, of a forecast the start of the run. */
  readonly time: string;
  /** Time the values are for, null where the product does not say it. */
  readonly valid_time: string | null;
  readonly simulated: boolean;
  readonly grid: GridNumbers;
  readonly packing: PackingNumbers;
}

/** A point of a grid: row and column of the file from 0, and its position where the grid has one. */
export interface GridPoint {
  readonly row: number;
  readonly col: number;
  readonly lat: number | null;
  readonly lon: number | null;
}

/** Value at a point; `meaning` explains a null and a sentinel. */
export interface Sample {
  readonly asked: Position;
  readonly nearest: GridPoint | null;
  readonly value: number | null;
  readonly meaning: 'value' | 'no coverage' | 'covered, nothing there' | 'missing' | 'outside the grid';
}

export interface Extreme extends GridPoint {
  readonly value: number;
  /** Points that share it; the first one is given. */
  readonly points: number;
}

export interface Exceedance {
  readonly threshold: number;
  readonly pixels: number;
  /** On the WGS84 ellipsoid; null on grids whose cells are no rectangles of latitude and longitude. */
  readonly area_km2: number | null;
}

/** What the values of a field amount to. Sentinels never count as values. */
export interface Summary {
  readonly points: number;
  readonly missing: number;
  readonly no_coverage: { readonly value: number; readonly points: number } | null;
  readonly nothing: { readonly value: number; readonly points: number } | null;
  readonly values: number;
  readonly zeros: number;
  readonly negative: number;
  readonly mean: number | null;
  readonly min: Extreme | null;
  readonly max: Extreme | null;
  readonly thresholds: readonly Exceedance[];
}

/** A field with its values at hand, whatever file it came from. */
export interface Layer {
  readonly head: FieldHead;
  readonly columns: number;
  readonly rows: number;
  /** Value at row x columns + column; NaN when missing. */
  readonly value: (index: number) => number;
  readonly no_coverage: number | null;
  readonly nothing: number | null;
  /** Null when positions of the grid are not known. */
  readonly position: ((row: number, col: number) => Position) | null;
  readonly nearest: (at: Position) => { readonly row: number; readonly col: number } | null;
  /** Area of any cell of a row; null where cells of a row differ. */
  readonly cell_area_km2: ((row: number) => number) | null;
}

/** Objects of a ProbSevere file in figures. */
export interface ProbSevereSummary {
  readonly time: string;
  readonly model: string;
  readonly simulated: boolean;
  readonly objects: number;
  readonly distrusted: number;
  readonly max_mesh_mm: number | null;
  readonly max_mesh_id: string | null;
  readonly mesh_at_least_one_inch: number;
  readonly max_prob_hail: number | null;
  readonly prob_hail_at_least_half: number;
  readonly thresholds: readonly { readonly threshold: number; readonly objects: number }[];
  readonly nearest: readonly { readonly asked: Position; readonly distance_km: number; readonly object: FileObject }[];
}

/** A file opened for a first look. */
export type Opened =
  | { readonly format: 'GRIB2'; readonly heads: readonly FieldHead[]; readonly layer: (field: number) => Layer }
  | { readonly format: 'GeoTIFF'; readonly heads: readonly FieldHead[]; readonly layer: (field: number) => Layer }
  | { readonly format: 'ProbSevere'; readonly file: ProbSevereFile };

/** Files of models are larger than those of MRMS, and are looked at one at a time. */
export const MAX_INSPECTED_BYTES = 256 * 1024 * 1024;

/**
 * Opens a GRIB2 (gzipped or not), GeoTIFF or ProbSevere file by what its bytes say it is. Values are decoded when a
 * layer is asked for, fields counting from 1. Throws BadInput when the bytes are none of these or damaged.
 */
export async function openFile(bytes: Uint8Array, name: string): Promise<Opened> {
  const content = gunzip(bytes, name, MAX_INSPECTED_BYTES);
  const start = String.fromCharCode(...content.subarray(0, 4));
  if (start.startsWith('II') || start.startsWith('MM')) {
    const layer = gridLayer(await readGeotiff(content, name, originOf(name)));
    return { format: 'GeoTIFF', heads: [layer.head], layer: () => layer };
  }
  if (start.trimStart().startsWith('{')) return { format: 'ProbSevere', file: readProbSevere(content, name) };
  const fields = parseGrib2(content, name);
  return {
    format: 'GRIB2',
    heads: fields.map(headOf),
    layer: (field) => fieldLayer(fields[field - 1] as Field, field - 1),
  };
}

/** Product and time from a file name such as `MESH_Max_1440min_20240228-100000.tif`: a GeoTIFF says neither. */
function originOf(name: string): { product: string; scan_time: number } {
  const parts = /^(?:MRMS_)?(.+?)(?:_\d\d\.\d\d)?_(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)\.\w+$/.exec(basename(name));
  const [, product, year, month, day, hour, minute, second] = parts ?? [];
  const scan_time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  if (product === undefined || Number.isNaN(scan_time))
    throw new BadInput('read', name, 'name gives no product and time, expected PRODUCT_YYYYMMDD-HHMMSS.tif');
  return { product, scan_time };
}

function headOf(field: Field, index: number): FieldHead {
  const { discipline, category, number } = field;
  const numbers = `${discipline}/${category}/${number}`;
  const known = listedProduct(field) ?? parameterOf(discipline, category, number);
  return {
    field: index + 1,
    name: known?.name ?? numbers,
    unit: known?.unit ?? null,
    parameter: numbers,
    level: surfaceWords(field.surface),
    time: timestamp(field.reference_time),
    valid_time: field.valid_time === null ? null : timestamp(field.valid_time),
    simulated: field.production_status === SIMULATED_STATUS,
    grid: gridNumbers(field.grid),
    packing: packingNumbers(field.packing),
  };
}

/** The value law with its powers worked out once: it runs for every point of a grid. */
function valueReader(law: PackingLaw, packed: Decoded['packed'], missing: Uint8Array | null): Layer['value'] {
  const { reference } = law;
  const factor = 2 ** law.binary_scale;
  const [times, divisor] = law.decimal_scale >= 0 ? [1, 10 ** law.decimal_scale] : [10 ** -law.decimal_scale, 1];
  return (index) => (missing?.[index] === 1 ? Number.NaN : ((reference + packed[index] * factor) * times) / divisor);
}

function fieldLayer(field: Field, index: number): Layer {
  const decoded = decodeField(field);
  const product = listedProduct(field);
  const { grid } = field;
  const { projection } = grid;
  const latLon = projection?.template === 0 ? projection : null;
  return {
    head: headOf(field, index),
    columns: decoded.columns,
    rows: decoded.rows,
    value: valueReader(decoded, decoded.packed, decoded.missing),
    no_coverage: product?.no_coverage ?? null,
    nothing: product?.nothing ?? null,
    position: projection && ((row, col) => positionOf(grid, row, col)),
    nearest: (at) => {
      const point = nearestPoint(grid, at);
      return point && { row: point.j, col: point.i };
    },
    cell_area_km2: latLon && ((row) => rowCellArea(positionOf(grid, row, 0).lat, latLon.di, latLon.dj)),
  };
}

function rowCellArea(lat: number, width: number, height: number): number {
  return cellAreaKm2(Math.max(-90, lat - height / 2), Math.min(90, lat + height / 2), width);
}

function gridLayer(grid: Grid): Layer {
  const { window } = grid;
  const row = (r: number) => rowLat(window.row0 + r);
  return {
    head: {
      field: 1,
      name: grid.product,
      unit: grid.unit,
      parameter: '-',
      level: '-',
      time: timestamp(grid.scan_time),
      valid_time: timestamp(grid.scan_time),
      simulated: grid.simulated,
      grid: {
        template: null,
        columns: window.cols,
        rows: window.rows,
        projection: 'latitude-longitude',
        step_lon_deg: LATTICE.step,
        step_lat_deg: LATTICE.step,
      },
      packing: {
        template: null,
        name: 'GeoTIFF, rounded to tenths',
        bits: null,
        reference: null,
        binary_scale: null,
        decimal_scale: null,
      },
    },
    columns: window.cols,
    rows: window.rows,
    value: valueReader(grid, grid.packed, null),
    no_coverage: grid.no_coverage,
    nothing: grid.nothing,
    position: (r, c) => ({ lat: row(r), lon: colLon(window.col0 + c) }),
    nearest: ({ lat, lon }) => {
      const point = { row: Math.round((row(0) - lat) / 0.01), col: Math.round((lon - colLon(window.col0)) / 0.01) };
      return point.row >= 0 && point.row < window.rows && point.col >= 0 && point.col < window.cols ? point : null;
    },
    cell_area_km2: (r) => rowCellArea(row(r), 0.01, 0.01),
  };
}

/** 1 for every point whose position lies in the box, edges included; null (everything) without a box. */
export function maskOf(layer: Layer, bbox: Bbox | null): Uint8Array | null {
  if (bbox === null) return null;
  const { position, rows, columns } = layer;
  if (position === null)
    throw new BadInput('read', layer.head.name, `no positions on grid ${gridWords(layer.head.grid)}`);
  const [west, south, east, north] = bbox;
  const isInside = ({ lat, lon }: Position) => lat >= south && lat <= north && lon >= west && lon <= east;
  const mask = new Uint8Array(rows * columns);
  if (layer.cell_area_km2 === null) {
    for (let i = 0; i < mask.length; i++) if (isInside(position(Math.floor(i / columns), i % columns))) mask[i] = 1;
    return mask;
  }
  // Latitude depends on the row alone and longitude on the column alone: one row serves as a stencil.
  const stencil = new Uint8Array(columns);
  for (let col = 0; col < columns; col++) {
    const { lon } = position(0, col);
    if (lon >= west && lon <= east) stencil[col] = 1;
  }
  for (let row = 0; row < rows; row++) {
    const { lat } = position(row, 0);
    if (lat >= south && lat <= north) mask.set(stencil, row * columns);
  }
  return mask;
}

/** Counts, extremes and areas of a layer, of the points in the mask where there is one. Thresholds are inclusive. */
export function summarise(layer: Layer, thresholds: readonly number[], mask: Uint8Array | null): Summary {
  const { columns, rows, value, no_coverage, nothing } = layer;
  const counts = { points: 0, missing: 0, uncovered: 0, nothing: 0, values: 0, zeros: 0, negative: 0 };
  const above = thresholds.map(() => ({ pixels: 0, area_km2: 0 }));
  const inRow = new Uint32Array(thresholds.length);
  let sum = 0;
  let min = { value: Number.POSITIVE_INFINITY, index: -1, points: 0 };
  let max = { value: Number.NEGATIVE_INFINITY, index: -1, points: 0 };
  for (let row = 0; row < rows; row++) {
    inRow.fill(0);
    for (let index = row * columns; index < (row + 1) * columns; index++) {
      if (mask !== null && mask[index] === 0) continue;
      counts.points++;
      const x = value(index);
      if (Number.isNaN(x)) counts.missing++;
      else if (x === no_coverage) counts.uncovered++;
      else if (x === nothing) counts.nothing++;
      else {
        counts.values++;
        sum += x;
        if (x === 0) counts.zeros++;
        else if (x < 0) counts.negative++;
        if (x < min.value) min = { value: x, index, points: 0 };
        if (x > max.value) max = { value: x, index, points: 0 };
        if (x === min.value) min.points++;
        if (x === max.value) max.points++;
        for (let k = 0; k < thresholds.length; k++) if (x >= thresholds[k]) inRow[k] = inRow[k] + 1;
      }
    }
    const cell_km2 = layer.cell_area_km2?.(row) ?? 0;
    above.forEach((total, k) => {
      total.pixels += inRow[k];
      total.area_km2 += cell_km2 * inRow[k];
    });
  }
  const extreme = ({ value: x, index, points }: typeof min): Extreme | null =>
    index < 0 ? null : { ...pointOf(layer, Math.floor(index / columns), index % columns), value: x, points };
  return {
    points: counts.points,
    missing: counts.missing,
    no_coverage: no_coverage === null ? null : { value: no_coverage, points: counts.uncovered },
    nothing: nothing === null ? null : { value: nothing, points: counts.nothing },
    values: counts.values,
    zeros: counts.zeros,
    negative: counts.negative,
    mean: counts.values === 0 ? null : sum / counts.values,
    min: extreme(min),
    max: extreme(max),
    thresholds: thresholds.map((threshold, k) => ({
      threshold,
      pixels: above[k]?.pixels ?? 0,
      area_km2: layer.cell_area_km2 === null ? null : (above[k]?.area_km2 ?? 0),
    })),
  };
}

/** A point of a layer with its position, rounded to a tenth of a metre. */
export function pointOf({ position }: Layer, row: number, col: number): GridPoint {
  const at = position?.(row, col) ?? null;
  const rounded = (degrees: number) => Math.round(degrees * 1e6) / 1e6;
  return { row, col, lat: at && rounded(at.lat), lon: at && rounded(at.lon) };
}

/** Value at the grid point nearest to a position. */
export function sampleLayer(layer: Layer, asked: Position): Sample {
  const at = layer.nearest(asked);
  if (at === null) return { asked, nearest: null, value: null, meaning: 'outside the grid' };
  const nearest = pointOf(layer, at.row, at.col);
  const value = layer.value(at.row * layer.columns + at.col);
  if (Number.isNaN(value)) return { asked, nearest, value: null, meaning: 'missing' };
  if (value === layer.no_coverage) return { asked, nearest, value, meaning: 'no coverage' };
  if (value === layer.nothing) return { asked, nearest, value, meaning: 'covered, nothing there' };
  return { asked, nearest, value, meaning: 'value' };
}

/**
 * The `pixels` points at or above a threshold as a field of ones, for counting connected components of any grid.
 * Rows and columns are those of the file. Null where they do not fit into a field (more than 65,536 columns).
 */
export function exceedanceField(
  layer: Layer,
  { threshold, pixels }: Exceedance,
  mask: Uint8Array | null,
): HailField | null {
  const { columns, rows, value, no_coverage, nothing } = layer;
  if (columns > 0x10000) return null;
  const rowStart = new Uint32Array(rows + 1);
  const col = new Uint16Array(pixels);
  let next = 0;
  for (let row = 0; row < rows; row++) {
    for (let c = 0; c < columns; c++) {
      const index = row * columns + c;
      if (mask !== null && mask[index] === 0) continue;
      const x = value(index);
      if (x >= threshold && x !== no_coverage && x !== nothing) col[next++] = c;
    }
    rowStart[row + 1] = next;
  }
  return {
    window: { row0: 0, col0: 0, rows, cols: columns },
    rowStart,
    col,
    tenths: new Uint16Array(pixels).fill(1),
    covered_px: rows * columns,
    uncovered_px: 0,
  };
}

/** A ProbSevere file in figures: objects in the box (by centroid), and the object nearest to each position asked for. */
export function summariseObjects(
  file: ProbSevereFile,
  thresholds_mm: readonly number[],
  bbox: Bbox | null,
  asked: readonly Position[],
): ProbSevereSummary {
  const objects = file.objects.filter(
    ({ lat, lon }) => bbox === null || (lon >= bbox[0] && lat >= bbox[1] && lon <= bbox[2] && lat <= bbox[3]),
  );
  const largest = objects.reduce<FileObject | null>(
    (best, object) => ((object.mesh_mm ?? -1) > (best?.mesh_mm ?? -1) ? object : best),
    null,
  );
  const atLeast = (mm: number) => objects.filter((object) => object.mesh_mm !== null && object.mesh_mm >= mm).length;
  return {
    time: timestamp(file.valid_time),
    model: file.model,
    simulated: file.simulated,
    objects: objects.length,
    distrusted: objects.filter((object) => object.flag_distrusted).length,
    max_mesh_mm: largest?.mesh_mm ?? null,
    max_mesh_id: largest?.probsevere_id ?? null,
    mesh_at_least_one_inch: atLeast(MM_PER_INCH),
    max_prob_hail: objects.length === 0 ? null : Math.max(...objects.map((object) => object.prob_hail)),
    prob_hail_at_least_half: objects.filter((object) => object.prob_hail >= 0.5).length,
    thresholds: thresholds_mm.map((threshold) => ({ threshold, objects: atLeast(threshold) })),
    nearest: objects.length === 0 ? [] : asked.map((position) => nearestObject(objects, position)),
  };
}

function nearestObject(objects: readonly FileObject[], asked: Position): ProbSevereSummary['nearest'][number] {
  return objects
    .map((object) => ({ asked, distance_km: distanceKm(asked, object), object }))
    .reduce((best, next) => (next.distance_km < best.distance_km ? next : best));
}
