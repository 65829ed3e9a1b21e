import fs from 'node:fs/promises';
import { join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import { namesIn } from '../files.ts';

/** Live snapshots that stay for readers who are behind: two hours of them at a scan every two minutes. */
export const KEPT_SNAPSHOTS = 60;
/** Time for which a replaced snapshot stays however many came after it, so that a reader has it open by then. */
export const KEPT_MS = 60_000;

interface Snapshot {
  readonly paths: readonly string[];
  /** By the clock of the process, which never steps. */
  readonly published_ms: number;
}

/** To be told the paths of each live snapshot, once readers are pointed to it. */
export type RetireSnapshots = (paths: readonly string[]) => Promise<void>;

/**
 * Deletes live snapshots that are behind by more than the kept ones. Every snapshot holds the whole window, so that scans in quick
 * succession would fill a disk before the next sweep. What cannot be deleted is left to the sweep.
 */
export function openSnapshots(dataRoot: string, monotonic_ms = () => performance.now()): RetireSnapshots {
  /** Oldest first; null: not listed yet. */
  let kept: readonly Snapshot[] | null = null;
  return async (paths) => {
    const published_ms = monotonic_ms();
    kept ??= (await snapshotsIn(dataRoot, new Set(paths))).map((left) => ({ paths: left, published_ms }));
    const all: readonly Snapshot[] = [...kept, { paths, published_ms }];
    // A snapshot is replaced when the one after it is published.
    const remaining = all.filter(
      (_, index) =>
        index >= all.length - KEPT_SNAPSHOTS || published_ms - (all[index + 1]?.published_ms ?? published_ms) < KEPT_MS,
    );
    kept = remaining;
    // Equal content has an equal path: the snapshot of a scan that was made again may be a kept one as well.
    const wanted = new Set(remaining.flatMap((snapshot) => snapshot.paths));
    const old = all.slice(0, all.length - remaining.length).flatMap((snapshot) => snapshot.paths);
    await Promise.allSettled(old.filter((path) => !wanted.has(path)).map((path) => fs.rm(join(dataRoot, path))));
  };
}

/** Paths of the snapshots that earlier processes left, but for those of a new one, by the time of their newest scan. */
async function snapshotsIn(dataRoot: string, fresh: ReadonlySet<string>): Promise<string[][]> {
  const paths = (await namesIn(join(dataRoot, layout.live))).map((name) => `${layout.live}/${name}`).sort();
  // The tables of one snapshot begin with the same scan; two of one scan may count as one.
  const scanOf = (path: string) => path.split('-', 1)[0] ?? path;
  return [
    ...Map.groupBy(
      paths.filter((path) => !fresh.has(path)),
      scanOf,
    ).values(),
  ];
}
