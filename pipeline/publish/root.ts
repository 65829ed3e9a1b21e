import { randomBytes } from 'node:crypto';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { foreignFolders, layout } from '../../schemas/layout.ts';
import type { DayMax } from '../../schemas/tables/radar.ts';
import { type Engine, openEngine } from '../duckdb.ts';
import { DiskRefusal, isDiskRefusal, PipelineError } from '../error.ts';
import { deviceOf } from '../files.ts';
import { type Log, silent } from '../log.ts';
import { adoptDate } from './adopt.ts';
import { finishCurrent, finishHeads, type Publisher } from './commit.ts';
import { clearDate, commitScans, deriveDate, expireReflectivity, publishFiles } from './commit-dates.ts';
import { compactDay, compactHours, compactMonth } from './compact.ts';
import { openLiveWindow, openSnapshots } from './live.ts';
import { type Lock, takeLock } from './lock.ts';
import { nameRoot, readRootName } from './manifests.ts';
import { openPublishedDates, type PublishedDates } from './published-dates.ts';
import { type ScanProducts, type Segment, stageSegment } from './segment.ts';
import { clearStaging, openSweep, type SweepRoot } from './sweep.ts';
import { publishTogether, publishUndated } from './undated.ts';

/** An operation on an open root; the lock is checked before it. */
type Operation<Work> = Work extends (publisher: Publisher, ...order: infer Order) => infer Result
  ? (...order: Order) => Result
  : never;

/** A data root that is locked and open for writing. */
export interface Root {
  readonly path: string;
  readonly engine: Engine;
  readonly storm_day_start_hour: number;
  /** Folder for files that are being written; emptied when the root is closed. */
  readonly staging: string;
  /** Heads of the published storm dates. */
  readonly heads: PublishedDates['heads'];
  readonly manifest: PublishedDates['manifest'];
  readonly stage: (products: readonly ScanProducts[], dayMax: readonly DayMax[], state: Uint8Array) => Promise<Segment>;
  readonly commit: Operation<typeof commitScans>;
  readonly publishFiles: Operation<typeof publishFiles>;
  readonly derive: Operation<typeof deriveDate>;
  readonly compactHours: Operation<typeof compactHours>;
  readonly compactDay: Operation<typeof compactDay>;
  readonly compactMonth: Operation<typeof compactMonth>;
  readonly publishUndated: Operation<typeof publishUndated>;
  readonly publishTogether: Operation<typeof publishTogether>;
  readonly clear: Operation<typeof clearDate>;
  readonly expireReflectivity: Operation<typeof expireReflectivity>;
  readonly adoptDate: Operation<typeof adoptDate>;
  /** Deletes files that no manifest names any more, and raw files past their retention time. `now_ms`: the machine's clock. */
  readonly sweep: SweepRoot;
  /** Throws RootLost when the root was moved away or its lock was deleted; call it before every write below the root. */
  readonly check: () => void;
  readonly close: () => Promise<void>;
}

/** Choices of the process that opens a data root. */
export interface RootSettings {
  readonly log?: Log;
}

/**
 * Opens a data root for writing: takes its lock, names it, empties the staging of runs that were killed, and finishes a
 * commit whose process was killed between its manifests and the current pointer. Throws Conflict naming the holder when the root is taken,
 * and before anything is written when this release cannot read its data format.
 */
export async function openRoot(
  path: string,
  command: string,
  storm_day_start_hour: number,
  now_ms: number,
  { log = silent }: RootSettings = {},
): Promise<Root> {
  await readRootName(path);
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
    const stageLive = openLiveWindow(engine, path, staging, dates);
    const sweep = await openSweep(path, dates.heads);
    const publisher = {
      path,
      staging,
      storm_day_start_hour,
      lock,
      engine,
      dates,
      stageLive,
      retireSnapshots: openSnapshots(path),
      log,
    };
    await finishCurrent(publisher, now_ms);
    return rootOf(publisher, sweep);
  } catch (error) {
    lock?.release();
    throw explainDisk(path, error);
  }
}

function rootOf(publisher: Publisher, sweep: SweepRoot): Root {
  const { path, engine, staging, dates, lock, storm_day_start_hour } = publisher;
  /**
   * Checks the lock before an operation, and again when it fails: a lost root is then the reason of the failure.
   */
  const guarded =
    <Order extends unknown[], Result>(operation: (publisher: Publisher, ...order: Order) => Promise<Result>) =>
    async (...order: Order): Promise<Result> => {
      try {
        lock.check();
        const result = await operation(publisher, ...order);
        lock.check();
        return result;
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
    publishTogether: guarded(publishTogether),
    clear: guarded(clearDate),
    expireReflectivity: guarded(expireReflectivity),
    adoptDate: guarded(adoptDate),
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

function explainDisk(path: string, error: unknown): unknown {
  if (isDiskRefusal(error) && !(error instanceof DiskRefusal)) return new DiskRefusal('publish', path, error);
  // Files are published by rename, which readers see whole or not at all; a copy between file systems is not atomic.
  if (!(error instanceof Error && 'code' in error && error.code === 'EXDEV')) return error;
  const reason = 'lies on several file systems (EXDEV), expected all of it on one';
  return new PipelineError('publish', path, reason, { cause: error });
}
