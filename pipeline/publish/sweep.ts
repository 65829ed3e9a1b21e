import fs from 'node:fs/promises';
import { join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import { listPartitions, readCurrent, readManifest, readNewest } from './manifests.ts';
import { filesBelow, namesIn } from './store.ts';

/** Longest request plus longest job: what a reader may still hold after its list was replaced, minutes. */
export const READERS_GRACE_MIN = 120;

export interface Swept {
  readonly files: number;
  readonly bytes: number;
}

/**
 * Deletes what no manifest in use names, once no reader can still need it: data files, old manifests, old live files.
 * A manifest is in use while it is the newest of its partition, pinned by the switch, or replaced less than the grace ago.
 */
export async function sweep(dataRoot: string, now_ms: number, grace_min = READERS_GRACE_MIN): Promise<Swept> {
  const oldest_ms = now_ms - grace_min * 60_000;
  const current = await readCurrent(dataRoot);
  const wanted = new Set<string>(Object.values(current?.live ?? {}).map(String));
  for (const partition of (await listPartitions(dataRoot)).all) {
    const head = await readNewest(dataRoot, partition);
    const pinned = current?.open_dates[partition] ?? null;
    for (const file of head?.files ?? []) wanted.add(file.path);
    for (const commit of await manifestsInUse(dataRoot, partition, head?.commit ?? 0, pinned, oldest_ms)) {
      wanted.add(layout.manifest(partition, commit));
      if (commit === head?.commit) continue;
      const manifest = await readManifest(dataRoot, partition, commit);
      for (const file of manifest?.files ?? []) wanted.add(file.path);
    }
  }
  let swept: Swept = { files: 0, bytes: 0 };
  for (const folder of [layout.tables, layout.tiles, layout.state, layout.live, layout.manifests]) {
    for (const name of await filesBelow(join(dataRoot, folder))) {
      const path = `${folder}/${name}`;
      if (wanted.has(path) || path.endsWith('/head.json')) continue;
      const facts = await fs.stat(join(dataRoot, path));
      if (facts.mtimeMs >= oldest_ms) continue;
      await fs.rm(join(dataRoot, path));
      swept = { files: swept.files + 1, bytes: swept.bytes + facts.size };
    }
  }
  return swept;
}

/** Deletes the staging folders of runs that died; only the holder of the lock may call it. */
export async function clearStaging(dataRoot: string): Promise<number> {
  const runs = await namesIn(join(dataRoot, layout.staging));
  await Promise.all(runs.map((run) => fs.rm(join(dataRoot, layout.staged(run)), { recursive: true, force: true })));
  return runs.length;
}

async function manifestsInUse(
  dataRoot: string,
  partition: string,
  newest: number,
  pinned: number | null,
  oldest_ms: number,
): Promise<number[]> {
  // A number beyond the newest is the litter of a process killed before it moved the head: nobody ever read it.
  const commits = (await namesIn(join(dataRoot, layout.manifestFolder(partition))))
    .filter((name) => /^\d{6,}\.json$/.test(name))
    .map((name) => Number.parseInt(name, 10))
    .filter((commit) => commit <= newest);
  const inUse: number[] = [];
  for (const [index, commit] of commits.entries()) {
    const successor = commits[index + 1];
    if (successor === undefined || commit === pinned || (await changedAt(dataRoot, partition, successor)) >= oldest_ms)
      inUse.push(commit);
  }
  return inUse;
}

async function changedAt(dataRoot: string, partition: string, commit: number): Promise<number> {
  return (await fs.stat(join(dataRoot, layout.manifest(partition, commit)))).mtimeMs;
}
