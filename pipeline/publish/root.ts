import { randomBytes } from 'node:crypto';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import type { CollectionName } from '../../schemas/collections.ts';
import { newId } from '../../schemas/ids.ts';
import { foreignFolders, layout } from '../../schemas/layout.ts';
import { MANIFEST_VERSION, type RootName } from '../../schemas/manifest.ts';

import type { MixedProvenance } from '../../schemas/provenance.ts';
import type { DayMax } from '../../schemas/tables/day-max.ts';
import { scanId, timestamp } from '../../schemas/time.ts';
import { type Engine, openEngine } from '../duckdb.ts';
import { DiskRefusal, isDiskRefusal, PipelineError } from '../error.ts';
import { deviceOf, readIfPresent, replaceFile } from '../files.ts';
import { finishHeads, type StagedFile } from './commit.ts';
import {
  clearDate,
  commitScans,
  type DateCommit,
  deriveDate,
  expireReflectivity,
  publishFiles,
} from './commit-dates.ts';
import { compactDay, compactHours, compactMonth } from './compact.ts';
import { openLiveWindow } from './live-window.ts';
import { type Lock, takeLock } from './lock.ts';
import { readCurrent } from './manifests.ts';
import { newestScan, openPublishedDates, type PublishedDates } from './published-dates.ts';
import { moveCurrentPointer, type Publisher } from './publisher.ts';
import { type ScanProducts, type Segment, stageSegment } from './segment.ts';
import { clearStaging, openSweep, type SweepRoot } from './sweep.ts';
import { type PublishedUndated, publishUndated, type UndatedSegment } from './undated.ts';

/** A data root that is locked and open for writing. */
export interface Root {
  readonly path: string;
  readonly engine: Engine;
  readonly storm_day_start_hour: number;
  /** Folder for files that are being written; emptied when the root is closed. */
  readonly staging: string;
  /** Heads of the published storm dates. */
  readonly heads: PublishedDates['heads'];
  /** The newest manifest of a storm date; null when nothing was published for it. */
  readonly manifest: PublishedDates['manifest'];
  readonly stage: (products: readonly ScanProducts[], dayMax: readonly DayMax[], state: Uint8Array) => Promise<Segment>;
  /** Publishes dates together: readers see all of it or none of it. `fresh`: scans whose rows are in memory. */
  readonly commit: (dates: readonly DateCommit[], fresh: readonly ScanProducts[], now_ms: number) => Promise<void>;
  /** Publishes files that belong to no scan of a date, in place of segments; without files those segments are removed. */
  readonly publishFiles: (
    storm_date: string,
    provenance: MixedProvenance,
    drop_segments: readonly string[],
    files: readonly StagedFile[],
    closed: boolean,
    now_ms: number,
  ) => Promise<void>;
  /** Draws tiers, the event day and the daily archive of a date again. */
  readonly derive: (storm_date: string, now_ms: number) => Promise<void>;
  /** Joins the segments of finished hours. Returns how many hours were joined. */
  readonly compactHours: (storm_date: string, now_ms: number) => Promise<number>;
  /** Turns a finished date into day files; false when it is closed already. */
  readonly compactDay: (storm_date: string, now_ms: number) => Promise<boolean>;
  /** Joins the closed dates of a month; false when fewer than `least` (default 1) closed or changed since. */
  readonly compactMonth: (month: string, now_ms: number, least?: number) => Promise<boolean>;
  /** Publishes segments of the static tables or of a collection, in place of those of the same names. */
  readonly publishUndated: (
    name: 'static' | CollectionName,
    segments: readonly UndatedSegment[],
    now_ms: number,
  ) => Promise<PublishedUndated>;
  /** Removes everything from the manifest of a date, so that data of the other provenance can replace it. */
  readonly clear: (storm_date: string, now_ms: number) => Promise<void>;
  /** Removes archives of reflectivity from the manifests whose scans are too old. Returns their count. */
  readonly expireReflectivity: (keep_hours: number, now_ms: number) => Promise<number>;
  /** Deletes files that no manifest names any more, and raw files past their retention time. `now_ms`: the machine's clock. */
  readonly sweep: SweepRoot;
  /** Throws RootLost when the root was moved away or its lock was deleted; call it before every write below the root. */
  readonly check: () => void;
  readonly close: () => Promise<void>;
}

/**
 * Opens a data root for writing: takes its lock, names it, empties the staging of runs that were killed, and finishes a
 * commit whose process was killed between its manifests and the current pointer. Throws Conflict naming the holder when the root is taken.
 */
export async function openRoot(
  path: string,
  command: string,
  storm_day_start_hour: number,
  now_ms: number,
): Promise<Root> {
  let lock: Lock | undefined;
  try {
    lock = takeLock(path, command, now_ms);
    const [foreign] = foreignFolders((folder) => deviceOf(join(path, folder)));
    if (foreign !== undefined) throw new PipelineError('publish', join(path, foreign.path), foreign.reason);
    await nameRoot(path, now_ms);
    await clearStaging(path);
    await finishHeads(path);
    const dates = await openPublishedDates(path, storm_day_start_hour);
    const staging = join(path, layout.staged(randomBytes(6).toString('hex')));
    await fs.mkdir(staging, { recursive: true });
    const engine = await openEngine(staging);
    const live = openLiveWindow(engine, path, staging, dates);
    const sweep = await openSweep(path, dates.heads);
    const publisher = { path, staging, storm_day_start_hour, lock, engine, dates, live };
    await finishInterrupted(publisher, now_ms);
    return rootOf(publisher, sweep);
  } catch (error) {
    lock?.release();
    throw explainDisk(path, error);
  }
}

function rootOf(publisher: Publisher, sweep: SweepRoot): Root {
  const { path, engine, staging, dates, lock, storm_day_start_hour } = publisher;
  /** Checks the lock before an operation, and again when it fails: a lost root is then the reason of the failure. */
  const guarded =
    <Order extends unknown[], Result>(operation: (publisher: Publisher, ...order: Order) => Promise<Result>) =>
    async (...order: Order): Promise<Result> => {
      try {
        lock.check();
        return await operation(publisher, ...order);
      } catch (error) {
        lock.check();
        throw explainDisk(path, error);
      }
    };
  return {
    path,
    engine,
    storm_day_start_hour,
    staging,
    heads: dates.heads,
    manifest: dates.manifest,
    check: lock.check,
    stage: guarded((_, ...content) => stageSegment(engine, staging, ...content)),
    commit: guarded(commitScans),
    publishFiles: guarded(publishFiles),
    derive: guarded(deriveDate),
    compactHours: guarded(compactHours),
    compactDay: guarded(compactDay),
    compactMonth: guarded(compactMonth),
    publishUndated: guarded(publishUndated),
    clear: guarded(clearDate),
    expireReflectivity: guarded(expireReflectivity),
    sweep: guarded((_, ...order) => sweep(...order)),
    close: async () => {
      try {
        engine.close();
        await fs.rm(staging, { recursive: true, force: true });
      } finally {
        lock.release();
      }
    },
  };
}

/** Gives a data root its name, once: by it readers distinguish a root that vanished from one that was never written. */
async function nameRoot(path: string, now_ms: number): Promise<void> {
  const file = join(path, layout.root);
  if ((await readIfPresent(file)) !== null) return;
  const name: RootName = {
    manifest_version: MANIFEST_VERSION,
    root_id: newId('root', now_ms),
    created_at: timestamp(now_ms),
  };
  await replaceFile(file, `${JSON.stringify(name)}\n`);
}

/** Moves the current pointer when a process was killed after it had moved a head. */
async function finishInterrupted(publisher: Publisher, now_ms: number): Promise<void> {
  const { path, dates } = publisher;
  const current = await readCurrent(path);
  const newest_ms = newestScan(dates.heads.values());
  if (newest_ms === null) return;
  const open = [...dates.heads.values()].filter((head) => !head.closed);
  const pinned = current?.open_dates ?? {};
  const agrees =
    current?.scan_id === scanId(newest_ms) &&
    open.length === Object.keys(pinned).length &&
    open.every((head) => pinned[head.partition] === head.commit);
  if (!agrees) await moveCurrentPointer(publisher, now_ms, [], true);
}

function explainDisk(path: string, error: unknown): unknown {
  if (isDiskRefusal(error) && !(error instanceof DiskRefusal)) return new DiskRefusal('publish', path, error);
  // Files are published by rename, which readers see whole or not at all; a copy between file systems is not atomic.
  if (error instanceof Error && 'code' in error && error.code === 'EXDEV')
    return new PipelineError('publish', path, 'lies on several file systems (EXDEV), expected all of it on one', {
      cause: error,
    });
  return error;
}
