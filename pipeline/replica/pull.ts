import fs from 'node:fs/promises';
import { join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import { Manifest, type PublishedFile } from '../../schemas/manifest.ts';
import { type ObjectStore, StoreUnavailable } from '../../schemas/object-store/client.ts';
import { downloadFile } from '../../schemas/object-store/files.ts';
import { hashOf, replaceFile, sizeOf } from '../files.ts';
import { syncFolders } from '../publish/commit.ts';
import { parseRecord } from '../publish/manifests.ts';
import { inParallel } from '../sources/parallel.ts';
import { readText, type StoredCurrent, type StoredHead } from './stored.ts';

/** Files moved at a time. */
export const FILES_AT_A_TIME = 4;

/** What was moved between a root and a store. */
export interface Moved {
  readonly files: number;
  readonly bytes: number;
}

export const NOTHING_MOVED: Moved = { files: 0, bytes: 0 };

export function sumOfMoved(parts: readonly Moved[]): Moved {
  return parts.reduce(
    (sum, { files, bytes }) => ({ files: sum.files + files, bytes: sum.bytes + bytes }),
    NOTHING_MOVED,
  );
}

/** A root and a store, and how much is proven of files that the root has already: that they have the size, or the hash of the list. */
export interface PullOrder {
  readonly path: string;
  readonly store: ObjectStore;
  readonly proof: 'size' | 'hash';
}

/** A numbered list of a store with its text; throws StoreUnavailable when it is not there, as after a stale answer. */
export async function readNumbered(store: ObjectStore, partition: string, commit: number) {
  const key = layout.manifest(partition, commit);
  const text = await readText(store, key);
  if (text === null) throw new StoreUnavailable(`${store.name}/${key}: is not there, and a list names it`);
  return { text, manifest: parseRecord(`${store.name}/${key}`, text, Manifest) };
}

/**
 * Brings a partition of a root to what a store holds: files, then the numbered lists (that of the head, and `pinned`), then the
 * head, so that a kill leaves a root whose lists name no missing file.
 */
export async function pullPartition(order: PullOrder, stored: StoredHead, pinned: number | null): Promise<Moved> {
  const { path, store } = order;
  const { partition, commit } = stored.head;
  const commits = new Set([...(pinned === null ? [] : [pinned]), commit]);
  const moved: Moved[] = [];
  for (const one of commits) {
    const { text, manifest } = await readNumbered(store, partition, one);
    moved.push(await pullFiles(order, manifest.files));
    await replaceFile(join(path, layout.manifest(partition, one)), text);
  }
  await replaceFile(join(path, layout.head(partition)), stored.text);
  return sumOfMoved(moved);
}

async function pullFiles({ path, store, proof }: PullOrder, files: readonly PublishedFile[]): Promise<Moved> {
  const moved = await inParallel(files, FILES_AT_A_TIME, async (file) => {
    const target = join(path, file.path);
    if ((await sizeOf(target)) === file.bytes && (proof === 'size' || (await hashOf(target)) === file.sha256))
      return NOTHING_MOVED;
    if (!(await downloadFile(store, file.path, target, file)))
      throw new StoreUnavailable(`${store.name}/${file.path}: is not there, and a list names it`);
    return { files: 1, bytes: file.bytes };
  });
  const fetched = files.filter((_, k) => (moved[k] as Moved).files > 0);
  await syncFolders(
    path,
    fetched.map((file) => file.path),
  );
  return sumOfMoved(moved);
}

/** Brings the live files of the pointer, and then the pointer, to a root. */
export async function pullCurrent({ path, store }: PullOrder, { current, text }: StoredCurrent): Promise<Moved> {
  const { first_scan: _, ...live } = current.live;
  const moved = await inParallel(Object.values(live), FILES_AT_A_TIME, async (name) => {
    const target = join(path, name);
    if ((await sizeOf(target)) !== null) return NOTHING_MOVED;
    if (!(await downloadFile(store, name, target, { bytes: null, sha256: null })))
      throw new StoreUnavailable(`${store.name}/${name}: is not there, and the pointer names it`);
    return { files: 1, bytes: (await fs.stat(target)).size };
  });
  await replaceFile(join(path, layout.current), text);
  return sumOfMoved(moved);
}
