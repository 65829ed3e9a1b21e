import { distanceKm } from '../../schemas/geo/distance.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import { SIZE_BANDS } from '../../schemas/size.ts';
import { timestamp } from '../../schemas/time.ts';
import { MM_PER_INCH } from '../../schemas/units.ts';
import { labelComponents } from '../detect/label.ts';
import { BadInput, UsageError } from '../error.ts';
import { type FieldHead, type Layer, MAX_INSPECTED_BYTES, type OpenedFile, openFile } from '../read/layers.ts';
import type { FileObject, ProbSevereFile } from '../read/probsevere.ts';
import { readNamedFile } from './read-named-file.ts';

export interface InspectOptions {
  /** Positions to sample. */
  readonly at: readonly Position[];
  /** Null: the default thresholds of the product. */
  readonly thresholds: readonly number[] | null;
  readonly bbox: Bbox | null;
  /** Field of the file, from 1; null takes the only one. */
  readonly field: number | null;
}

/** JSON of `inspect --json`. */
export type Report = { readonly file: string; readonly bytes: number } & (
  | { readonly format: 'GRIB2' | 'GeoTIFF'; readonly fields: readonly FieldHead[]; readonly detail: FieldReport | null }
  | { readonly format: 'ProbSevere'; readonly bbox: Bbox | null; readonly objects: ObjectSummary }
);
export type FieldReport = ReturnType<typeof reportField>;
export type Exceedance = FieldReport['thresholds'][number];
export type ObjectSummary = ReturnType<typeof summariseObjects>;

/** Opens a file and works out everything the options ask for. */
export async function inspectFile(path: string, options: InspectOptions): Promise<Report> {
  const bytes = await readNamedFile(path, MAX_INSPECTED_BYTES, 'inspect');
  const opened = await openFile(bytes, path);
  const file = { file: path, bytes: bytes.length };
  if (opened.format !== 'ProbSevere')
    return { ...file, format: opened.format, fields: opened.heads, detail: fieldDetail(opened, options) };
  if (options.field !== null) throw new UsageError('--field is for GRIB2 files, expected none with a ProbSevere file');
  return { ...file, format: 'ProbSevere', bbox: options.bbox, objects: summariseObjects(opened.file, options) };
}

/** The report on one field; null when the file has several and none was asked for, so that their list is the answer. */
function fieldDetail(opened: Exclude<OpenedFile, { format: 'ProbSevere' }>, options: InspectOptions) {
  const count = opened.heads.length;
  const field = options.field ?? (count === 1 ? 1 : null);
  if (field !== null && field > count) throw new UsageError(`--field is ${field}, expected 1 to ${count}`);
  if (field !== null) return reportField(opened.layer(field), options);
  if (options.at.length > 0 || options.thresholds !== null || options.bbox !== null)
    throw new UsageError(`--field is missing, expected 1 to ${count}: the file has ${count} fields`);
  return null;
}

function reportField(layer: Layer, { at, thresholds, bbox }: InspectOptions) {
  const mask = bboxMask(layer, bbox);
  const counted = countPoints(layer, thresholds ?? productThresholds(layer), mask);
  return {
    ...layer.head,
    /** First and last point in the order of the file. */
    first: gridPoint(layer, 0, 0),
    last: gridPoint(layer, layer.rows - 1, layer.columns - 1),
    bbox,
    summary: counted.summary,
    thresholds: counted.exceedances.map((one) => ({
      ...one,
      ...countComponents(layer, one.threshold, one.pixels, mask),
    })),
    samples: at.map((position) => sampleLayer(layer, position)),
  };
}

/** Default thresholds of a report: the steps of hail sizes for MESH, none for other products. */
function productThresholds({ head }: Layer): readonly number[] {
  return head.name.startsWith('MESH') ? [5, 10, 15, ...SIZE_BANDS.map((band) => band.threshold_mm)] : [];
}

/** 1 for every point whose position lies in the box, edges included; null (everything) without a box. */
function bboxMask({ head, position, rows, columns, cell_area_km2 }: Layer, bbox: Bbox | null): Uint8Array | null {
  if (bbox === null) return null;
  if (position === null)
    throw new BadInput(
      'read',
      head.name,
      `positions of grid template 3.${head.grid.template} are not supported, expected 3.0 or 3.30`,
    );
  const [west, south, east, north] = bbox;
  const hasLat = ({ lat }: Position) => lat >= south && lat <= north;
  const hasLon = ({ lon }: Position) => lon >= west && lon <= east;
  const mask = new Uint8Array(rows * columns);
  if (cell_area_km2 === null) {
    for (let i = 0; i < mask.length; i++) {
      const at = position(Math.floor(i / columns), i % columns);
      if (hasLat(at) && hasLon(at)) mask[i] = 1;
    }
    return mask;
  }
  // Latitude depends on the row alone and longitude on the column alone: one row serves as a stencil.
  const stencil = Uint8Array.from({ length: columns }, (_, col) => (hasLon(position(0, col)) ? 1 : 0));
  for (let row = 0; row < rows; row++) if (hasLat(position(row, 0))) mask.set(stencil, row * columns);
  return mask;
}

/** Counts, extremes and areas of a layer, of the points in the mask where there is one. Thresholds are inclusive. */
function countPoints(layer: Layer, thresholds: readonly number[], mask: Uint8Array | null) {
  const { columns, rows, value, no_coverage, nothing, cell_area_km2 } = layer;
  const counts = { points: 0, missing: 0, uncovered: 0, nothing: 0, values: 0, zeros: 0, negative: 0 };
  const pixels = thresholds.map(() => 0);
  const areas_km2 = thresholds.map(() => 0);
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
    const cell_km2 = cell_area_km2?.(row) ?? 0;
    for (const [k, count] of inRow.entries()) {
      pixels[k] += count;
      areas_km2[k] += cell_km2 * count;
    }
  }
  /** The first point that has an extreme value, and how many share it. */
  const extreme = ({ value: x, index, points }: typeof min) =>
    index < 0 ? null : { ...gridPoint(layer, Math.floor(index / columns), index % columns), value: x, points };
  const summary = {
    points: counts.points,
    missing: counts.missing,
    no_coverage: no_coverage === null ? null : { value: no_coverage, points: counts.uncovered },
    nothing: nothing === null ? null : { value: nothing, points: counts.nothing },
    /** Points with a measurement: sentinels do not count. */
    values: counts.values,
    zeros: counts.zeros,
    negative: counts.negative,
    mean: counts.values === 0 ? null : sum / counts.values,
    min: extreme(min),
    max: extreme(max),
  };
  const exceedances = thresholds.map((threshold, k) => ({
    threshold,
    pixels: pixels[k] as number,
    /** On the WGS84 ellipsoid; null on grids whose cells are no rectangles of latitude and longitude. */
    area_km2: cell_area_km2 === null ? null : (areas_km2[k] as number),
  }));
  return { summary, exceedances };
}

/** Row and column of the file from 0, and the position, rounded to a tenth of a metre, where the grid has one. */
function gridPoint({ position }: Layer, row: number, col: number) {
  const at = position?.(row, col) ?? null;
  const rounded = (degrees: number) => Math.round(degrees * 1e6) / 1e6;
  return { row, col, lat: at && rounded(at.lat), lon: at && rounded(at.lon) };
}

/** Value at the grid point nearest to a position; `meaning` explains a null and a sentinel. */
function sampleLayer(layer: Layer, asked: Position) {
  const at = layer.nearest(asked);
  if (at === null) return { asked, nearest: null, value: null, meaning: 'outside the grid' };
  const nearest = gridPoint(layer, at.row, at.col);
  const value = layer.value(at.row * layer.columns + at.col);
  if (Number.isNaN(value)) return { asked, nearest, value: null, meaning: 'missing' };
  if (value === layer.no_coverage) return { asked, nearest, value, meaning: 'no coverage' };
  if (value === layer.nothing) return { asked, nearest, value, meaning: 'covered, nothing there' };
  return { asked, nearest, value, meaning: 'value' };
}

/**
 * Connected components of the `pixels` points at or above a threshold, with 8 and with 4 neighbours. Null on grids of more
 * than 65,536 columns, which do not fit into a sparse field.
 */
function countComponents(layer: Layer, threshold: number, pixels: number, mask: Uint8Array | null) {
  const { columns, rows, value, no_coverage, nothing } = layer;
  if (columns > 0x10000) return { components_8: null, components_4: null };
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
  const field = {
    // The count knows no places: any lattice will do.
    window: { row0: 0, col0: 0, rows, cols: columns },
    rowStart,
    col,
    tenths: new Uint16Array(pixels).fill(1),
    covered_px: rows * columns,
    uncovered_px: 0,
  };
  return { components_8: labelComponents(field, 1, 8).count, components_4: labelComponents(field, 1, 4).count };
}

/** A ProbSevere file in figures: objects in the box (by centroid), and the object nearest to each position. */
function summariseObjects(file: ProbSevereFile, { thresholds, bbox, at }: InspectOptions) {
  const thresholds_mm = thresholds ?? SIZE_BANDS.map((band) => band.threshold_mm);
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
    nearest: objects.length === 0 ? [] : at.map((position) => nearestObject(objects, position)),
  };
}

function nearestObject(objects: readonly FileObject[], asked: Position) {
  return objects
    .map((object) => ({ asked, distance_km: distanceKm(asked, object), object }))
    .reduce((best, next) => (next.distance_km < best.distance_km ? next : best));
}
