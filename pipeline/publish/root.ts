import type { RecordBatch } from 'apache-arrow';
import { type Head, headOf } from '../../schemas/head.ts';
import type { Manifest } from '../../schemas/manifest.ts';
import { isCalendarDate, scanTime } from '../../schemas/time.ts';
import type { Engine } from '../duckdb.ts';
import { PipelineError } from '../error.ts';
import type { Log } from '../log.ts';
import { listPartitions, readHead, readManifestOf, readNewest } from './manifests.ts';

/** A data root that is locked and open for writing. */
export interface Root extends Published {
  readonly path: string;
  /** Folder for files that are being written; emptied when the root is closed. */
  readonly staging: string;
  readonly storm_day_start_hour: number;
  readonly engine: Engine;
  readonly log: Log;
  readonly live: LiveWindow;
  readonly sweeps: Sweeps;
  /** Throws RootLost when the root was moved away or its lock was deleted; call it before every write below the root. */
  readonly check: () => void;
  readonly close: () => Promise<void>;
}

/** The live window in memory, from one commit to the next. */
interface LiveWindow {
  /** Scans of the newest snapshot, oldest first. */
  scans: readonly LiveScan[];
  /** Snapshots of this process that stay for readers, oldest first, by the clock of the process, which never steps. */
  snapshots: readonly { readonly paths: readonly string[]; readonly published_ms: number }[];
}

/** One scan of the live window, with its rows as Arrow record batches. */
export interface LiveScan {
  readonly scan_time: number;
  readonly batches: Readonly<Record<'detections' | 'cells' | 'tracks', RecordBatch>>;
}

/** Readings of this process for the deletion clock. */
interface Sweeps {
  /** Time of the last commit before this process by the clock of its machine, epoch milliseconds; null: none. */
  readonly last_commit_ms: number | null;
  /** Last sweep of this process, or its begin, by the monotonic clock, milliseconds. */
  last_ms: number;
}

/** The published storm dates: their heads in memory, their manifests on the disk. */
interface Published {
  readonly heads: ReadonlyMap<string, Head>;
  /** The newest manifest of a partition; null when nothing was published for it. */
  readonly manifest: (partition: string) => Promise<Manifest | null>;
  /** Replaces the head of a date by that of a manifest that was just published. */
  readonly update: (manifest: Manifest) => void;
}

/** Manifests of dates in memory, most recently used: a scan needs its own date and its neighbours. One of 720 scans takes 1 to 2 MB. */
const CACHED_MANIFESTS = 3;

/** Reads the heads of all storm dates. Throws when one was published with another start of the storm day. */
export async function openPublished(dataRoot: string, storm_day_start_hour: number): Promise<Published> {
  const heads = new Map<string, Head>();
  for (const date of (await listPartitions(dataRoot)).dates) {
    const head = await readHead(dataRoot, date);
    if (head === null) continue; // its first commit was killed before the head was moved
    const found = `was published with storm days that start at ${head.storm_day_start_hour} UTC`;
    if (head.storm_day_start_hour !== storm_day_start_hour)
      throw new PipelineError(
        'publish',
        date,
        `${found}, expected ${storm_day_start_hour} (HAIL_STORM_DAY_START_HOUR)`,
      );
    heads.set(date, head);
  }
  const cache = new Map<string, Manifest>();
  const memoize = (manifest: Manifest) => {
    cache.delete(manifest.partition);
    cache.set(manifest.partition, manifest);
    for (const oldest of [...cache.keys()].slice(0, -CACHED_MANIFESTS)) cache.delete(oldest);
    return manifest;
  };
  return {
    heads,
    manifest: async (partition) => {
      const head = heads.get(partition);
      if (head === undefined) return readNewest(dataRoot, partition);
      return memoize(cache.get(partition) ?? (await readManifestOf(dataRoot, head)));
    },
    update: (manifest) => {
      if (!isCalendarDate(manifest.partition)) return;
      heads.set(manifest.partition, headOf(manifest));
      memoize(manifest);
    },
  };
}

/** Observation time of the newest scan of some dates, epoch milliseconds; null when they hold none. */
export function newestScan(heads: Iterable<Head>): number | null {
  const newest = [...heads]
    .flatMap(({ scans }) => scans.last ?? [])
    .sort()
    .at(-1);
  return newest === undefined ? null : scanTime(newest);
}

/** The newest manifest of a storm date; throws when nothing is published for it. */
export async function publishedManifest(root: Pick<Root, 'manifest'>, storm_date: string): Promise<Manifest> {
  const manifest = await root.manifest(storm_date);
  if (manifest === null)
    throw new PipelineError('publish', storm_date, 'has no published scans, expected a date with some');
  return manifest;
}
