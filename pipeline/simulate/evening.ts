import { existsSync } from 'node:fs';
import { mkdir, rename, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { MS_PER_DAY } from '../../schemas/time.ts';
import { Conflict } from '../error.ts';
import { DRAFT_SUFFIX, readIfPresent } from '../files.ts';
import { feedFiles } from './feeds.ts';
import { SIMULATED_PRODUCTS, type SimulatedProduct, type SimulatedScan, simulateScan } from './fields.ts';
import { writeGrib2 } from './grib2-writer.ts';
import { uniformOf } from './random.ts';
import { coverageOf } from './storm-core.ts';
import type { Scenario } from './weather.ts';

/** Hidden file that holds the scenario of a folder. */
const SCENARIO_FILE = '.scenario.json';
/** Version of the simulator. Raise it when the same seed would give other weather or other bytes. */
const SIMULATOR_VERSION = 4;

export const SCAN_INTERVAL_MS = 120_000;
/** Share of scans that never arrive. */
const MISSED = 0.01;
/** Largest deviation of a scan from its regular time, for that interval; less for a shorter one. */
const JITTER_S = 5;

/**
 * Times of the scans in [from_ms, to_ms), epoch milliseconds at whole seconds, in order.
 * About every `interval_ms`, 120 s as of the real radars, not aligned with the clock, 1 % missing. A function of the seed and
 * absolute time: the scans of two adjoining spans are the scans of the whole.
 */
export function scanTimes(seed: number, from_ms: number, to_ms: number, interval_ms = SCAN_INTERVAL_MS): number[] {
  const phase_ms = 1000 * Math.floor((interval_ms / 1000) * uniformOf(seed, 0x5ca, 0));
  const jitter_of_interval_s = (JITTER_S * interval_ms) / SCAN_INTERVAL_MS;
  const times: number[] = [];
  const first = Math.floor((from_ms - phase_ms) / interval_ms) - 1;
  for (let n = first; n * interval_ms + phase_ms - 1000 * jitter_of_interval_s < to_ms; n += 1) {
    const jitter_s = Math.round(jitter_of_interval_s * (2 * uniformOf(seed, 0x5ca, 1, n) - 1));
    const time_ms = n * interval_ms + phase_ms + 1000 * jitter_s;
    if (time_ms >= from_ms && time_ms < to_ms && uniformOf(seed, 0x5ca, 2, n) >= MISSED) times.push(time_ms);
  }
  return times;
}

interface EveningOptions {
  /** Scans in [from_ms, to_ms). */
  readonly from_ms: number;
  readonly to_ms: number;
  readonly out: string;
  /** Time between two scans, milliseconds; that of the real radars when left out. */
  readonly interval_ms?: number;
  readonly products?: readonly SimulatedProduct[];
}

/**
 * Writes the scans of an evening under `out`, in the layout of the public MRMS bucket, and yields after each scan.
 * Existing files stay: they are equal, because a folder belongs to one scenario. Throws Conflict for another scenario.
 */
export async function* writeScans(scenario: Scenario, options: EveningOptions) {
  const { from_ms, to_ms, out, products = SIMULATED_PRODUCTS } = options;
  await claimFolder(scenario, out);
  const times = scanTimes(scenario.seed, from_ms, to_ms, options.interval_ms);
  for (const [i, scan_time] of times.entries()) {
    let scan: SimulatedScan | undefined;
    for (const product of products) {
      const path = join(out, bucketPath(product, scan_time));
      if (existsSync(path)) continue;
      scan ??= simulateScan(scenario, scan_time);
      await writeWhole(path, gzipSync(writeGrib2(scan, product, coverageOf(scenario)), { level: 1 }));
    }
    yield { number: i + 1, of: times.length };
  }
}

/** Writes the files of the other feeds at `to_ms`, which is also their modification time: the time of arrival. */
export async function writeFeeds(
  scenario: Scenario,
  { from_ms, to_ms, out }: Pick<EveningOptions, 'from_ms' | 'to_ms' | 'out'>,
): Promise<void> {
  const scan_times = scanTimes(scenario.seed, from_ms - MS_PER_DAY, to_ms).filter((time_ms) =>
    existsSync(join(out, bucketPath('MESH', time_ms))),
  );
  for (const { path, text } of feedFiles(scenario, from_ms, to_ms, scan_times))
    await writeWhole(join(out, path), text, to_ms);
}

/** Path of a file below the bucket's root. */
export function bucketPath(product: SimulatedProduct, scan_time: number): string {
  const [date, time] = new Date(scan_time).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').split('T');
  return `CONUS/${product}_00.50/${date}/MRMS_${product}_00.50_${date}-${time}.grib2.gz`;
}

/** Writes under a temporary name and renames, so that readers never see part of a file. Sets its modification time when given. */
async function writeWhole(path: string, content: Uint8Array | string, modified_ms?: number): Promise<void> {
  const draft = `${path}${DRAFT_SUFFIX}`;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(draft, content);
  if (modified_ms !== undefined) await utimes(draft, modified_ms / 1000, modified_ms / 1000);
  await rename(draft, path);
}

/** Names the scenario of a new folder. Throws Conflict when the folder has another one. */
async function claimFolder({ sites, ...weather }: Scenario, out: string): Promise<void> {
  const path = join(out, SCENARIO_FILE);
  const mine = JSON.stringify({ simulator: SIMULATOR_VERSION, ...weather, sites: sites.length });
  const known = await readIfPresent(path);
  if (known === null) return writeWhole(path, mine);
  if (known !== mine)
    throw new Conflict('simulate', out, `holds the weather ${known}, expected ${mine}; choose another folder`);
}
