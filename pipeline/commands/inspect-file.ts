import type { Bbox, Position } from '../../schemas/geo/position.ts';
import { SIZE_BANDS } from '../../schemas/size.ts';
import { labelComponents } from '../detect/label.ts';
import { NotFound, PipelineError, Unreadable, UsageError } from '../error.ts';
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

/** What to look for in a file. */
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

export interface FieldReport extends FieldHead {
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
