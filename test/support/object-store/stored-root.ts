import fs from 'node:fs/promises';
import { join } from 'node:path';
import { sha256 } from '../../../pipeline/files.ts';
import { listPartitions, readCurrent, readNewest } from '../../../pipeline/publish/manifests.ts';
import { Head } from '../../../schemas/head.ts';
import { layout } from '../../../schemas/layout.ts';
import { Current, Manifest } from '../../../schemas/manifest.ts';
import type { ObjectStore } from '../../../schemas/object-store/client.ts';

/** SHA-256 of every object below a prefix, by key. */
export async function objectsOf(store: ObjectStore, prefix = ''): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for await (const { key } of store.list(prefix)) {
    const object = await store.get(key);
    if (object !== null) found.set(key, sha256(object.content));
  }
  return found;
}

/** What is wrong with the lists of a store: files that they name and that are not there, or of other content. [] when nothing is. */
export async function faultsOfStore(store: ObjectStore): Promise<string[]> {
  const objects = await objectsOf(store);
  const faults: string[] = [];
  const read = async (key: string) => JSON.parse(Buffer.from((await store.get(key))?.content ?? '').toString());
  const requireList = async (key: string, by: string) => {
    if (!objects.has(key)) {
      faults.push(`${key} is not there, and ${by} names it`);
      return;
    }
    for (const file of Manifest.parse(await read(key)).files)
      if (objects.get(file.path) !== file.sha256)
        faults.push(`${file.path} has SHA-256 ${objects.get(file.path) ?? 'none'}, and ${key} says ${file.sha256}`);
  };
  for (const key of objects.keys()) {
    if (!key.endsWith('/head.json')) continue;
    const { partition, commit } = Head.parse(await read(key));
    await requireList(layout.manifest(partition, commit), key);
  }
  if (!objects.has(layout.current)) return faults;
  const current = Current.parse(await read(layout.current));
  for (const [date, commit] of Object.entries(current.open_dates))
    await requireList(layout.manifest(date, commit), layout.current);
  const { first_scan: _, ...live } = current.live;
  for (const path of Object.values(live))
    if (!objects.has(path)) faults.push(`${path} is not there, and current.json names it`);
  return faults;
}

/** SHA-256 of every file that a root publishes now, by path: names, heads, their lists, data files, the pointer and its live files. */
export async function publishedFiles(root: string): Promise<Map<string, string>> {
  const paths = [layout.root];
  for (const partition of (await listPartitions(root)).all) {
    const manifest = await readNewest(root, partition);
    if (manifest === null) continue;
    paths.push(layout.head(partition), layout.manifest(partition, manifest.commit));
    paths.push(...manifest.files.map((file) => file.path));
  }
  const current = await readCurrent(root);
  if (current !== null) {
    const { first_scan: _, ...live } = current.live;
    paths.push(layout.current, ...Object.values(live));
  }
  const found = new Map<string, string>();
  for (const path of paths.sort()) found.set(path, sha256(await fs.readFile(join(root, path))));
  return found;
}
