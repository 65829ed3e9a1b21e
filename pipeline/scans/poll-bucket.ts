import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import { addDays, MS_PER_HOUR, scanId, scanTime, utcDate } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { isTransient } from '../error.ts';
import type { Log } from '../log.ts';
import type { Root } from '../publish/root.ts';
import { newestScan } from '../publish/root.ts';
import { listArchive, readRejections, withoutKnown } from '../sources/archive.ts';
import { downloadAll, listBucket } from '../sources/bucket.ts';
import { listFolder } from '../sources/folder.ts';
import { pause, Unavailable } from '../sources/http.ts';
import type { Arrival } from '../sources/inbox.ts';
import type { SourceFile } from '../sources/names.ts';

/** The first poll of an empty root covers this span; after a pause a poll begins at the newest scan, at most a day ago. */
const FIRST_SPAN_MS = 30 * 60_000;
const LONGEST_SPAN_MS = 24 * 60 * 60_000;
/** Files may appear in the bucket this much later than newer ones. */
const LATE_FILES_MS = 10 * 60_000;

export interface BucketPoll {
  readonly products: readonly string[];
  /** Returns the data root that was opened last. */
  readonly opened: () => Root;
  readonly log: Log;
  /** Time between two polls, milliseconds. */
  readonly every_ms: number;
  readonly signal: AbortSignal;
}

/** Arrivals in the public bucket, fetched into the inbox. */
export async function* pollBucket(config: Config, poll: BucketPoll): AsyncGenerator<Arrival, void, undefined> {
  const { products, opened, log, every_ms, signal } = poll;
  const folder = join(opened().path, layout.inbox('noaa'));
  let left: readonly SourceFile[] | null = null;
  let polls = 0;
  while (!signal.aborted) {
    try {
      const root = opened();
      root.check();
      await mkdir(folder, { recursive: true });
      // Files that a killed run had fetched or archived without publishing them come first.
      if (left === null) {
        const archived = await archivedSince(root, listedFrom(config.now(), root));
        left = [...(await listFolder(folder)).files, ...archived];
        if (left.length > 0) yield { files: left, unknown: [], unreadable: [] };
      }
      const now_ms = config.now();
      // New scans come first, in the first poll; what a late file may make again comes with the second one.
      const from_ms = polls === 1 ? await hourFrom(listedFrom(now_ms, root), root) : listedFrom(now_ms, root);
      const listing = await listBucket({
        base_url: config.mrms_url,
        products,
        from_ms,
        to_ms: now_ms,
        network: { signal },
      });
      const wanted = withoutKnown(
        listing.files,
        await archivedSince(root, from_ms),
        (await readRejections(root.path, 'observed', listing.files)).filter(
          ({ other_kind }) =>
            other_kind === undefined || root.heads.get(other_kind.storm_date)?.source === other_kind.source,
        ),
      );
      root.check();
      const { files, failed } = await downloadAll({ files: wanted, folder, network: { signal } });
      for (const { file, error } of failed) log.warn('File:Fetch:Failed', { file: file.key, reason: error.message });
      polls += 1;
      if (files.length > 0) yield { files, unknown: [], unreadable: [] };
    } catch (error) {
      if (signal.aborted) return;
      // The next poll may reach the bucket again, and a full disk may have room: both are logged, and polling goes on.
      if (error instanceof Unavailable) log.warn('Bucket:List:Failed', { reason: error.message });
      else if (isTransient(error)) log.warn('File:Fetch:Failed', { reason: error.message });
      else throw error;
    }
    await pause(every_ms, signal);
  }
}

/** Observation time from which the bucket is listed. */
function listedFrom(now_ms: number, root: Root): number {
  const observed = [...root.heads.values()].filter((head) => head.source === 'observed');
  const newest_ms = newestScan(observed);
  if (newest_ms === null) return now_ms - FIRST_SPAN_MS;
  return Math.max(now_ms - LONGEST_SPAN_MS, Math.min(newest_ms, now_ms) - LATE_FILES_MS);
}

/**
 * Time of the first published scan of the hour of an instant, and no later than it. The scans of an hour are joined, so that a late file
 * for one of them makes all of them again: their raw files must be in the archive, also where another process has published them.
 */
async function hourFrom(time_ms: number, root: Root): Promise<number> {
  const hour = scanId(Math.floor(time_ms / MS_PER_HOUR) * MS_PER_HOUR);
  const last = scanId(time_ms);
  let first = last;
  for (const { partition, scans, source } of root.heads.values()) {
    const manifest = source === 'observed' && (scans.last ?? '') >= hour ? await root.manifest(partition) : null;
    const scan = manifest?.scans.find(({ scan_id }) => scan_id >= hour);
    if (scan !== undefined && scan.scan_id < first) first = scan.scan_id;
  }
  return first === last ? time_ms : scanTime(first);
}

async function archivedSince(root: Root, from_ms: number): Promise<SourceFile[]> {
  const dates = [addDays(utcDate(from_ms), -1), utcDate(from_ms), addDays(utcDate(from_ms), 1)];
  return listArchive(root.path, 'observed', dates);
}
