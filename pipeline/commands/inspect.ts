import { basename } from 'node:path';
import { Command } from 'commander';
import { LATTICE, latRow, lonCol, windowBbox } from '../../schemas/geo/lattice.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import { timestamp } from '../../schemas/time.ts';
import { BadInput, NotFound, PipelineError, Unreadable, UsageError } from '../error.ts';
import { decodeField, type Field, nearestPoint, parseGrib2, positionOf, valueReader } from '../grib2/index.ts';
import { type Grid, gridValue } from '../grid.ts';
import { gunzip, readBounded } from '../raw-file.ts';
import { readGeotiff } from '../read/geotiff.ts';
import { SIMULATED_STATUS } from '../read/mrms.ts';
import { listedProduct } from '../read/products.ts';

/** Files of models are larger than those of MRMS, and are inspected one at a time. */
const MAX_INSPECTED_BYTES = 256 * 1024 * 1024;

/** A measurement with its place; `value` is null for a point without one. */
interface Sample {
  readonly lat: number | null;
  readonly lon: number | null;
  readonly value: number | null;
}

/** One field of a file; `inspect --json` prints them. Values that mean "no coverage" or "nothing there" are no extremes. */
export interface FieldReport {
  readonly product: string;
  readonly unit: string | null;
  readonly time: string;
  readonly valid_time: string | null;
  readonly simulated: boolean;
  readonly packing: string;
  readonly rows: number;
  readonly columns: number;
  /** Box around the centres of a grid of points, or the outer edges of a GeoTIFF; null where positions are not known. */
  readonly bbox: Bbox | null;
  readonly min: Sample | null;
  readonly max: Sample | null;
  /** Value at the grid point nearest to each position; null off the grid. */
  readonly at: readonly (number | null)[];
}

/** `hail-pipeline inspect FILE`: contents of a grid in figures. */
export function inspectCommand(): Command {
  return new Command('inspect')
    .description('say what a GRIB2 or GeoTIFF file holds: product, time, packing, box, extremes, values at points')
    .argument('<file>', 'GRIB2, also .gz, or GeoTIFF')
    .option('--at <lat,lon>', 'value at the nearest grid point; may be repeated', collectPosition)
    .option('--json', 'one JSON object instead of text')
    .action(async (path: string, { at = [], json = false }: { at?: readonly Position[]; json?: boolean }) => {
      const fields = await inspectFile(path, at);
      process.stdout.write(json ? `${JSON.stringify({ file: path, fields })}\n` : fields.map(fieldText).join(''));
    });
}

function collectPosition(text: string, before: readonly Position[] = []): readonly Position[] {
  const [lat = Number.NaN, lon = Number.NaN] = /^-?\d+(\.\d+)?,-?\d+(\.\d+)?$/.test(text)
    ? text.split(',').map(Number)
    : [];
  if (!(Math.abs(lat) <= 90 && Math.abs(lon) <= 180))
    throw new UsageError(`--at is '${text}', expected LAT,LON in degrees such as 41.565,-87.695`);
  return [...before, { lat, lon }];
}

/** Every field of a file. Throws NotFound without the file, BadInput for a file that is no grid or is damaged. */
async function inspectFile(path: string, at: readonly Position[]): Promise<FieldReport[]> {
  const content = gunzip(await readNamed(path), path, MAX_INSPECTED_BYTES);
  const start = String.fromCharCode(...content.subarray(0, 2));
  if (start === 'II' || start === 'MM') return [geotiffReport(await readGeotiff(content, path, originOf(path)), at)];
  return parseGrib2(content, path).map((field) => fieldReport(field, at));
}

async function readNamed(path: string): Promise<Uint8Array> {
  try {
    return await readBounded(path, MAX_INSPECTED_BYTES);
  } catch (cause) {
    if (!(cause instanceof Unreadable)) throw cause;
    if (cause.is_gone) throw new NotFound('inspect', path, 'no such file', { cause });
    throw new PipelineError('inspect', path, cause.reason, { cause });
  }
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

function fieldReport(field: Field, at: readonly Position[]): FieldReport {
  const { grid, packing } = field;
  const product = listedProduct(field);
  const { columns, rows, ...decoded } = decodeField(field);
  const valueAt = valueReader(decoded);
  const isValue = (value: number) => value !== product?.no_coverage && value !== product?.missing;
  const place = (index: number) =>
    grid.projection === null ? null : positionOf(grid, Math.floor(index / columns), index % columns);
  const bits = 'bits' in packing ? `, ${packing.bits} bits` : '';
  const law = `(${decoded.reference} + x * 2^${decoded.binary_scale}) / 10^${decoded.decimal_scale}`;
  return {
    product: product?.name ?? `${field.discipline}/${field.category}/${field.number}`,
    unit: product?.unit ?? null,
    time: timestamp(field.reference_time),
    valid_time: field.valid_time === null ? null : timestamp(field.valid_time),
    simulated: field.production_status === SIMULATED_STATUS,
    packing: `5.${packing.template}${bits}, ${law}`,
    rows,
    columns,
    bbox: grid.projection === null ? null : boxOf(rows, columns, place),
    ...extremes(rows * columns, (index) => (isValue(valueAt(index)) ? valueAt(index) : Number.NaN), place),
    at: at.map((position) => {
      const point = nearestPoint(grid, position);
      return point === null ? null : numberOrNull(valueAt(point.j * columns + point.i));
    }),
  };
}

function geotiffReport(grid: Grid, at: readonly Position[]): FieldReport {
  const { rows, cols, row0, col0 } = grid.window;
  const [west, , , north] = windowBbox(grid.window);
  const { step } = LATTICE;
  const measured = (index: number) => {
    const value = gridValue(grid, grid.packed[index]);
    return value === grid.no_coverage || value === grid.missing ? Number.NaN : value;
  };
  const place = (index: number) => ({
    lat: north - step * (Math.floor(index / cols) + 0.5),
    lon: west + step * ((index % cols) + 0.5),
  });
  return {
    product: grid.product,
    unit: grid.unit,
    time: timestamp(grid.scan_time),
    valid_time: timestamp(grid.scan_time),
    simulated: grid.simulated,
    packing: 'GeoTIFF, rounded to tenths',
    rows,
    columns: cols,
    bbox: windowBbox(grid.window),
    ...extremes(rows * cols, measured, place),
    at: at.map(({ lat, lon }) => {
      const [row, col] = [latRow(lat) - row0, lonCol(lon) - col0];
      const isInside = row >= 0 && row < rows && col >= 0 && col < cols;
      return isInside ? gridValue(grid, grid.packed[row * cols + col]) : null;
    }),
  };
}

/** Smallest and largest value, each at the first point that has it; NaN is no value. */
function extremes(points: number, valueAt: (index: number) => number, place: (index: number) => Position | null) {
  let [min, max, lowest, highest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -1, -1];
  for (let index = 0; index < points; index++) {
    const value = valueAt(index);
    if (value < min) [min, lowest] = [value, index];
    if (value > max) [max, highest] = [value, index];
  }
  const sample = (value: number, index: number): Sample | null => {
    if (index < 0) return null;
    const { lat, lon } = place(index) ?? { lat: null, lon: null };
    return { lat: lat && rounded(lat), lon: lon && rounded(lon), value };
  };
  return { min: sample(min, lowest), max: sample(max, highest) };
}

/** Box around the border points of a grid: rows of a Lambert grid bend. */
function boxOf(rows: number, columns: number, place: (index: number) => Position | null): Bbox {
  let [west, south, east, north] = [180, 90, -180, -90];
  for (let row = 0; row < rows; row++)
    for (let col = 0; col < columns; col += row === 0 || row === rows - 1 ? 1 : Math.max(1, columns - 1)) {
      const { lat, lon } = place(row * columns + col) as Position;
      [west, south, east, north] = [
        Math.min(west, lon),
        Math.min(south, lat),
        Math.max(east, lon),
        Math.max(north, lat),
      ];
    }
  return [rounded(west), rounded(south), rounded(east), rounded(north)];
}

function rounded(degrees: number): number {
  return Math.round(degrees * 1e6) / 1e6;
}

function numberOrNull(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}

function fieldText({
  product,
  unit,
  time,
  valid_time,
  simulated,
  packing,
  rows,
  columns,
  bbox,
  min,
  max,
  at,
}: FieldReport) {
  const sample = (one: Sample | null) => (one === null ? 'none' : `${one.value} at ${one.lat},${one.lon}`);
  const lines = [
    `${product}${unit === null ? '' : ` (${unit})`}, ${time}${valid_time === time ? '' : `, valid ${valid_time}`}${simulated ? ', simulated' : ''}`,
    `  grid     ${rows} x ${columns}, ${bbox === null ? 'positions not supported' : bbox.join(',')}`,
    `  packing  ${packing}`,
    `  min      ${sample(min)}`,
    `  max      ${sample(max)}`,
    ...at.map((value, k) => `  at ${k + 1}     ${value ?? 'no value'}`),
  ];
  return `${lines.join('\n')}\n`;
}
