import { mkdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { MS_PER_DAY } from '../../schemas/time.ts';
import { Conflict, PipelineError } from '../error.ts';
import { isMissing } from '../files.ts';
import { alertFile } from './alert-file.ts';
import { coverageOf } from './coverage.ts';
import { SIMULATED_PRODUCTS, type SimulatedProduct, simulateScan } from './fields.ts';
import { writeGrib2 } from './grib2-writer.ts';
import { modelGridOf, simulatedHours, simulatedModelFile } from './model-grid.ts';
import { outlookFiles } from './outlook-files.ts';
import { hashOf } from './random.ts';
import { reportFiles, type TextFile } from './report-files.ts';
import { scanTimes } from './scan-times.ts';
import type { Scenario } from './scenario.ts';
import { truthCsv } from './truth.ts';
import { watchFiles } from './watch-files.ts';

const EVENING_FILE = 'evening.json';
const TRUTH_FILE = 'truth.csv';
/** Files at the top of an evening's folder that are no source files: its scenario and its true storms. */
export const EVENING_NOTES: readonly string[] = [EVENING_FILE, TRUTH_FILE];

/** Version of the simulator. Raise it when the same seed would give other weather or other bytes. */
const SIMULATOR_VERSION = 3;

export interface EveningOptions {
  /** Scans in [from_ms, to_ms). */
  readonly from_ms: number;
  readonly to_ms: number;
  readonly out: string;
  /** Time between two scans, milliseconds; that of the real radars when left out. */
  readonly interval_ms?: number;
  readonly products?: readonly SimulatedProduct[];
  /** Also files of the other feeds: reports, warnings, watches, outlooks and model runs. */
  readonly feeds?: boolean;
  /** Also `truth.csv`: the true storms of every scan. */
  readonly truth?: boolean;
}

/** One scan after it was written. */
export interface WrittenScan {
  readonly scan_time: number;
  /** Number of the scan, from 1, and how many there are. */
  readonly number: number;
  readonly of: number;
  /** Files of the scan, and the number of them that existed before. */
  readonly files: number;
  readonly kept: number;
  readonly bytes: number;
}

/**
 * Writes an evening under `out`, in the layout of the public MRMS bucket, and yields each scan once it is on disk.
 * Each file is written under a temporary name and renamed. Existing files are kept: they are equal, because a folder belongs to one
 * scenario (`evening.json`). Throws Conflict for another scenario.
 */
export async function* writeEvening(scenario: Scenario, options: EveningOptions): AsyncGenerator<WrittenScan> {
  const { from_ms, to_ms, out, products = SIMULATED_PRODUCTS } = options;
  await claimFolder(scenario, out);
  const times = scanTimes(scenario.seed, from_ms, to_ms, options.interval_ms);
  for (const [i, scan_time] of times.entries())
    yield { number: i + 1, of: times.length, ...(await writeScan(scenario, scan_time, out, products)) };
  if (options.feeds !== false) await writeFeeds(scenario, options, products);
  if (options.truth === true) await writeWhole(join(out, TRUTH_FILE), truthCsv(scenario, times));
}

/** Writes the files of the other feeds at `to_ms`, which is also their modification time: the time of arrival. */
async function writeFeeds(
  scenario: Scenario,
  { from_ms, to_ms, out }: EveningOptions,
  [product]: readonly SimulatedProduct[],
): Promise<void> {
  const scan_times: number[] = [];
  if (product !== undefined)
    for (const time_ms of scanTimes(scenario.seed, from_ms - MS_PER_DAY, to_ms))
      if ((await sizeOf(join(out, bucketPath(product, time_ms)))) !== null) scan_times.push(time_ms);
  for (const { path, text } of feedFiles(scenario, from_ms, to_ms, scan_times))
    await writeWhole(join(out, path), text, to_ms);
  const grid = modelGridOf(scenario);
  for (const { run_time, lead_h } of simulatedHours(to_ms)) {
    const { path, bytes } = simulatedModelFile(scenario, grid, run_time, lead_h);
    await writeWhole(join(out, path), bytes, to_ms);
  }
}

/** Writes an evening as `writeEvening` does and returns the totals (bytes: size); calls `onScan` after each scan. */
export async function writeAllScans(scenario: Scenario, options: EveningOptions, onScan: (scan: WrittenScan) => void) {
  const total = { scans: 0, files: 0, kept: 0, bytes: 0 };
  for await (const scan of writeEvening(scenario, options)) {
    total.scans += 1;
    total.files += scan.files;
    total.kept += scan.kept;
    total.bytes += scan.bytes;
    onScan(scan);
  }
  return total;
}

/** Path of a file below the bucket's root. */
export function bucketPath(product: SimulatedProduct, scan_time: number): string {
  const [date, time] = new Date(scan_time).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').split('T');
  return `CONUS/${product}_00.50/${date}/MRMS_${product}_00.50_${date}-${time}.grib2.gz`;
}

async function writeScan(
  scenario: Scenario,
  scan_time: number,
  out: string,
  products: readonly SimulatedProduct[],
): Promise<Pick<WrittenScan, 'scan_time' | 'files' | 'kept' | 'bytes'>> {
  const covered = coverageOf(scenario);
  let bytes = 0;
  let kept = 0;
  let scan: ReturnType<typeof simulateScan> | undefined;
  for (const product of products) {
    const path = join(out, bucketPath(product, scan_time));
    const known = await sizeOf(path);
    if (known !== null) {
      kept += 1;
      bytes += known;
      continue;
    }
    scan ??= simulateScan(scenario, scan_time);
    const content = gzipSync(writeGrib2(scan, product, covered), { level: 1 });
    await writeWhole(path, content);
    bytes += content.length;
  }
  return { scan_time, files: products.length, kept, bytes };
}

async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size;
  } catch (cause) {
    if (isMissing(cause)) return null;
    throw new PipelineError('simulate', path, 'could not be looked up', { cause });
  }
}

/** Writes under a temporary name and renames, so that readers never see part of a file. Sets its modification time when given. */
async function writeWhole(
  path: string,
  content: Uint8Array | string,
  modified_ms: number | null = null,
): Promise<void> {
  const temporary = `${path}.tmp`;
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(temporary, content);
    if (modified_ms !== null) await utimes(temporary, modified_ms / 1000, modified_ms / 1000);
    await rename(temporary, path);
  } catch (cause) {
    await rm(temporary, { force: true });
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new PipelineError('simulate', path, `could not be written: ${why}`, { cause });
  }
}

/** Claims a folder for the scenario, or checks that it has the same one. */
async function claimFolder(scenario: Scenario, out: string): Promise<void> {
  const path = join(out, EVENING_FILE);
  const mine = `${JSON.stringify(eveningIdentity(scenario), null, 2)}\n`;
  let known: string;
  try {
    known = await readFile(path, 'utf8');
  } catch (cause) {
    if (!isMissing(cause)) throw new PipelineError('simulate', path, 'could not be read', { cause });
    await writeWhole(path, mine);
    return;
  }
  if (known !== mine)
    throw new Conflict(
      'simulate',
      out,
      `holds another simulated evening: ${oneLine(known)}, expected ${oneLine(mine)}; choose another folder`,
    );
}

function oneLine(json: string): string {
  return json.replaceAll(/\s+/g, ' ').trim().slice(0, 300);
}

/** Content of `evening.json`: everything that distinguishes the files of two scenarios. */
function eveningIdentity({ seed, window, day_type, steady, sites }: Scenario) {
  const places = sites.flatMap(({ lat, lon }) => [Math.round(lat * 1e4), Math.round(lon * 1e4)]);
  return { simulator: SIMULATOR_VERSION, seed, window, day_type, steady, sites: hashOf(...places) };
}

/**
 * Files of the other feeds at `to_ms` about the weather of [from_ms, to_ms): hail reports, warnings, watches and outlooks, in the
 * formats of their sources, marked as simulated as far as each format allows.
 * `scan_times`: all existing scans of the days that [from_ms, to_ms) touches; reports refer to these times.
 */
export function feedFiles(
  scenario: Scenario,
  from_ms: number,
  to_ms: number,
  scan_times: readonly number[],
): TextFile[] {
  return [
    ...reportFiles(scenario, from_ms, to_ms, scan_times),
    alertFile(scenario, to_ms),
    ...watchFiles(scenario, to_ms),
    ...outlookFiles(scenario, to_ms),
  ];
}
