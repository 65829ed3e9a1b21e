import fs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { headOf } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import { Manifest } from '../../schemas/manifest.ts';
import { scanId } from '../../schemas/time.ts';
import type { Engine } from '../duckdb.ts';
import { PipelineError } from '../error.ts';
import { readIfPresent, replaceFile, sync } from '../files.ts';
import type { Log } from '../log.ts';
import { allOrFirstError } from '../sources/parallel.ts';
import { type Change, type Edit, nextManifest } from './edit.ts';
import type { RetireSnapshots, StageLive } from './live.ts';
import type { Lock } from './lock.ts';
import { readCurrent } from './manifests.ts';
import { newestScan, type PublishedDates } from './published-dates.ts';
import type { ScanProducts } from './segment.ts';

/*
 * The commit, top to bottom. Files were staged and read back before (`stage.ts`).
 *
 * 1. Sync every staged file, rename it to its final name, sync the folders.      killed: files that no manifest lists, swept later
 * 2. Write the numbered manifests, sync their folders.                           killed: the same
 * 3. Replace the heads. Several: `pending.json` names them meanwhile.            killed: `finishHeads` replaces the others
 * 4. Stage the live snapshot, place its files, replace `current.json`.           killed: `finishCurrent` does it
 *
 * The lock is checked before every step. Readers of closed dates follow the heads, readers of open dates `current.json`.
 */

/** An open data root, as the operations on it see it. */
export interface Publisher {
  readonly path: string;
  readonly staging: string;
  readonly storm_day_start_hour: number;
  readonly lock: Lock;
  readonly engine: Engine;
  readonly dates: PublishedDates;
  readonly stageLive: StageLive;
  readonly retireSnapshots: RetireSnapshots;
  readonly log: Log;
}

/** Commits edits of storm dates together, then brings the live snapshot up to date and moves `current.json`. */
export async function publishDates(
  publisher: Publisher,
  edits: readonly Edit[],
  now_ms: number,
  fresh: readonly ScanProducts[] = [],
  redone = false,
): Promise<void> {
  await commitDates(publisher, edits, now_ms);
  await moveCurrent(publisher, now_ms, fresh, redone);
}

/** Commits edits of storm dates together; readers of open dates do not see them before `current.json` moves. */
export async function commitDates(publisher: Publisher, edits: readonly Edit[], now_ms: number): Promise<void> {
  const { dates } = publisher;
  const changes: Change[] = [];
  for (const edit of edits) changes.push({ previous: await dates.manifest(edit.partition), edit });
  for (const manifest of await commitEdits(publisher.path, changes, now_ms, publisher.lock.check))
    dates.update(manifest);
}

/**
 * Steps 1 to 3 for edits of different partitions together. `check` throws when this process has lost the data root: a manifest
 * must not name files that were written to another root.
 */
export async function commitEdits(
  dataRoot: string,
  changes: readonly Change[],
  now_ms: number,
  check: () => void,
): Promise<Manifest[]> {
  const manifests = changes.map(({ previous, edit }) => nextManifest(previous, edit, now_ms));
  check();
  const added = changes.flatMap(({ edit }) => edit.add_files);
  const files = added.map(({ staged, entry }) => ({ staged, path: entry.path }));
  await placeFiles(dataRoot, files);
  check();
  const numbered = manifests.map(({ partition, commit }) => layout.manifest(partition, commit));
  for (const [index, path] of numbered.entries()) await replaceFile(join(dataRoot, path), jsonLine(manifests[index]));
  await syncFolders(dataRoot, numbered);
  check();
  const pending = join(dataRoot, layout.pending);
  if (manifests.length > 1) await replaceFile(pending, jsonLine(numbered));
  for (const manifest of manifests) await moveHead(dataRoot, manifest);
  if (manifests.length > 1) await fs.rm(pending);
  return manifests;
}

/** Step 4. After a redo all rows of the live snapshot are read again. */
export async function moveCurrent(
  { path, stageLive, retireSnapshots, lock }: Publisher,
  now_ms: number,
  fresh: readonly ScanProducts[] = [],
  redone = false,
): Promise<void> {
  const staged = await stageLive(fresh, now_ms, redone);
  if (staged === null) return;
  lock.check();
  await placeFiles(path, staged.files);
  await replaceFile(join(path, layout.current), `${JSON.stringify(staged.current, null, 2)}\n`);
  await retireSnapshots(staged.files.map((file) => file.path));
}

/** Replaces the heads that a killed process did not replace, so that partitions committed together stay consistent. */
export async function finishHeads(dataRoot: string): Promise<void> {
  const pending = join(dataRoot, layout.pending);
  const numbered = JSON.parse((await readIfPresent(pending)) ?? '[]') as string[];
  for (const path of numbered) {
    const manifest = Manifest.parse(JSON.parse(await fs.readFile(join(dataRoot, path), 'utf8')));
    await moveHead(dataRoot, manifest);
  }
  await fs.rm(pending, { force: true });
}

/** Replaces `current.json` when it does not agree with the heads: a process was killed after it had moved one. */
export async function finishCurrent(publisher: Publisher, now_ms: number): Promise<void> {
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
  if (!agrees) await moveCurrent(publisher, now_ms, [], true);
}

async function moveHead(dataRoot: string, manifest: Manifest): Promise<void> {
  await replaceFile(join(dataRoot, layout.head(manifest.partition)), jsonLine(headOf(manifest)));
}

function jsonLine(content: unknown): string {
  return `${JSON.stringify(content)}\n`;
}

/** Moves staged files to their final names, synced. */
export async function placeFiles(dataRoot: string, files: readonly { staged: string; path: string }[]): Promise<void> {
  const place = async ({ staged, path }: { staged: string; path: string }) => {
    const target = join(dataRoot, path);
    await sync(staged);
    await fs.mkdir(dirname(target), { recursive: true });
    await fs.rename(staged, target);
  };
  await allOrFirstError(files.map(place));
  const paths = files.map((file) => file.path);
  await syncFolders(dataRoot, paths);
}

/** Syncs every folder above the given files: the entry of a new folder must survive a power failure, too. */
export async function syncFolders(dataRoot: string, paths: readonly string[]): Promise<void> {
  const folders = new Set<string>();
  for (const path of paths) {
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) folders.add(folder);
  }
  await allOrFirstError([...folders].map((folder) => sync(join(dataRoot, folder))));
}

/** The newest manifest of a storm date; throws when nothing is published for it. */
export async function publishedManifest({ dates }: Publisher, storm_date: string): Promise<Manifest> {
  const manifest = await dates.manifest(storm_date);
  if (manifest === null)
    throw new PipelineError('publish', storm_date, 'has no published scans, expected a date with some');
  return manifest;
}
