import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { LRUCache } from 'lru-cache';
import type { ObjectStore } from '../../schemas/object-store/client.ts';
import { downloadFile } from '../../schemas/object-store/files.ts';
import { type DataRoot, DataUnavailable, type FileRange, type ImmutableFile, openPart } from '../data-root.ts';
import { type FileCache, openFileCache } from './file-cache.ts';
import { storeLists } from './store-lists.ts';

export interface StoreRootOptions {
  readonly store: ObjectStore;
  /** Of this process alone, for copies of files. */
  readonly folder: string;
  /** Bound of the copies. */
  readonly bytes_max: number;
  readonly wait_ms?: number;
}

/** A data root in a store. */
export interface StoreRoot extends DataRoot {
  readonly cache: FileCache;
}

/** Each of the two listings of a poll costs a request that is paid for: new lists are seen within this. */
const POLL = { current_ms: 1000, heads_ms: 5000 };
/** Below the time after which a request is given up. */
const PATIENCE = { patience_ms: 8_000 };
/** Files whose content is remembered, some 300 bytes each: those of a hundred editions of a year. */
const KNOWN_MAX = 100_000;
/** Files up to this size are copied whole, so that their content is checked; of larger ones only what is asked for is read. */
const WHOLE_BYTES = 1_000_000;
/** Bytes of a range that are in memory at a time. */
const PIECE_BYTES = 4_000_000;
/** Part of the SHA-256 in the name of a file of the live snapshot. */
const NAMED_HASH = /-([0-9a-f]{8})\.\w+\.arrow$/;

/** Opens a data root in a store. Statements read copies in a folder; nothing is asked of the store before the first poll. */
export async function openStoreRoot({ store, folder, bytes_max, wait_ms }: StoreRootOptions): Promise<StoreRoot> {
  const cache = await openFileCache({
    folder,
    bytes_max,
    fetch: (file, path) => fetched(store, file, path),
    ...(wait_ms === undefined ? {} : { wait_ms }),
  });
  const known = new LRUCache<string, ImmutableFile>({ max: KNOWN_MAX });
  const fileAt = (path: string): ImmutableFile => {
    const file = known.get(path);
    if (file === undefined) throw new DataUnavailable(path, 'is named by no list that was read');
    return file;
  };
  const isInside = (path: string) => path.startsWith(`${folder}/`);
  return {
    ...storeLists(store),
    name: store.name,
    root: folder,
    poll: POLL,
    cache,
    fileOf: (file) => {
      const path = join(folder, file.path);
      if (!known.has(path)) known.set(path, { path: file.path, bytes: file.bytes, sha256: file.sha256 });
      return path;
    },
    hold: (paths) => cache.hold(paths.filter(isInside).map(fileAt)),
    has: () => true,
    bytes: async (path) => {
      const { content } = await readable(path, store.get(path, null, PATIENCE));
      const [, hash] = NAMED_HASH.exec(path) ?? [];
      const found = createHash('sha256').update(content).digest('hex').slice(0, 8);
      if (hash !== undefined && hash !== found)
        throw new DataUnavailable(path, `has a SHA-256 that begins with ${found}, its name says ${hash}`);
      return content;
    },
    part: async (path, first, length) => {
      const { content } = await readable(path, store.get(path, { first, length }, PATIENCE));
      return Buffer.from(content.buffer, content.byteOffset, content.byteLength);
    },
    open: async (file, range) => {
      if (file.bytes > WHOLE_BYTES) return await openRange(store, file, range);
      const release = await cache.hold([file]);
      try {
        const wrongSize = (size: number) => new DataUnavailable(file.path, `has ${size} bytes, expected ${file.bytes}`);
        return await openPart(join(folder, file.path), file.bytes, range, wrongSize);
      } finally {
        release();
      }
    },
    missing: async () => [],
  };
}

async function fetched(store: ObjectStore, file: ImmutableFile, path: string): Promise<void> {
  await readable(
    file.path,
    downloadFile(store, file.path, path, file, PATIENCE).then((isThere) => isThere || null),
  );
}

/** What the store answers. Throws DataUnavailable for a file that it does not have, or cannot give now. */
async function readable<Found>(path: string, asked: Promise<Found | null>): Promise<Found> {
  const found = await asked.catch((cause: unknown) => {
    throw new DataUnavailable(path, 'cannot be read from the store', { cause });
  });
  if (found !== null) return found;
  throw Object.assign(new DataUnavailable(path, 'is missing in the store, and a list names it'), { code: 'ENOENT' });
}

/** A range of a file, piece by piece; the first is read before this resolves. */
async function openRange(store: ObjectStore, file: ImmutableFile, { first, last }: FileRange): Promise<Readable> {
  const piece = async (from: number) => {
    const length = Math.min(PIECE_BYTES, last + 1 - from);
    const { content } = await readable(file.path, store.get(file.path, { first: from, length }, PATIENCE));
    if (content.length === length) return content;
    throw new DataUnavailable(file.path, `ends after ${from + content.length} bytes, its manifest says ${file.bytes}`);
  };
  const begin = await piece(first);
  async function* pieces() {
    yield begin;
    for (let from = first + begin.length; from <= last; from += PIECE_BYTES) yield await piece(from);
  }
  return Readable.from(pieces(), { objectMode: false });
}
