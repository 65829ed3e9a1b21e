import { basename } from 'node:path';
import { cellAreaKm2 } from '../../schemas/geo/area.ts';
import { colLon, LATTICE, rowLat } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { timestamp } from '../../schemas/time.ts';
import { BadInput } from '../error.ts';
import type { Grid } from '../grid.ts';
import { gunzip } from './file.ts';
import { readGeotiff } from './geotiff.ts';
import {
  decodeField,
  type Field,
  type GridDefinition,
  nearestPoint,
  PACKING_TEMPLATES,
  type Packing,
  parameterOf,
  parseGrib2,
  positionOf,
  surfaceWords,
  valueReader,
} from './grib2/index.ts';
import { readGrid, SIMULATED_STATUS } from './mrms.ts';
import { type ProbSevereFile, readProbSevere } from './probsevere.ts';
import { listedProduct } from './products.ts';

/** The grid of a field in numbers; `template` is null where the file is no GRIB2. */
export type GridNumbers = {
  readonly template: number | null;
  readonly columns: number;
  readonly rows: number;
} & (
  | { readonly projection: 'latitude-longitude'; readonly step_lon_deg: number; readonly step_lat_deg: number }
  | { readonly projection: 'Lambert'; readonly step_x_m: number; readonly step_y_m: number }
  | { readonly projection: null }
);

/** How values are packed: value = (reference + packed * 2^binary_scale) / 10^decimal_scale; null where the file does not say. */
export interface PackingNumbers {
  /** Template of section 5; null where the file is no GRIB2. */
  readonly template: number | null;
  readonly name: string;
  readonly bits: number | null;
  readonly reference: number | null;
  readonly binary_scale: number | null;
  readonly decimal_scale: number | null;
}

/** Header of one field of a file. */
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
  /** Time the values are for, null where the product does not state it. */
  readonly valid_time: string | null;
  readonly simulated: boolean;
  readonly grid: GridNumbers;
  readonly packing: PackingNumbers;
}

/** A field with its decoded values, in rows and columns of its file. */
export interface Layer {
  readonly head: FieldHead;
  readonly columns: number;
  readonly rows: number;
  /** Value at row x columns + column; NaN when missing. */
  readonly value: (index: number) => number;
  /** Values that are no measurements; null where the product has none. */
  readonly no_coverage: number | null;
  readonly nothing: number | null;
  /** Null when positions of the grid are not known. */
  readonly position: ((row: number, col: number) => Position) | null;
  readonly nearest: (at: Position) => { readonly row: number; readonly col: number } | null;
  /** Area of any cell of a row; null where cells of a row differ. */
  readonly cell_area_km2: ((row: number) => number) | null;
}

/** A file of fields or of ProbSevere objects. */
export type OpenedFile =
  | {
      readonly format: 'GRIB2' | 'GeoTIFF';
      readonly heads: readonly FieldHead[];
      /** Decodes a field; fields count from 1. */
      readonly layer: (field: number) => Layer;
    }
  | { readonly format: 'ProbSevere'; readonly file: ProbSevereFile };

/** Files of models are larger than those of MRMS, and are inspected one at a time. */
export const MAX_INSPECTED_BYTES = 256 * 1024 * 1024;

/**
 * Opens a GRIB2 (gzipped or not), GeoTIFF or ProbSevere file; its first bytes identify the format. Values are decoded when a
 * layer is asked for. Throws BadInput when the bytes are none of these or damaged.
 */
export async function openFile(bytes: Uint8Array, name: string): Promise<OpenedFile> {
  const content = gunzip(bytes, name, MAX_INSPECTED_BYTES);
  if (isTiff(content)) {
    const layer = geotiffLayer(await readGeotiff(content, name, originOf(name)));
    return { format: 'GeoTIFF', heads: [layer.head], layer: () => layer };
  }
  const start = String.fromCharCode(...content.subarray(0, 4));
  if (start.trimStart().startsWith('{')) return { format: 'ProbSevere', file: readProbSevere(content, name) };
  const fields = parseGrib2(content, name);
  const heads = fields.map(fieldHead);
  const layer = (field: number) => fieldLayer(fields[field - 1], heads[field - 1]);
  return { format: 'GRIB2', heads, layer };
}

/** The one grid of an MRMS file: GRIB2, gzipped or not, or a GeoTIFF with product and time in its name. Throws as their readers do. */
export async function readAnyGrid(bytes: Uint8Array, name: string): Promise<Grid> {
  const content = gunzip(bytes, name);
  return isTiff(content) ? readGeotiff(content, name, originOf(name)) : readGrid(content, name);
}

function isTiff(content: Uint8Array): boolean {
  const start = String.fromCharCode(...content.subarray(0, 2));
  return start === 'II' || start === 'MM';
}

/** Product and time from a file name such as `MESH_Max_1440min_20240228-100000.tif`: a GeoTIFF states neither. */
function originOf(name: string): { product: string; scan_time: number } {
  const parts = /^(?:MRMS_)?(.+?)(?:_\d\d\.\d\d)?_(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)\.\w+$/.exec(basename(name));
  const [, product, year, month, day, hour, minute, second] = parts ?? [];
  const scan_time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  if (product === undefined || Number.isNaN(scan_time))
    throw new BadInput('read', name, 'name gives no product and time, expected PRODUCT_YYYYMMDD-HHMMSS.tif');
  return { product, scan_time };
}

function fieldHead(field: Field, index: number): FieldHead {
  const { discipline, category, number } = field;
  const parameter = `${discipline}/${category}/${number}`;
  const known = listedProduct(field) ?? parameterOf(discipline, category, number);
  return {
    field: index + 1,
    name: known?.name ?? parameter,
    unit: known?.unit ?? null,
    parameter,
    level: surfaceWords(field.surface),
    time: timestamp(field.reference_time),
    valid_time: field.valid_time === null ? null : timestamp(field.valid_time),
    simulated: field.production_status === SIMULATED_STATUS,
    grid: gridNumbers(field.grid),
    packing: packingNumbers(field.packing),
  };
}

function gridNumbers({ template, columns, rows, projection }: GridDefinition): GridNumbers {
  const size = { template, columns, rows };
  if (projection?.template === 0)
    return { ...size, projection: 'latitude-longitude', step_lon_deg: projection.di, step_lat_deg: projection.dj };
  if (projection?.template === 30)
    return { ...size, projection: 'Lambert', step_x_m: projection.dx_m, step_y_m: projection.dy_m };
  return { ...size, projection: null };
}

const NO_NUMBERS = { bits: null, reference: null, binary_scale: null, decimal_scale: null };

function packingNumbers(packing: Packing): PackingNumbers {
  const { template } = packing;
  if ('unsupported' in packing) return { template, name: 'not supported', ...NO_NUMBERS };
  const { name } = PACKING_TEMPLATES[packing.template];
  if (packing.template === 4) return { template, name, ...NO_NUMBERS, bits: 32 * packing.precision };
  const { bits, reference, binary_scale, decimal_scale } = packing;
  return { template, name, bits, reference, binary_scale, decimal_scale };
}

function fieldLayer(field: Field, head: FieldHead): Layer {
  const decoded = decodeField(field);
  const product = listedProduct(field);
  const { grid } = field;
  const { projection } = grid;
  const latLon = projection?.template === 0 ? projection : null;
  return {
    head,
    columns: decoded.columns,
    rows: decoded.rows,
    value: valueReader(decoded),
    no_coverage: product?.no_coverage ?? null,
    nothing: product?.missing ?? null,
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

function geotiffLayer(grid: Grid): Layer {
  const { rows, cols: columns, row0, col0 } = grid.window;
  const { step } = LATTICE;
  const time = timestamp(grid.scan_time);
  return {
    head: {
      field: 1,
      name: grid.product,
      unit: grid.unit,
      parameter: '-',
      level: '-',
      time,
      valid_time: time,
      simulated: grid.simulated,
      grid: { template: null, columns, rows, projection: 'latitude-longitude', step_lon_deg: step, step_lat_deg: step },
      packing: { template: null, name: 'GeoTIFF, rounded to tenths', ...NO_NUMBERS },
    },
    columns,
    rows,
    value: valueReader({ ...grid, missing: null }),
    no_coverage: grid.no_coverage,
    nothing: grid.missing,
    position: (row, col) => ({ lat: rowLat(row0 + row), lon: colLon(col0 + col) }),
    nearest: ({ lat, lon }) => {
      const row = Math.round((rowLat(row0) - lat) / step);
      const col = Math.round((lon - colLon(col0)) / step);
      return row >= 0 && row < rows && col >= 0 && col < columns ? { row, col } : null;
    },
    cell_area_km2: (row) => rowCellArea(rowLat(row0 + row), step, step),
  };
}
