import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import { openObjectStore, REQUEST_OUTCOMES, type RequestOutcome } from '../../schemas/object-store/client.ts';
import type { FileCache } from '../cache/file-cache.ts';
import { openStoreRoot } from '../cache/store-root.ts';
import type { Config } from '../config.ts';
import { type DataRoot, openDataRoot } from '../data-root.ts';
import { takeLock } from '../store/sqlite-locks.ts';

/** Where the published files are. */
export type PublishedSettings = Pick<Config, 'data_root'> & Partial<Pick<Config, 'store' | 'cache_bytes'>>;

/** What this process does with the store of the published data. */
export interface StoreUse {
  readonly cache: Pick<FileCache, 'load' | 'counts' | 'bytes_max'>;
  /** Requests since the start, by outcome. */
  readonly requests: Readonly<Record<RequestOutcome, number>>;
  /** Counts one more. */
  readonly onRequest: (outcome: RequestOutcome) => void;
}

export interface OpenedRoot {
  readonly root: DataRoot;
  /** Null for a folder. */
  readonly store_use: StoreUse | null;
  /** Gives the folder of the copies to the next process; the copies stay. */
  readonly close: () => void;
}

/** Processes that keep copies below one data root. */
const FOLDERS_MAX = 64;

/** Opens the published data: in the store where there is one, else in the data root. */
export async function openPublished({
  data_root,
  store = null,
  cache_bytes = 0,
}: PublishedSettings): Promise<OpenedRoot> {
  if (store === null) return { root: openDataRoot(data_root), store_use: null, close: () => {} };
  const { folder, release } = takeFolder(join(data_root, layout.cache));
  const requests = Object.fromEntries(REQUEST_OUTCOMES.map((outcome) => [outcome, 0])) as Record<
    RequestOutcome,
    number
  >;
  const onRequest = (outcome: RequestOutcome) => {
    requests[outcome] += 1;
  };
  try {
    const root = await openStoreRoot({ store: openObjectStore(store, onRequest), folder, bytes_max: cache_bytes });
    return { root, store_use: { cache: root.cache, requests, onRequest }, close: release };
  } catch (error) {
    release();
    throw error;
  }
}

/** The first folder that no other process uses. Each has its own, as none knows which files the others hold. */
function takeFolder(cache: string): { readonly folder: string; readonly release: () => void } {
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  for (let number = 0; number < FOLDERS_MAX; number++) {
    const release = takeLock(join(cache, `${number}.lock`));
    if (release !== null) return { folder: join(cache, String(number)), release };
  }
  throw new Error(`${cache}: ${FOLDERS_MAX} processes keep copies there, expected fewer`);
}
