import { type Head, headOf } from '../../schemas/head.ts';
import type { Manifest } from '../../schemas/manifest.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';
import { scanTime } from '../../schemas/time.ts';
import { PipelineError } from '../error.ts';
import { listPartitions, readHead, readManifestOf } from './manifests.ts';

/** The part of a published storm date that is held in memory; its size does not grow with the scans. */
export interface DateHead extends Readonly<Pick<Head, 'partition' | 'commit' | 'closed' | 'table_commits'>> {
  readonly provenance: MixedProvenance;
  readonly scan_count: number;
  /** Newest scan of the date; null without scans. */
  readonly last_scan: string | null;
  /** Files of tables. */
  readonly table_files: number;
  /** Archives of reflectivity. */
  readonly reflectivity_archives: number;
}

/** The published storm dates: their heads in memory, their manifests on the disk. */
export interface PublishedDates {
  readonly heads: ReadonlyMap<string, DateHead>;
  /** The newest manifest of a date; null when nothing was published for it. */
  readonly manifest: (storm_date: string) => Promise<Manifest | null>;
  /** Replaces the head of a date by that of a manifest that was just published. */
  readonly update: (manifest: Manifest) => void;
}

/** Manifests in memory, most recently used: a scan needs its own date and its neighbours. One of 720 scans takes 1 to 2 MB. */
const CACHED_MANIFESTS = 3;

/** Reads the heads of all storm dates. Throws when one was published with another start of the storm day. */
export async function openPublishedDates(dataRoot: string, storm_day_start_hour: number): Promise<PublishedDates> {
  const heads = new Map<string, DateHead>();
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
    heads.set(date, dateHead(head));
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
    manifest: async (storm_date) => {
      const head = heads.get(storm_date);
      return head === undefined ? null : memoize(cache.get(storm_date) ?? (await readManifestOf(dataRoot, head)));
    },
    update: (manifest) => {
      heads.set(manifest.partition, dateHead(headOf(manifest)));
      memoize(manifest);
    },
  };
}

/** Observation time of the newest scan of some dates, epoch milliseconds; null when they hold none. */
export function newestScan(heads: Iterable<Pick<DateHead, 'last_scan'>>): number | null {
  let newest: string | null = null;
  for (const { last_scan } of heads)
    if (last_scan !== null && (newest === null || last_scan > newest)) newest = last_scan;
  return newest === null ? null : scanTime(newest);
}

function dateHead({ partition, commit, source, closed, table_commits, scans, files, ...head }: Head): DateHead {
  const of_scans = { scan_count: scans.count, last_scan: scans.last };
  const of_files = { table_files: files.length, reflectivity_archives: head.reflectivity_archives ?? 0 };
  return { partition, commit, provenance: source, closed, table_commits, ...of_scans, ...of_files };
}
