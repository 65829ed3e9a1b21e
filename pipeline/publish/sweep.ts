import type { Dirent } from 'node:fs';
import fs from 'node:fs/promises';
import { join } from 'node:path';
import {
  DeletionClock,
  dueForDeletion,
  lookAtClock,
  markForDeletion,
  vouchedTime,
} from '../../schemas/deletion-clock.ts';
import { layout } from '../../schemas/layout.ts';
import { namesIn, orNull, readIfPresent, replaceFile } from '../files.ts';
import { readCurrent, readManifest, readNewest } from './manifests.ts';
import { type DateHead, newestScan } from './published-dates.ts';
import { type Swept, sweepRaw } from './sweep-raw.ts';

/** Longest request plus longest job, minutes: a reader may use a manifest for this long after it was replaced. */
export const READERS_GRACE_MIN = 120;

/** Key of the raw files among the marks of the deletion clock. */
const RAW_FILES = 'raw files';

/** Deletes from a data root; `now_ms` is the machine's clock. */
export type SweepRoot = (now_ms: number, raw_keep_days: number | null) => Promise<Swept>;

/**
 * The sweep of a data root by its deletion clock: deletes files that no manifest in use names, and a share of the raw files that
 * have expired and were marked a day ago; `raw_keep_days` null never deletes raw files.
 */
export async function openSweep(dataRoot: string, heads: ReadonlyMap<string, DateHead>): Promise<SweepRoot> {
  const newest_own_ms = await lastPublished(dataRoot);
  let last_sweep_ms = performance.now();
  return async (now_ms, raw_keep_days) => {
    const monotonic_ms = performance.now();
    const observed = [...heads.values()].filter(({ provenance }) => provenance === 'observed');
    const clock = lookAtClock(await readClock(dataRoot), {
      wall_ms: now_ms,
      run_ms: monotonic_ms - last_sweep_ms,
      newest_own_ms,
      newest_scan_ms: newestScan(observed),
    });
    last_sweep_ms = monotonic_ms;
    const swept = await sweep(dataRoot, vouchedTime(clock));
    if (raw_keep_days === null) {
      await writeClock(dataRoot, clock);
      return swept;
    }
    const due = dueForDeletion(clock, RAW_FILES);
    // Written before the deletion: a process that is killed during it must not lose the time that has passed.
    await writeClock(dataRoot, due.clock);
    if (due.until_ms === null) return swept;
    const raw = await sweepRaw(dataRoot, heads, raw_keep_days, due.until_ms);
    if (raw.is_done) await writeClock(dataRoot, markForDeletion(due.clock, RAW_FILES));
    return { files: swept.files + raw.files, bytes: swept.bytes + raw.bytes };
  };
}

/** Time of the last commit to a data root by the clock of its machine, epoch milliseconds; null: none. */
async function lastPublished(dataRoot: string): Promise<number | null> {
  return (await orNull(() => fs.stat(join(dataRoot, layout.current))))?.mtimeMs ?? null;
}

/** The clock as the last sweep left it; null where none can be read: a new one deletes nothing for a day. */
async function readClock(dataRoot: string): Promise<DeletionClock | null> {
  const text = await readIfPresent(join(dataRoot, layout.deletions));
  if (text === null) return null;
  try {
    return DeletionClock.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

async function writeClock(dataRoot: string, clock: DeletionClock): Promise<void> {
  await replaceFile(join(dataRoot, layout.deletions), `${JSON.stringify(clock)}\n`);
}

/**
 * Deletes data files, manifests and live files that no manifest in use names and that are older than the grace.
 * A manifest is in use while it is the newest of its partition, pinned by the current pointer, or replaced less than the grace ago.
 * The sweep keeps the files of a catalogue until it removes the folder.
 * Works partition by partition, so that a year of manifests takes no more memory than a date.
 */
export async function sweep(dataRoot: string, now_ms: number): Promise<Swept> {
  const oldest_ms = now_ms - READERS_GRACE_MIN * 60_000;
  const current = await readCurrent(dataRoot);
  const live = Object.values(current?.live ?? {}).map(String);
  const catalogued = await cataloguedPaths(dataRoot);
  let swept: Swept = { files: 0, bytes: 0 };
  for (const [partition, folders] of await foldersByPartition(dataRoot)) {
    const listed = await pathsInUse(dataRoot, partition, current?.open_dates[partition] ?? null, oldest_ms);
    const wanted = new Set([...listed, ...live, layout.head(partition)]);
    for (const folder of folders) {
      for (const path of await filesIn(dataRoot, folder)) {
        if (wanted.has(path) || catalogued.has(path)) continue;
        const facts = await fs.stat(join(dataRoot, path));
        if (facts.mtimeMs >= oldest_ms) continue;
        await fs.rm(join(dataRoot, path));
        swept = { files: swept.files + 1, bytes: swept.bytes + facts.size };
      }
    }
  }
  return swept;
}

/** Paths that the catalogues of a root name. */
async function cataloguedPaths(dataRoot: string): Promise<ReadonlySet<string>> {
  const paths = new Set<string>();
  for (const name of await namesIn(join(dataRoot, layout.catalogues))) {
    const list = await readIfPresent(join(dataRoot, layout.catalogue(name), layout.catalogueFiles));
    for (const path of list?.split('\n') ?? []) paths.add(path);
  }
  return paths;
}

/** Folders of published files by the partition whose manifests may name their files. */
async function foldersByPartition(dataRoot: string): Promise<Map<string, string[]>> {
  const folders: string[] = [];
  for (const top of [layout.tables, layout.tiles, layout.state, layout.live, layout.manifests])
    folders.push(...(await foldersBelow(dataRoot, top)));
  return Map.groupBy(folders, partitionOf);
}

/** Partition whose manifests may name files of a folder; static tables and live files belong to no date. */
function partitionOf(folder: string): string {
  const [, key, value = ''] = /\/(date|month|collection)=([^/]+)$/.exec(folder) ?? [];
  if (key === 'date') return value;
  if (key !== undefined) return key === 'month' ? layout.monthPartition(value) : layout.collectionPartition(value);
  const manifests = `${layout.manifests}/`;
  return folder.startsWith(manifests) ? folder.slice(manifests.length) : layout.staticPartition;
}

/** Paths of the manifests of a partition that are in use, and of the files that they name. */
async function pathsInUse(
  dataRoot: string,
  partition: string,
  pinned: number | null,
  oldest_ms: number,
): Promise<string[]> {
  const head = await readNewest(dataRoot, partition);
  const paths = (head?.files ?? []).map((file) => file.path);
  for (const commit of await manifestsInUse(dataRoot, partition, head?.commit ?? 0, pinned, oldest_ms)) {
    paths.push(layout.manifest(partition, commit));
    const manifest = commit === head?.commit ? null : await readManifest(dataRoot, partition, commit);
    for (const file of manifest?.files ?? []) paths.push(file.path);
  }
  return paths;
}

/** A folder of the root and all folders below it. */
async function foldersBelow(dataRoot: string, folder: string): Promise<string[]> {
  const folders = [folder];
  for (const entry of await entriesOf(dataRoot, folder))
    if (entry.isDirectory()) folders.push(...(await foldersBelow(dataRoot, `${folder}/${entry.name}`)));
  return folders;
}

async function filesIn(dataRoot: string, folder: string): Promise<string[]> {
  return (await entriesOf(dataRoot, folder))
    .filter((entry) => entry.isFile())
    .map((entry) => `${folder}/${entry.name}`)
    .sort();
}

async function entriesOf(dataRoot: string, folder: string): Promise<Dirent[]> {
  return (await orNull(() => fs.readdir(join(dataRoot, folder), { withFileTypes: true }))) ?? [];
}

/** Deletes the staging folders of runs that died; only the holder of the lock may call it. */
export async function clearStaging(dataRoot: string): Promise<void> {
  const runs = await namesIn(join(dataRoot, layout.staging));
  await Promise.all(runs.map((run) => fs.rm(join(dataRoot, layout.staged(run)), { recursive: true, force: true })));
}

async function manifestsInUse(
  dataRoot: string,
  partition: string,
  newest: number,
  pinned: number | null,
  oldest_ms: number,
): Promise<number[]> {
  // A higher number than the newest was left by a process killed before it moved the head; no reader has seen it.
  const commits = (await namesIn(join(dataRoot, layout.manifestFolder(partition))))
    .filter((name) => /^\d{6,}\.json$/.test(name))
    .map((name) => Number.parseInt(name, 10))
    .filter((commit) => commit <= newest)
    .sort((a, b) => a - b);
  const inUse: number[] = [];
  for (const [index, commit] of commits.entries()) {
    const successor = commits[index + 1];
    const replaced_ms = async () => (await fs.stat(join(dataRoot, layout.manifest(partition, successor)))).mtimeMs;
    if (successor === undefined || commit === pinned || (await replaced_ms()) >= oldest_ms) inUse.push(commit);
  }
  return inUse;
}
