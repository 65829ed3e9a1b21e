import { Command } from 'commander';
import { enclosing, type Position } from '../../schemas/geo/position.ts';
import { timestamp } from '../../schemas/time.ts';
import { NotFound, Unreadable, UsageError } from '../error.ts';
import { decodeField, type Field, nearestPoint, parseGrib2, positionOf, valueReader } from '../grib2/index.ts';
import { gunzip, readBounded } from '../raw-file.ts';
import { SIMULATED_STATUS } from '../read/mrms.ts';
import { listedProduct } from '../read/products.ts';

/** Files of models are larger than those of MRMS, and are inspected one at a time. */
const MAX_INSPECTED_BYTES = 256 * 1024 * 1024;

/** `hail-pipeline inspect FILE`: contents of a grid in figures. */
export function inspectCommand(): Command {
  return new Command('inspect')
    .description('say what a GRIB2 file holds: product, time, packing, box, extremes, values at points')
    .argument('<file>', 'GRIB2, also .gz')
    .option('--at <lat,lon>', 'value at the nearest grid point; may be repeated', collectPosition)
    .option('--json', 'one JSON object instead of text')
    .action(async (path: string, { at = [], json = false }: { at?: readonly Position[]; json?: boolean }) => {
      const fields = parseGrib2(await contentOf(path), path).map((field) => fieldReport(field, at));
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

/** Bytes of a file, without their gzip. Throws NotFound without the file, BadInput for one that is damaged. */
async function contentOf(path: string): Promise<Uint8Array> {
  try {
    return gunzip(await readBounded(path, MAX_INSPECTED_BYTES), path, MAX_INSPECTED_BYTES);
  } catch (cause) {
    if (!(cause instanceof Unreadable && cause.is_gone)) throw cause;
    throw new NotFound('inspect', path, 'no such file', { cause });
  }
}

/** A place in degrees to six decimals, null where the projection is not known, with its value. */
interface Sample {
  readonly lat: number | null;
  readonly lon: number | null;
  readonly value: number;
}

type FieldReport = ReturnType<typeof fieldReport>;

/** One field of a file. Values that mean "no coverage" or "nothing there" are no extremes. */
function fieldReport(field: Field, at: readonly Position[]) {
  const { grid, packing } = field;
  const product = listedProduct(field);
  const { columns, rows, ...decoded } = decodeField(field);
  const valueAt = valueReader(decoded);
  const bits = 'bits' in packing ? `, ${packing.bits} bits` : '';
  const law = `(${decoded.reference} + x * 2^${decoded.binary_scale}) / 10^${decoded.decimal_scale}`;
  let [lowest, highest] = [-1, -1];
  for (let index = 0; index < rows * columns; index++) {
    const value = valueAt(index);
    if (Number.isNaN(value) || value === product?.no_coverage || value === product?.missing) continue;
    if (lowest < 0 || value < valueAt(lowest)) lowest = index;
    if (highest < 0 || value > valueAt(highest)) highest = index;
  }
  const sampleAt = (index: number): Sample | null => {
    if (index < 0) return null;
    const value = valueAt(index);
    if (grid.projection === null) return { lat: null, lon: null, value };
    const { lat, lon } = positionOf(grid, Math.floor(index / columns), index % columns);
    return { lat: rounded(lat), lon: rounded(lon), value };
  };
  return {
    product: product?.name ?? `${field.discipline}/${field.category}/${field.number}`,
    unit: product?.unit ?? null,
    time: timestamp(field.reference_time),
    valid_time: field.valid_time === null ? null : timestamp(field.valid_time),
    simulated: field.production_status === SIMULATED_STATUS,
    packing: `5.${packing.template}${bits}, ${law}`,
    rows,
    columns,
    bbox: boxOf(field, rows, columns),
    min: sampleAt(lowest),
    max: sampleAt(highest),
    at: at.map((position) => {
      const point = nearestPoint(grid, position);
      const value = point === null ? Number.NaN : valueAt(point.j * columns + point.i);
      return Number.isNaN(value) ? null : value;
    }),
  };
}

/** Box around the points of the border, for rows of a Lambert grid bend; null where the projection is not known. */
function boxOf({ grid }: Field, rows: number, columns: number): readonly number[] | null {
  if (grid.projection === null) return null;
  const border: Position[] = [];
  for (let j = 0; j < rows; j++) border.push(positionOf(grid, j, 0), positionOf(grid, j, columns - 1));
  for (let i = 0; i < columns; i++) border.push(positionOf(grid, 0, i), positionOf(grid, rows - 1, i));
  return enclosing(border.map(({ lat, lon }) => [lon, lat, lon, lat] as const))?.map(rounded) ?? null;
}

function rounded(degrees: number): number {
  return Math.round(degrees * 1e6) / 1e6;
}

function fieldText(field: FieldReport): string {
  const { product, unit, time, valid_time, simulated, packing, rows, columns, bbox, min, max, at } = field;
  const sample = (one: Sample | null) => (one === null ? 'none' : `${one.value} at ${one.lat},${one.lon}`);
  const measured = unit === null ? product : `${product} (${unit})`;
  const valid = valid_time === time ? '' : `, valid ${valid_time}`;
  const lines = [
    `${measured}, ${time}${valid}${simulated ? ', simulated' : ''}`,
    `  grid     ${rows} x ${columns}, ${bbox === null ? 'positions not supported' : bbox.join(',')}`,
    `  packing  ${packing}`,
    `  min      ${sample(min)}`,
    `  max      ${sample(max)}`,
    ...at.map((value, k) => `  at ${k + 1}     ${value ?? 'no value'}`),
  ];
  return `${lines.join('\n')}\n`;
}
