import { geohash } from '../../schemas/geo/geohash.ts';
import { CELL_PEAK_MIN_MM, EXTREME_MM, SIZE_CAP_MM } from '../../schemas/size.ts';
import type { Cell, ProbSevereObject } from '../../schemas/tables/radar.ts';
import { scanId } from '../../schemas/time.ts';
import { BadInput } from '../error.ts';
import {
  type Companion,
  type CompanionValues,
  companionAt,
  everyCompanion,
  type HailField,
  type ScanInput,
} from '../grid.ts';
import { type Labels, labelComponents, labelHail } from './label.ts';
import { latticeRows, measureShape } from './shape.ts';
import { splitComponent } from './split.ts';

/** A component is a storm cell from this area on, km2: smaller ones are a few bins of one radar. */
const CELL_AREA_MIN_KM2 = 4;
/** Components from this area on may be split into several storms, km2. */
const SPLIT_AREA_MIN_KM2 = 30;

/**
 * Upper bound on the storm cells of a scan; more are an invalid grid. A real day's maximum has 95 cells, the largest known ProbSevere
 * file 223 objects. The cost of the tracker's exact assignment grows with the cube of the cells within reach of each other.
 */
const MAX_CELLS = 1000;

/** Columns of a cell that do not come from the grid of its scan. */
type OtherColumn =
  | ('storm_date' | 'scan_time' | 'track_id' | 'ml_predicted_size_mm' | 'ml_probability' | 'model_version')
  | ('probsevere_id' | 'confidence' | 'flag_out_of_range');

/** A storm cell as measured on the grid alone: columns of the cells table, and the pixels of the cell. */
export interface CellShape extends Readonly<Omit<Cell, OtherColumn>> {
  /** Pixels of the cell: indices into the HailField, ascending. */
  readonly pixelIndex: Uint32Array;
  /** Pixel with the largest value, the first of equals: index into the HailField. */
  readonly peakIndex: number;
}

/**
 * Storm cells of one scan, ordered by first pixel: components >= 5 mm of at least 4 km2 that reach 15 mm. Large components are
 * split where several storms touch. A companion is the largest value over the cell; null without the product or a value.
 * Throws BadInput with the scan's id when there are more than MAX_CELLS.
 */
export function findCells(input: ScanInput, labels: Labels = labelHail(input.mesh)): CellShape[] {
  const field = input.mesh;
  const components = pixelsOfComponents(
    labels,
    (component) =>
      labels.max_tenths[component] >= CELL_PEAK_MIN_MM * 10 && labels.area_km2[component] >= CELL_AREA_MIN_KM2,
  );
  const cells = [...components].flatMap(([component, pixels]) =>
    labels.area_km2[component] >= SPLIT_AREA_MIN_KM2 ? splitComponent(field, pixels) : [pixels],
  );
  if (cells.length > MAX_CELLS)
    throw new BadInput(
      'detect',
      scanId(input.scan_time),
      `${cells.length} storm cells, expected at most ${MAX_CELLS} in one scan`,
    );
  cells.sort((a, b) => a[0] - b[0]);
  return cells.map((pixels, cell_index) => cellShape(field, pixels, cell_index, input.companions));
}

/**
 * Connected objects of any field, ordered by first pixel: 8-connected components at or above `min_tenths` with at least
 * `min_pixels` pixels; the thresholds of storm cells do not apply. Sizes are in the unit of the field's product.
 */
export function findObjects(field: HailField, min_tenths: number, min_pixels: number): CellShape[] {
  const labels = labelComponents(field, min_tenths, 8);
  const components = pixelsOfComponents(labels, (component) => labels.pixels[component] >= min_pixels);
  return [...components.values()].map((pixels, cell_index) => cellShape(field, pixels, cell_index, {}));
}

/** Ascending pixels of the components that pass `wanted`, by component. */
function pixelsOfComponents(labels: Labels, wanted: (component: number) => boolean): Map<number, Uint32Array> {
  const lists = new Map<number, Uint32Array>();
  for (let component = 0; component < labels.count; component++)
    if (wanted(component)) lists.set(component, new Uint32Array(labels.pixels[component]));
  const filled = new Uint32Array(labels.count);
  for (let pixel = 0; pixel < labels.label.length; pixel++) {
    const component = labels.label[pixel];
    const list = component < 0 ? undefined : lists.get(component);
    if (!list) continue;
    const at = filled[component];
    list[at] = pixel;
    filled[component] = at + 1;
  }
  return lists;
}

function cellShape(
  field: HailField,
  pixelIndex: Uint32Array,
  cell_index: number,
  companions: CompanionValues,
): CellShape {
  const { core, centroid, max_tenths, p90_tenths, ...measured } = measureShape(
    field,
    pixelIndex,
    latticeRows(field, pixelIndex),
  );
  return {
    ...measured,
    ...core,
    cell_index,
    centroid_lat: centroid.lat,
    centroid_lon: centroid.lon,
    geohash5: geohash(core.lat, core.lon, 5),
    pixels: pixelIndex.length,
    estimated_size_mm: Math.min(SIZE_CAP_MM, max_tenths / 10),
    p90_mm: Math.min(SIZE_CAP_MM, Math.round(p90_tenths * 10) / 100),
    ...everyCompanion((name) => largestValue(companions, name, pixelIndex)),
    flag_extreme: max_tenths > EXTREME_MM * 10,
    flag_object_only: false,
    pixelIndex,
  };
}

/** Largest known value at some pixels; null without the product or a known value. */
function largestValue(companions: CompanionValues, name: Companion, pixels: Uint32Array): number | null {
  if (!companions[name]) return null;
  let largest: number | null = null;
  for (const pixel of pixels) {
    const value = companionAt(companions, name, pixel);
    if (value !== null && (largest === null || value > largest)) largest = value;
  }
  return largest;
}

/** Motion columns of the ProbSevere object that a cell matches. */
interface ObjectMotion {
  readonly object: Pick<ProbSevereObject, 'flag_stale' | 'speed_kmh' | 'direction_deg'>;
}

/** Input of the tracker: the cells with their pixels by lattice position, and the motion of their ProbSevere object. */
export function trackedCells(field: HailField, cells: readonly CellShape[], matches: readonly (ObjectMotion | null)[]) {
  return cells.map((cell, index) => ({
    cell_index: cell.cell_index,
    lat: cell.lat,
    lon: cell.lon,
    centroid_lat: cell.centroid_lat,
    centroid_lon: cell.centroid_lon,
    area_km2: cell.area_km2,
    estimated_size_mm: cell.estimated_size_mm,
    rows: latticeRows(field, cell.pixelIndex),
    cols: Uint16Array.from(cell.pixelIndex, (pixel) => field.col[pixel]),
    tenths: Uint16Array.from(cell.pixelIndex, (pixel) => field.tenths[pixel]),
    motion_hint: objectMotion(matches[index] ?? null),
  }));
}

/** Motion of a cell by ProbSevere; null without one, or when the object repeats the previous file. */
function objectMotion(match: ObjectMotion | null) {
  if (match === null || match.object.flag_stale) return null;
  const { speed_kmh, direction_deg } = match.object;
  return speed_kmh === null || direction_deg === null ? null : { speed_kmh, direction_deg };
}
