import { randomBytes } from 'node:crypto';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import { foreignFolders, layout } from '../../schemas/layout.ts';
import { openEngine } from '../duckdb.ts';
import { DiskRefusal, isDiskRefusal, PipelineError } from '../error.ts';
import { deviceOf, namesIn, orNull } from '../files.ts';
import { type Log, silent } from '../log.ts';
import { finishCurrent, finishHeads } from './commit.ts';
import { type Lock, takeLock } from './lock.ts';
import { nameRoot, readRootName } from './manifests.ts';
import { openPublished, type Root } from './root.ts';

/**
 * Opens a data root for writing: takes its lock, names it, empties the staging of runs that were killed, and finishes a
 * commit whose process was killed between its manifests and `current.json`. Throws Conflict naming the holder when the root is
 * taken, and before anything is written when this release cannot read its data format.
 */
export async function openRoot(
  path: string,
  command: string,
  storm_day_start_hour: number,
  now_ms: number,
  log: Log = silent,
): Promise<Root> {
  await readRootName(path);
  let lock: Lock | undefined;
  try {
    lock = takeLock(path, command, now_ms);
    const { check, release } = lock;
    const [foreign] = foreignFolders((folder) => deviceOf(join(path, folder)));
    if (foreign !== undefined) throw new PipelineError('publish', join(path, foreign.path), foreign.reason);
    await nameRoot(path, now_ms);
    for (const run of await namesIn(join(path, layout.staging)))
      await fs.rm(join(path, layout.staged(run)), { recursive: true, force: true });
    await finishHeads(path);
    const published = await openPublished(path, storm_day_start_hour);
    const last_commit_ms = (await orNull(() => fs.stat(join(path, layout.current))))?.mtimeMs ?? null;
    const staging = join(path, layout.staged(randomBytes(6).toString('hex')));
    await fs.mkdir(staging, { recursive: true });
    const engine = await openEngine(staging);
    const close = async () => {
      try {
        engine.close();
        await fs.rm(staging, { recursive: true, force: true });
      } finally {
        release();
      }
    };
    const root: Root = {
      ...published,
      path,
      staging,
      storm_day_start_hour,
      engine,
      log,
      live: { scans: [], snapshots: [] },
      sweeps: { last_commit_ms, last_ms: performance.now() },
      check,
      close,
    };
    await finishCurrent(root, now_ms);
    return root;
  } catch (error) {
    lock?.release();
    throw explainDisk(path, error);
  }
}

/** The reason of a failure on an open root. Throws RootLost when the root is lost, whatever failed because of it. */
export function explainFailure({ path, check }: Root, error: unknown): unknown {
  check();
  return explainDisk(path, error);
}

function explainDisk(path: string, error: unknown): unknown {
  if (isDiskRefusal(error) && !(error instanceof DiskRefusal)) return new DiskRefusal('publish', path, error);
  // Files are published by rename, which readers see whole or not at all; a copy between file systems is not atomic.
  if (!(error instanceof Error && 'code' in error && error.code === 'EXDEV')) return error;
  const reason = 'lies on several file systems (EXDEV), expected all of it on one';
  return new PipelineError('publish', path, reason, { cause: error });
}
