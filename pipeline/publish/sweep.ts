import fs from 'node:fs/promises';
import { join } from 'node:path';
import {
  DeletionClock,
  dueForDeletion,
  lookAtClock,
  markForDeletion,
  shareOfSweep,
  vouchedTime,
} from '../../schemas/deletion-clock.ts';
import { layout } from '../../schemas/layout.ts';
import { addDays, MS_PER_DAY } from '../../schemas/time.ts';
import { filesBelow, namesIn, orNull, readIfPresent, replaceFile } from '../files.ts';
import { lookBack, parseName } from '../sources/names.ts';
import { readCurrent, readManifest, readNewest } from './manifests.ts';
import { newestScan, type Root } from './root.ts';

/** Longest request plus longest job, minutes: a reader may use a manifest for this long after it was replaced. */
export const READERS_GRACE_MIN = 120;

/** Key of the raw files among the marks of the deletion clock. */
const RAW_FILES = 'raw files';

/** Files that a sweep deleted. */
export interface Swept {
  readonly files: number;
  readonly bytes: number;
}

/**
 * Sweeps a data root by its deletion clock: deletes files that no manifest in use names, and a share of the raw files that
 * have expired and were marked a day ago; `raw_keep_days` null never deletes raw files. `now_ms`: the machine's clock.
 */
export async function sweepRoot(root: Root, now_ms: number, raw_keep_days: number | null): Promise<Swept> {
  const { path, heads, sweeps } = root;
  root.check();
  const monotonic_ms = performance.now();
  const clock = lookAtClock(await readClock(path), {
    wall_ms: now_ms,
    run_ms: monotonic_ms - sweeps.last_ms,
    newest_own_ms: sweeps.last_commit_ms,
    newest_scan_ms: newestScan([...heads.values()].filter(({ source }) => source === 'observed')),
  });
  sweeps.last_ms = monotonic_ms;
  const swept = await sweep(path, vouchedTime(clock));
  const due = raw_keep_days === null ? { clock, until_ms: null } : dueForDeletion(clock, RAW_FILES);
  // Written before the deletion: a process that is killed during it must not lose the time that has passed.
  await writeClock(path, due.clock);
  if (raw_keep_days === null || due.until_ms === null) return swept;
  const raw = await sweepRaw(root, raw_keep_days, due.until_ms);
  if (raw.is_done) await writeClock(path, markForDeletion(due.clock, RAW_FILES));
  return { files: swept.files + raw.files, bytes: swept.bytes + raw.bytes };
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
 * A manifest is in use while it is the newest of its partition, pinned by `current.json`, or replaced less than the grace ago.
 * The files of a catalogue stay until a later catalogue deletes its folder.
 * Works partition by partition, so that a year of manifests takes no more memory than a date.
 */
export async function sweep(dataRoot: string, now_ms: number): Promise<Swept> {
  const oldest_ms = now_ms - READERS_GRACE_MIN * 60_000;
  const current = await readCurrent(dataRoot);
  const live = Object.values(current?.live ?? {});
  const catalogued = await cataloguedPaths(dataRoot);
  const folders: string[] = [];
  for (const top of [layout.tables, layout.tiles, layout.state, layout.live, layout.manifests])
    folders.push(...(await foldersBelow(dataRoot, top)));
  let [files, bytes] = [0, 0];
  for (const [partition, own] of Map.groupBy(folders, partitionOf)) {
    const listed = await pathsInUse(dataRoot, partition, current?.open_dates[partition] ?? null, oldest_ms);
    const wanted = new Set([...listed, ...live, layout.head(partition)]);
    for (const folder of own) {
      for (const entry of await entriesOf(dataRoot, folder)) {
        const path = `${folder}/${entry.name}`;
        if (!entry.isFile() || wanted.has(path) || catalogued.has(path)) continue;
        const facts = await fs.stat(join(dataRoot, path));
        if (facts.mtimeMs >= oldest_ms) continue;
        await fs.rm(join(dataRoot, path));
        files += 1;
        bytes += facts.size;
      }
    }
  }
  return { files, bytes };
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

/** A folder of the root and all folders below it. */
async function foldersBelow(dataRoot: string, folder: string): Promise<string[]> {
  const folders = [folder];
  for (const entry of await entriesOf(dataRoot, folder))
    if (entry.isDirectory()) folders.push(...(await foldersBelow(dataRoot, `${folder}/${entry.name}`)));
  return folders;
}

async function entriesOf(dataRoot: string, folder: string) {
  return (await orNull(() => fs.readdir(join(dataRoot, folder), { withFileTypes: true }))) ?? [];
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
  // A higher number than the newest was left by a process killed before it moved the head; no reader has seen it.
  const commits = (await namesIn(join(dataRoot, layout.manifestFolder(partition))))
    .filter((name) => /^\d{6,}\.json$/.test(name))
    .map((name) => Number.parseInt(name, 10))
    .filter((commit) => commit <= (head?.commit ?? 0))
    .sort((a, b) => a - b);
  for (const [index, commit] of commits.entries()) {
    const next = commits[index + 1];
    const isReplaced = async (by: number) =>
      (await fs.stat(join(dataRoot, layout.manifest(partition, by)))).mtimeMs < oldest_ms;
    if (next !== undefined && commit !== pinned && (await isReplaced(next))) continue;
    paths.push(layout.manifest(partition, commit));
    const manifest = commit === head?.commit ? null : await readManifest(dataRoot, partition, commit);
    for (const file of manifest?.files ?? []) paths.push(file.path);
  }
  return paths;
}

/**
 * Deletes raw files of UTC dates that ended, and whose files arrived, at least `keep_days` before `until_ms`: a share of the dates
 * per call, the oldest first; `is_done` when none is left. A date is kept while a storm date that it may belong to is open, because
 * its scans may have to be made again. A storm date begins at any hour, so these are the date itself and its neighbours. While
 * the next date is kept, so are the companions that its first scans use from before midnight.
 */
export async function sweepRaw(
  { path, heads }: Pick<Root, 'path' | 'heads'>,
  keep_days: number,
  until_ms: number,
): Promise<Swept & { readonly is_done: boolean }> {
  const limit_ms = until_ms - keep_days * MS_PER_DAY;
  let swept = { files: 0, bytes: 0, is_done: true };
  for (const provenance of await namesIn(join(path, layout.raw))) {
    const dates = (await namesIn(join(path, layout.archive(provenance)))).flatMap(
      (name) => /^date=(\d{4}-\d{2}-\d{2})$/.exec(name)?.[1] ?? [],
    );
    const kept = new Set<string>();
    const over: { readonly folder: string; readonly gone: readonly RawFile[]; readonly is_whole: boolean }[] = [];
    for (const date of dates.toReversed()) {
      const folder = join(path, layout.archiveDate(provenance, date));
      const files = await rawFiles(folder);
      const end_ms = Date.parse(addDays(date, 1));
      const isYoung = end_ms > limit_ms || files.some(({ arrived_ms }) => arrived_ms > limit_ms);
      if (isYoung || isOpenAround(heads, date)) {
        kept.add(date);
        continue;
      }
      const isNeeded = (name: string) => kept.has(addDays(date, 1)) && reaches(name, end_ms);
      const gone = files.filter(({ name }) => !isNeeded(name));
      const is_whole = gone.length === files.length;
      if (gone.length > 0 || is_whole) over.push({ folder, gone, is_whole });
    }
    const most = shareOfSweep(dates.length);
    for (const { folder, gone, is_whole } of over.toReversed().slice(0, most)) {
      for (const { name } of gone) await fs.rm(join(folder, name));
      if (is_whole) await fs.rm(folder, { recursive: true });
      const bytes = gone.reduce((sum, file) => sum + file.bytes, swept.bytes);
      swept = { ...swept, files: swept.files + gone.length, bytes };
    }
    swept.is_done &&= over.length <= most;
  }
  return swept;
}

interface RawFile {
  readonly name: string;
  readonly bytes: number;
  readonly arrived_ms: number;
}

/** Files of a folder with their times of arrival: the ctime, because a copy has the mtime of its original. */
async function rawFiles(folder: string): Promise<readonly RawFile[]> {
  return Promise.all(
    (await filesBelow(folder)).map(async (name) => {
      const { size, ctimeMs } = await fs.stat(join(folder, name));
      return { name, bytes: size, arrived_ms: ctimeMs };
    }),
  );
}

/** True for a companion file that a scan at or after an instant may use. */
function reaches(name: string, from_ms: number): boolean {
  const named = parseName(name);
  return named !== null && lookBack(named.product) > 0 && named.time_ms >= from_ms - lookBack(named.product);
}

function isOpenAround(heads: Root['heads'], date: string): boolean {
  return [addDays(date, -1), date, addDays(date, 1)].some((storm_date) => {
    const head = heads.get(storm_date);
    return head !== undefined && head.scans.count > 0 && !head.closed;
  });
}
