import fs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { headOf } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import { Manifest } from '../../schemas/manifest.ts';
import { isCalendarDate, scanId } from '../../schemas/time.ts';
import { readIfPresent, replaceFile, sync } from '../files.ts';
import { allOrFirstError } from '../sources/parallel.ts';
import { type Edit, nextManifest } from './edit.ts';
import { retireSnapshots, stageLive } from './live.ts';
import { readCurrent } from './manifests.ts';
import { newestScan, type Root } from './root.ts';
import type { ScanProducts } from './segment.ts';

/**
 * Commits edits of different partitions together. Files were staged and read back before (`stage.ts`).
 *
 * 1. Sync every staged file, rename it to its final name, sync the folders.      killed: files that no manifest lists, swept later
 * 2. Write the numbered manifests, sync their folders.                           killed: the same
 * 3. Replace the heads. Several: `pending.json` names them meanwhile.            killed: `finishHeads` replaces the others
 * 4. Of storm dates: stage the live snapshot, place its files, replace           killed: `finishCurrent` does it
 *    `current.json`.
 *
 * The lock is checked before every step: a manifest must not name files that were written to another root. Readers of open dates
 * follow `current.json`, all others the heads. `fresh`: scans whose rows are in memory; `redone`: published scans were replaced.
 */
export async function commit(
  root: Root,
  edits: readonly Edit[],
  now_ms: number,
  fresh: readonly ScanProducts[] = [],
  redone = false,
): Promise<void> {
  const { path, check } = root;
  const manifests: Manifest[] = [];
  for (const edit of edits) manifests.push(nextManifest(await root.manifest(edit.partition), edit, now_ms));

  check();
  const added = edits.flatMap(({ add_files = [] }) => add_files);
  const files = added.map(({ staged, entry }) => ({ staged, path: entry.path }));
  await placeFiles(path, files);

  check();
  const numbered = manifests.map(({ partition, commit }) => layout.manifest(partition, commit));
  for (const [index, name] of numbered.entries()) await replaceFile(join(path, name), jsonLine(manifests[index]));
  await syncFolders(path, numbered);

  check();
  const pending = join(path, layout.pending);
  if (manifests.length > 1) await replaceFile(pending, jsonLine(numbered));
  for (const manifest of manifests) await moveHead(path, manifest);
  if (manifests.length > 1) await fs.rm(pending);
  for (const manifest of manifests) root.update(manifest);

  if (edits.some(({ partition }) => isCalendarDate(partition))) await moveCurrent(root, now_ms, fresh, redone);
}

/** Step 4. After a redo all rows of the live snapshot are read again. */
async function moveCurrent(root: Root, now_ms: number, fresh: readonly ScanProducts[], redone: boolean): Promise<void> {
  const staged = await stageLive(root, fresh, now_ms, redone);
  if (staged === null) return;
  root.check();
  await placeFiles(root.path, staged.files);
  await replaceFile(join(root.path, layout.current), `${JSON.stringify(staged.current, null, 2)}\n`);
  const paths = staged.files.map((file) => file.path);
  await retireSnapshots(root, paths, performance.now());
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
export async function finishCurrent(root: Root, now_ms: number): Promise<void> {
  const current = await readCurrent(root.path);
  const newest_ms = newestScan(root.heads.values());
  if (newest_ms === null) return;
  const open = [...root.heads.values()].filter((head) => !head.closed);
  const pinned = current?.open_dates ?? {};
  const agrees =
    current?.scan_id === scanId(newest_ms) &&
    open.length === Object.keys(pinned).length &&
    open.every((head) => pinned[head.partition] === head.commit);
  if (!agrees) await moveCurrent(root, now_ms, [], true);
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
async function syncFolders(dataRoot: string, paths: readonly string[]): Promise<void> {
  const folders = new Set<string>();
  for (const path of paths) {
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) folders.add(folder);
  }
  await allOrFirstError([...folders].map((folder) => sync(join(dataRoot, folder))));
}
