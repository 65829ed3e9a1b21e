import { Command } from 'commander';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import { SIZE_BANDS } from '../../schemas/size.ts';
import { labelComponents } from '../detect/label.ts';
import { NotFound, PipelineError, Unreadable, UsageError } from '../error.ts';
import { gridWords, packingWords } from '../read/describe.ts';
import { readBounded } from '../read/file.ts';
import {
  type Exceedance,
  exceedanceField,
  type FieldHead,
  type GridPoint,
  type Layer,
  MAX_INSPECTED_BYTES,
  maskOf,
  type Opened,
  openFile,
  type ProbSevereSummary,
  pointOf,
  type Sample,
  type Summary,
  sampleLayer,
  summarise,
  summariseObjects,
} from '../read/inspect.ts';
import { columns } from './cli.ts';

/** What to look for, from the command line. */
export interface Look {
  readonly at: readonly Position[];
  /** Null asks for the usual ones of the product. */
  readonly thresholds: readonly number[] | null;
  readonly bbox: Bbox | null;
  /** Field of the file, from 1; null takes the only one. */
  readonly field: number | null;
}

/** Connected components at or above a threshold, with 8 and with 4 neighbours; null on grids that are too wide. */
interface Components {
  readonly components_8: number | null;
  readonly components_4: number | null;
}

export type CountedExceedance = Exceedance & Components;

interface FieldReport extends FieldHead {
  /** First and last point in the order of the file. */
  readonly first: GridPoint;
  readonly last: GridPoint;
  readonly bbox: Bbox | null;
  readonly summary: Omit<Summary, 'thresholds'>;
  readonly thresholds: readonly CountedExceedance[];
  readonly samples: readonly Sample[];
}

/** What `inspect --json` prints. */
export type Report = { readonly file: string; readonly bytes: number } & (
  | { readonly format: 'GRIB2' | 'GeoTIFF'; readonly fields: readonly FieldHead[]; readonly detail: FieldReport | null }
  | { readonly format: 'ProbSevere'; readonly bbox: Bbox | null; readonly objects: ProbSevereSummary }
);

/** `hail-pipeline inspect FILE`: the first look at any file. */
export function inspectCommand(): Command {
  return new Command('inspect')
    .description(
      'say what a GRIB2, GeoTIFF or ProbSevere file holds: grid, packing, time, extremes, counts, areas, values',
    )
    .argument('<file>', 'GRIB2 (also .gz), GeoTIFF or ProbSevere JSON')
    .option('--at <lat,lon>', 'value at the nearest grid point; may be repeated', collectPosition)
    .option('--thresholds <list>', 'count points, areas and components at or above these values', parseThresholds)
    .option('--bbox <w,s,e,n>', 'only points whose centre lies in this box', parseBbox)
    .option('--field <n>', 'which field of a file of several, from 1', parseField)
    .option('--json', 'one JSON object instead of text')
    .addHelpText(
      'after',
      `
Examples:
  hail-pipeline inspect MRMS_MESH_00.50_20240228-025239.grib2.gz
  hail-pipeline inspect mesh.grib2 --at 41.565,-87.695 --thresholds 10,19,25 --bbox -91.52,36.97,-87.01,42.51
  hail-pipeline inspect nam.grib2 --field 136 --at 35.47,-97.52 --json`,
    )
    .action(async (path: string, given: Partial<Look> & { readonly json?: boolean }) => {
      const { thresholds = null, bbox = null, field = null, at = [], json = false } = given;
      const report = await inspectFile(path, { thresholds, bbox, field, at });
      process.stdout.write(json ? `${JSON.stringify(report)}\n` : printReport(report));
    });
}

/** Opens a file and works out everything the options ask for. */
export async function inspectFile(path: string, options: Look): Promise<Report> {
  const bytes = await readNamed(path);
  const opened = await openFile(bytes, path);
  const file = { file: path, bytes: bytes.length };
  if (opened.format === 'ProbSevere') {
    if (options.field !== null)
      throw new UsageError('--field is for GRIB2 files, expected none with a ProbSevere file');
    const thresholds = options.thresholds ?? SIZE_BANDS.map((band) => band.threshold_mm);
    const objects = summariseObjects(opened.file, thresholds, options.bbox, options.at);
    return { ...file, format: 'ProbSevere', bbox: options.bbox, objects };
  }
  const { heads } = opened;
  return { ...file, format: opened.format, fields: heads, detail: lookCloser(opened, options) };
}

/** Bytes of the file named on the command line; what the file system says about it is explained to people. */
async function readNamed(path: string): Promise<Uint8Array> {
  try {
    return await readBounded(path, MAX_INSPECTED_BYTES);
  } catch (cause) {
    if (!(cause instanceof Unreadable)) throw cause;
    if (cause.is_gone) throw new NotFound('inspect', path, 'no such file', { cause });
    throw new PipelineError('inspect', path, cause.reason, { cause });
  }
}

/** The report on one field; null when there are several and none was named, so that the list is the answer. */
function lookCloser(opened: Exclude<Opened, { format: 'ProbSevere' }>, options: Look): FieldReport | null {
  const count = opened.heads.length;
  const field = options.field ?? (count === 1 ? 1 : null);
  if (field !== null && field > count) throw new UsageError(`--field is ${field}, expected 1 to ${count}`);
  if (field !== null) return reportField(opened.layer(field), options);
  if (options.at.length > 0 || options.thresholds !== null || options.bbox !== null)
    throw new UsageError(`--field is missing, expected 1 to ${count}: the file has ${count} fields`);
  return null;
}

function reportField(layer: Layer, { at, thresholds, bbox }: Look): FieldReport {
  const mask = maskOf(layer, bbox);
  const summary = summarise(layer, thresholds ?? usualThresholds(layer), mask);
  return {
    ...layer.head,
    first: pointOf(layer, 0, 0),
    last: pointOf(layer, layer.rows - 1, layer.columns - 1),
    bbox,
    summary: withoutThresholds(summary),
    thresholds: summary.thresholds.map((exceedance) => ({
      ...exceedance,
      ...countComponents(layer, exceedance, mask),
    })),
    samples: at.map((position) => sampleLayer(layer, position)),
  };
}

function withoutThresholds({ thresholds: _, ...rest }: Summary): Omit<Summary, 'thresholds'> {
  return rest;
}

/** The steps of the science for hail sizes, nothing for other products. */
function usualThresholds({ head }: Layer): readonly number[] {
  return head.name.startsWith('MESH') ? [5, 10, 15, ...SIZE_BANDS.map((band) => band.threshold_mm)] : [];
}

function countComponents(layer: Layer, exceedance: Exceedance, mask: Uint8Array | null): Components {
  const field = exceedanceField(layer, exceedance, mask);
  if (field === null) return { components_8: null, components_4: null };
  return { components_8: labelComponents(field, 1, 8).count, components_4: labelComponents(field, 1, 4).count };
}

const NUMBER = /^-?\d+(\.\d+)?$/;

/** Numbers of a comma-separated list; null when one of them is no plain decimal number. */
function numbers(text: string): number[] | null {
  const parts = text.split(',').map((part) => part.trim());
  return parts.every((part) => NUMBER.test(part)) ? parts.map(Number) : null;
}

function collectPosition(text: string, before: readonly Position[] = []): readonly Position[] {
  const [lat, lon, ...rest] = numbers(text) ?? [];
  if (lat === undefined || lon === undefined || rest.length > 0 || Math.abs(lat) > 90 || Math.abs(lon) > 180)
    throw new UsageError(`--at is '${text}', expected LAT,LON in degrees such as 41.565,-87.695`);
  return [...before, { lat, lon }];
}

function parseThresholds(text: string): readonly number[] {
  const values = numbers(text);
  if (!values || values.length > 50)
    throw new UsageError(`--thresholds is '${text}', expected up to 50 numbers such as 10,19,25.4`);
  return [...new Set(values)].sort((a, b) => a - b);
}

function parseBbox(text: string): Bbox {
  const [west, south, east, north, ...rest] = numbers(text) ?? [];
  const form = `--bbox is '${text}', expected W,S,E,N in degrees`;
  if (west === undefined || south === undefined || east === undefined || north === undefined || rest.length > 0)
    throw new UsageError(`${form} such as -91.52,36.97,-87.01,42.51`);
  if (Math.abs(west) > 180 || Math.abs(east) > 180 || Math.abs(south) > 90 || Math.abs(north) > 90)
    throw new UsageError(`${form} within -180 to 180 and -90 to 90`);
  if (west >= east || south >= north) throw new UsageError(`${form} with west < east and south < north`);
  return [west, south, east, north];
}

function parseField(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new UsageError(`--field is '${text}', expected a whole number from 1`);
  return Number(text);
}

/** A report as aligned text for people. */
export function printReport(report: Report): string {
  const title = `${report.file}\n${report.format}, ${whole(report.bytes)} bytes`;
  if (report.format === 'ProbSevere') return `${title}\n\n${printObjects(report.objects, report.bbox)}`;
  const { fields, detail } = report;
  const count = `${fields.length} field${fields.length === 1 ? '' : 's'}`;
  if (detail === null)
    return `${title}, ${count}\n\n${printList(fields)}\n\nLook closer at one of them with --field N.\n`;
  const which = fields.length > 1 ? `, this is number ${detail.field}` : '';
  return `${title}, ${count}${which}\n\n${printDetail(detail)}\n`;
}

function printList(fields: readonly FieldHead[]): string {
  const rows = fields.map(({ field, name, unit, level, time, valid_time, packing, grid }) => [
    String(field),
    name,
    unit ?? '-',
    level,
    time,
    valid_time ?? '-',
    packingWords(packing).split(',', 1)[0] as string,
    gridWords(grid).split(', step', 1)[0] as string,
  ]);
  return columns([['field', 'name', 'unit', 'level', 'reference time', 'valid time', 'packing', 'grid'], ...rows], 'r');
}

function printDetail(detail: FieldReport): string {
  const { summary, unit, samples, thresholds } = detail;
  const facts = [
    ['product', `${detail.name} (${detail.parameter})${unit ? `, ${unit}` : ''}, ${detail.level}`],
    ['time', timeWords(detail)],
    ['grid', gridWords(detail.grid)],
    ...(detail.first.lat === null ? [] : [['', `from ${place(detail.first)} to ${place(detail.last)}`]]),
    ['packing', packingWords(detail.packing)],
    ...(detail.bbox ? [['box', `${detail.bbox.join(',')} (west, south, east, north)`]] : []),
  ];
  const parts = [columns(facts), printCounts(summary), printExtremes(summary, unit)];
  if (thresholds.length > 0) parts.push(printThresholds(thresholds, unit));
  if (samples.length > 0) parts.push(printSamples(samples, unit));
  return parts.join('\n\n');
}

function timeWords({ time, valid_time, simulated }: FieldHead): string {
  const forecast = valid_time === null || valid_time === time ? '' : `, for ${valid_time}`;
  return `${time}${forecast}${simulated ? ', simulated' : ''}`;
}

function printCounts(summary: FieldReport['summary']): string {
  const line = (name: string, points: number) => [name, whole(points), share(points, summary.points)];
  return columns(
    [
      line('points', summary.points),
      ...(summary.no_coverage ? [line(`no coverage (${summary.no_coverage.value})`, summary.no_coverage.points)] : []),
      ...(summary.nothing ? [line(`nothing there (${summary.nothing.value})`, summary.nothing.points)] : []),
      ...(summary.missing > 0 ? [line('missing', summary.missing)] : []),
      line('values', summary.values),
      line('  of these zero', summary.zeros),
      ...(summary.negative > 0 ? [line('  of these negative', summary.negative)] : []),
    ],
    'lrr',
  );
}

function printExtremes({ min, max, mean }: FieldReport['summary'], unit: string | null): string {
  if (!min || !max || mean === null) return 'no values';
  const suffix = unit ? ` ${unit}` : '';
  const where = (extreme: NonNullable<typeof min>) =>
    `${place(extreme)}${extreme.points > 1 ? `, the first of ${whole(extreme.points)} points` : ''}`;
  return columns([
    ['minimum', `${short(min.value)}${suffix}`, where(min)],
    ['maximum', `${short(max.value)}${suffix}`, where(max)],
    ['mean', `${short(mean)}${suffix}`, ''],
  ]);
}

function printThresholds(thresholds: readonly CountedExceedance[], unit: string | null): string {
  const head = [`>= ${unit ?? ''}`.trim(), 'points', 'area km2', 'components (8)', '(4)'];
  const rows = thresholds.map(({ threshold, pixels, area_km2, components_8, components_4 }) => [
    String(threshold),
    whole(pixels),
    area_km2 === null ? '-' : area_km2.toLocaleString('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 }),
    components_8 === null ? '-' : whole(components_8),
    components_4 === null ? '-' : whole(components_4),
  ]);
  return columns([head, ...rows], 'rrrrr');
}

function printSamples(samples: readonly Sample[], unit: string | null): string {
  const rows = samples.map(({ asked, nearest, value, meaning }) => [
    `at ${degreesWords({ ...asked })}`,
    meaning === 'value' && value !== null ? `${short(value)}${unit ? ` ${unit}` : ''}` : meaning,
    nearest ? place(nearest) : '',
  ]);
  return columns(rows);
}

function printObjects(objects: ProbSevereSummary, bbox: Bbox | null): string {
  const size = (mm: number | null) => (mm === null ? '-' : `${short(mm)} mm`);
  const parts = [
    columns([
      ['model', objects.model],
      ['valid time', `${objects.time}${objects.simulated ? ', simulated' : ''}`],
      ...(bbox ? [['box', `${bbox.join(',')} (west, south, east, north)`]] : []),
      ['objects', whole(objects.objects)],
      ['MESH distrusted by the model', whole(objects.distrusted)],
      [
        'largest MESH',
        `${size(objects.max_mesh_mm)}${objects.max_mesh_id === null ? '' : ` (object ${objects.max_mesh_id})`}`,
      ],
      ['MESH of at least one inch', whole(objects.mesh_at_least_one_inch)],
      ['largest hail probability', objects.max_prob_hail === null ? '-' : `${short(100 * objects.max_prob_hail)} %`],
      ['hail probability of at least 50 %', whole(objects.prob_hail_at_least_half)],
    ]),
    columns(
      [['>= mm', 'objects'], ...objects.thresholds.map((row) => [String(row.threshold), whole(row.objects)])],
      'rr',
    ),
  ];
  if (objects.nearest.length > 0)
    parts.push(
      columns(
        objects.nearest.map(({ asked, distance_km, object }) => [
          `at ${degreesWords(asked)}`,
          `object ${object.probsevere_id}`,
          `${distance_km.toFixed(1)} km away`,
          `MESH ${size(object.mesh_mm)}`,
          `hail ${short(100 * object.prob_hail)} %`,
        ]),
      ),
    );
  return `${parts.join('\n\n')}\n`;
}

function whole(value: number): string {
  return value.toLocaleString('en-US');
}

function share(part: number, all: number): string {
  return all === 0 ? '' : `${((100 * part) / all).toFixed(1)} %`;
}

/** Seven significant digits: what single precision carries. */
function short(value: number): string {
  return String(Number(value.toPrecision(7)));
}

function place(point: GridPoint): string {
  const at = `row ${point.row}, column ${point.col}`;
  return point.lat === null || point.lon === null ? at : `${at} (${degreesWords({ lat: point.lat, lon: point.lon })})`;
}

function degreesWords({ lat, lon }: Position): string {
  return `${short(Math.abs(lat))} ${lat < 0 ? 'S' : 'N'} ${short(Math.abs(lon))} ${lon < 0 ? 'W' : 'E'}`;
}
