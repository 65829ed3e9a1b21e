import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { LRUCache } from 'lru-cache';
import {
  type ByteRange,
  isStoreFault,
  type ObjectStore,
  type Patience,
  type StoredObject,
  StoreUnavailable,
} from '../../schemas/object-store/client.ts';
import { downloadFile } from '../../schemas/object-store/files.ts';
import { type DataRoot, DataUnavailable, type FileRange, type ImmutableFile, openPart } from '../data-root.ts';
import { type FileCache, openFileCache } from './file-cache.ts';
import { isNumbered, storeLists } from './store-lists.ts';

export interface StoreRootOptions {
  readonly store: ObjectStore;
  /** Of this process alone, for copies of files. */
  readonly folder: string;
  /** Bound of the copies. */
  readonly bytes_max: number;
  readonly wait_ms?: number;
  /** Clock of the patience with the store. */
  readonly monotonic_ms?: () => number;
}

/** A data root in a store. */
export interface StoreRoot extends DataRoot {
  readonly cache: FileCache;
}

/** Each of the two listings of a poll costs a request that is paid for: new lists are seen within this. */
const POLL = { current_ms: 1000, heads_ms: 5000 };
/** Longest wait for the store: below the time after which a request is given up, and short for a while after one was in vain. */
const PATIENCE_MS = { usually: 8_000, after_failure: 1_000 } as const;
const FAILURE_COUNTS_MS = 10_000;
/** Files whose content is remembered, some 300 bytes each: those of a hundred editions of a year. */
const KNOWN_MAX = 100_000;
/** Files up to this size are copied whole, so that their content is checked; of larger ones only what is asked for is read. */
const WHOLE_BYTES = 1_000_000;
/** Bytes of a range that are read at a time: of one that a slow client reads, two such pieces are in memory. */
const PIECE_BYTES = 400_000;
/** Part of the SHA-256 in the name of a file of the live snapshot. */
const NAMED_HASH = /-([0-9a-f]{8})\.\w+\.arrow$/;

/** Opens a data root in a store. Statements read copies in a folder; nothing is asked of the store before the first poll. */
export async function openStoreRoot({
  store,
  folder,
  bytes_max,
  wait_ms,
  monotonic_ms = () => performance.now(),
}: StoreRootOptions): Promise<StoreRoot> {
  const contact = openContact(monotonic_ms);
  const files = storedFiles(store, contact);
  const lists = storeLists(store);
  const cache = await openFileCache({
    folder,
    bytes_max,
    fetch: files.copy,
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
    mark: (path) => contact.noted(lists.mark(path)),
    text: (path) =>
      isNumbered(path) ? contact.asked((patience) => lists.text(path, patience)) : contact.noted(lists.text(path)),
    partitions: () => contact.noted(lists.partitions()),
    name: store.name,
    root: folder,
    poll: POLL,
    cache,
    fileOf: (file) => {
      const path = join(folder, file.path);
      if (known.get(path)?.sha256 !== file.sha256)
        known.set(path, { path: file.path, bytes: file.bytes, sha256: file.sha256 });
      return path;
    },
    hold: async (paths, place) => cache.hold(paths.filter(isInside).map(fileAt), place),
    has: () => true,
    bytes: async (path) => {
      const { content } = await files.read(path);
      const [, hash] = NAMED_HASH.exec(path) ?? [];
      const found = createHash('sha256').update(content).digest('hex').slice(0, 8);
      if (hash === undefined || hash === found) return content;
      const cause = new StoreUnavailable(`GET ${store.name}/${path}: content has SHA-256 ${found}…, expected ${hash}…`);
      throw new DataUnavailable(path, 'cannot be read from the store', { cause });
    },
    part: async (path, first, length) => {
      const { content } = await files.read(path, { first, length });
      return Buffer.from(content.buffer, content.byteOffset, content.byteLength);
    },
    open: async (file, range) => {
      if (file.bytes > WHOLE_BYTES) return await openRange(files, file, range);
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

/** The reading side of a store, whose answers are files that lists name. */
interface StoredFiles {
  /** Content of a file, or a range of it. */
  readonly read: (path: string, range?: ByteRange) => Promise<StoredObject>;
  /** Copies a file, whole and checked. */
  readonly copy: (file: ImmutableFile, to: string) => Promise<void>;
}

/** All throw DataUnavailable for a file that the store does not have (its code is ENOENT), or cannot give now. */
function storedFiles(store: ObjectStore, contact: Contact): StoredFiles {
  const asked = async <Found>(path: string, ask: (patience: Patience) => Promise<Found | null>): Promise<Found> => {
    const found = await contact.asked(ask).catch((cause: unknown) => {
      throw new DataUnavailable(path, 'cannot be read from the store', { cause });
    });
    if (found !== null) return found;
    throw Object.assign(new DataUnavailable(path, 'is missing in the store, and a list names it'), { code: 'ENOENT' });
  };
  return {
    read: (path, range) => asked(path, (patience) => store.get(path, range ?? null, patience)),
    copy: async (file, to) => {
      await asked(file.path, async (patience) => (await downloadFile(store, file.path, to, file, patience)) || null);
    },
  };
}

/** Whether the store was reached lately: questions that need it do not each wait for long. */
interface Contact {
  /** Asks for what a question needs. */
  readonly asked: <Found>(ask: (patience: Patience) => Promise<Found>) => Promise<Found>;
  /** Passes on what the store answers to a poll, which has a patience of its own. */
  readonly noted: <Found>(answer: Promise<Found>) => Promise<Found>;
}

function openContact(monotonic_ms: () => number): Contact {
  let failed_ms = Number.NEGATIVE_INFINITY;
  const noted = async <Found>(answer: Promise<Found>, isPatient = true): Promise<Found> => {
    try {
      const found = await answer;
      failed_ms = Number.NEGATIVE_INFINITY;
      return found;
    } catch (error) {
      // A full disk of this machine says nothing about the store. Nor does a short wait: a slow store would never be waited for again.
      if (isPatient && isStoreFault(error)) failed_ms = monotonic_ms();
      throw error;
    }
  };
  return {
    asked: (ask) => {
      const isPatient = monotonic_ms() - failed_ms >= FAILURE_COUNTS_MS;
      return noted(ask({ patience_ms: isPatient ? PATIENCE_MS.usually : PATIENCE_MS.after_failure }), isPatient);
    },
    noted,
  };
}

/**
 * A range of a file, piece by piece; the first is read before this resolves. Ends with DataUnavailable when another object is put
 * in the place of the file meanwhile, and before its last piece when the whole of it has another SHA-256.
 */
async function openRange(files: StoredFiles, file: ImmutableFile, { first, last }: FileRange): Promise<Readable> {
  const hash = first === 0 && last === file.bytes - 1 ? createHash('sha256') : null;
  const piece = async (from: number) => {
    const length = Math.min(PIECE_BYTES, last + 1 - from);
    const found = await files.read(file.path, { first: from, length, of_bytes: file.bytes });
    hash?.update(found.content);
    return found;
  };
  const begin = await piece(first);
  async function* pieces() {
    let { content } = begin;
    for (let from = first + content.length; from <= last; from += content.length) {
      yield content;
      const next = await piece(from);
      if (next.etag !== begin.etag) throw new DataUnavailable(file.path, 'was replaced while it was read');
      content = next.content;
    }
    const sha256 = hash?.digest('hex') ?? file.sha256;
    if (sha256 !== file.sha256) throw new DataUnavailable(file.path, `has SHA-256 ${sha256}, expected ${file.sha256}`);
    yield content;
  }
  return Readable.from(pieces(), { objectMode: false });
}
