import { createHash } from 'node:crypto';
import { createReadStream, rmSync, statSync } from 'node:fs';
import fs from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { ImmutableFile } from '../data-root.ts';
import { ApiError } from '../errors.ts';
import { turns } from '../turns.ts';

/** Checked copies of immutable files in a folder, up to a bound; the least recently used go first. */
export interface FileCache {
  /**
   * Makes sure that files are in the folder, whole and with the right content, until the returned function is called. While the
   * files that are held leave no room for them it waits, first come, first served. Files that are larger than the bound are held
   * when no others are, and those `ahead` at once: an edition waits for them. Throws ApiError overloaded when the wait is long, and
   * what `fetch` throws.
   */
  readonly hold: (files: readonly ImmutableFile[], place?: 'in turn' | 'ahead') => Promise<() => void>;
  /** Bytes of the copies, those that are under way included, and of those that are held. */
  readonly load: () => { readonly bytes: number; readonly held_bytes: number };
  readonly bytes_max: number;
  /** Since it was opened. */
  readonly counts: Readonly<CacheCounts>;
}

/** What a cache did. */
export interface CacheCounts {
  /** Files that were asked for and were there, and files that had to be fetched first. */
  hits: number;
  misses: number;
  /** Files that were fetched, their bytes, and those that could not be. */
  downloads: number;
  downloaded_bytes: number;
  failed_downloads: number;
  /** Copies that were removed to make room. */
  evictions: number;
}

export interface FileCacheOptions {
  /** Used by one process alone: another one would remove what is held here. Paths in it are those of the files. */
  readonly folder: string;
  readonly bytes_max: number;
  /** Copies a file to a path: whole or not at all, its content checked. */
  readonly fetch: (file: ImmutableFile, path: string) => Promise<void>;
  /** Longest wait for room. */
  readonly wait_ms?: number;
}

interface Entry {
  bytes: number;
  holders: number;
  /** Identity of the file whose content was checked; null: not checked since the process started. */
  checked: string | null;
  /** Resolves to whether the file was there. */
  checking: Promise<boolean> | null;
}

interface Waiting {
  readonly files: readonly ImmutableFile[];
  readonly admit: () => void;
}

/** Below the time after which a request is given up. */
const WAIT_MS = 10_000;
const RETRY_AFTER_S = 1;
/** Files that are copied at once. */
const AT_ONCE = 16;

/** Opens a cache over what its folder holds; the rests of copies that were cut off are removed. */
export async function openFileCache({
  folder,
  bytes_max,
  fetch,
  wait_ms = WAIT_MS,
}: FileCacheOptions): Promise<FileCache> {
  /** By path, least recently used first. */
  const entries = await entriesOf(folder);
  let bytes = entries.values().reduce((sum, entry) => sum + entry.bytes, 0);
  let held_bytes = 0;
  const waiting: Waiting[] = [];
  const inTurn = turns(AT_ONCE);
  const counts: CacheCounts = {
    hits: 0,
    misses: 0,
    downloads: 0,
    downloaded_bytes: 0,
    failed_downloads: 0,
    evictions: 0,
  };

  /** False where the disk lets no copy go: it stays, behind the others. Such a disk takes no new one, and the question that needs it says so. */
  const remove = (path: string, entry: Entry): boolean => {
    entries.delete(path);
    try {
      // At once: a copy that is made right afterwards has the same name.
      rmSync(join(folder, path), { force: true });
    } catch {
      entries.set(path, entry);
      return false;
    }
    bytes -= entry.bytes;
    return true;
  };
  const makeRoom = () => {
    for (const [path, entry] of entries) {
      if (bytes <= bytes_max) return;
      if (entry.holders > 0) continue;
      if (!remove(path, entry)) return;
      counts.evictions += 1;
    }
  };
  const isHeld = ({ path }: ImmutableFile) => (entries.get(path)?.holders ?? 0) > 0;
  const fits = (files: readonly ImmutableFile[]) => {
    const more = files.reduce((sum, file) => sum + (isHeld(file) ? 0 : file.bytes), 0);
    return held_bytes === 0 || held_bytes + more <= bytes_max;
  };
  const take = (files: readonly ImmutableFile[]) => {
    for (const file of files) {
      const entry = entries.get(file.path) ?? { bytes: 0, holders: 0, checked: null, checking: null };
      if (entry.holders === 0) {
        bytes += file.bytes - entry.bytes;
        entry.bytes = file.bytes;
        held_bytes += file.bytes;
      }
      entry.holders += 1;
      entries.delete(file.path);
      entries.set(file.path, entry);
    }
    makeRoom();
  };
  const admitWaiting = () => {
    for (let next = waiting[0]; next !== undefined && fits(next.files); next = waiting[0]) {
      waiting.shift();
      take(next.files);
      next.admit();
    }
  };
  const letGo = (files: readonly ImmutableFile[]) => {
    for (const { path } of files) {
      const entry = entries.get(path) as Entry;
      entry.holders -= 1;
      if (entry.holders > 0) continue;
      held_bytes -= entry.bytes;
      if (entry.checked === null) remove(path, entry);
    }
    makeRoom();
    admitWaiting();
  };
  const admitted = (files: readonly ImmutableFile[], place: 'in turn' | 'ahead'): Promise<void> | null => {
    if (place === 'ahead' || (waiting.length === 0 && fits(files))) {
      take(files);
      return null;
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(one), 1);
        reject(
          new ApiError(
            'overloaded',
            'the files of too many questions are needed at once',
            { 'Retry-After': String(RETRY_AFTER_S) },
            { reason: 'cache' },
          ),
        );
        admitWaiting();
      }, wait_ms);
      const one: Waiting = {
        files,
        admit: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      waiting.push(one);
    });
  };
  const download = async (file: ImmutableFile, path: string) => {
    try {
      await fetch(file, path);
    } catch (error) {
      counts.failed_downloads += 1;
      throw error;
    }
    counts.downloads += 1;
    counts.downloaded_bytes += file.bytes;
  };
  /** Whether the file was there. */
  const check = async (file: ImmutableFile, entry: Entry): Promise<boolean> => {
    const path = join(folder, file.path);
    const isWhole =
      statSync(path, { throwIfNoEntry: false })?.size === file.bytes && (await sha256Of(path)) === file.sha256;
    if (!isWhole) {
      entry.checked = null;
      await download(file, path);
    }
    entry.checked = identityOf(path);
    return isWhole;
  };
  const present = async (file: ImmutableFile): Promise<void> => {
    const entry = entries.get(file.path) as Entry;
    const isChecked =
      entry.checking === null && entry.checked !== null && entry.checked === identityOf(join(folder, file.path));
    if (!isChecked)
      entry.checking ??= inTurn(() => check(file, entry)).finally(() => {
        entry.checking = null;
      });
    const wasThere = isChecked || (await entry.checking);
    if (wasThere) counts.hits += 1;
    else counts.misses += 1;
  };

  makeRoom();
  return {
    hold: async (asked, place = 'in turn') => {
      const files = [...new Map(asked.map((file) => [file.path, file])).values()];
      await admitted(files, place);
      const release = once(() => letGo(files));
      const outcomes = await Promise.allSettled(files.map(present));
      const failed = outcomes.find((outcome) => outcome.status === 'rejected');
      if (failed === undefined) return release;
      release();
      throw failed.reason;
    },
    load: () => ({ bytes, held_bytes }),
    bytes_max,
    counts,
  };
}

/** Files that were copied before, in the order in which they were; their content is checked at the next use. */
async function entriesOf(folder: string): Promise<Map<string, Entry>> {
  await fs.mkdir(folder, { recursive: true });
  const found: { readonly path: string; readonly bytes: number; readonly changed_ms: number }[] = [];
  for (const item of await fs.readdir(folder, { recursive: true, withFileTypes: true })) {
    if (item.isDirectory()) continue;
    const absolute = join(item.parentPath, item.name);
    const { size, mtimeMs } = await fs.lstat(absolute);
    const path = relative(folder, absolute).split(sep).join('/');
    if (item.isFile() && !item.name.endsWith('.part')) found.push({ path, bytes: size, changed_ms: mtimeMs });
    else await fs.rm(absolute, { force: true });
  }
  found.sort((a, b) => a.changed_ms - b.changed_ms);
  return new Map(found.map(({ path, bytes }) => [path, { bytes, holders: 0, checked: null, checking: null }]));
}

/** Changes when a file is replaced, cut or written; null for none. */
function identityOf(path: string): string | null {
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stats === undefined ? null : `${stats.ino}.${stats.size}.${stats.mtimeNs}`;
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) act();
    isDone = true;
  };
}
