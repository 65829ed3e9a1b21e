import fs from 'node:fs/promises';
import { join } from 'node:path';
import { isBehind } from '../../schemas/fence.ts';
import { layout } from '../../schemas/layout.ts';
import type { ObjectStore } from '../../schemas/object-store/client.ts';
import { readIfPresent } from '../files.ts';
import { listPartitions, readManifest } from '../publish/manifests.ts';
import { inParallel } from '../sources/parallel.ts';
import { isListOf } from './push.ts';
import type { StoreMemory } from './store-memory.ts';
import {
  currentIn,
  headIn,
  isTagOf,
  listHeads,
  readStoredCurrent,
  readStoredHead,
  type Stored,
  type StoredCurrent,
  type StoredHead,
  storedOf,
} from './stored.ts';

/** Heads read at a time. */
const HEADS_AT_A_TIME = 8;

/**
 * How a partition of a root stands to that of the store. `same`; `ahead`: the root's commits were made from what the store has, and
 * follow it; `theirs`: another writer was there, and the root takes what the store has; `gone`: only this root has the partition,
 * made from a state that the store has left.
 */
export type Standing =
  | { readonly kind: 'same'; readonly stored: Stored }
  | { readonly kind: 'ahead'; readonly stored: Stored | null }
  | { readonly kind: 'theirs'; readonly stored: StoredHead }
  | { readonly kind: 'gone' };

/** A root and a store side by side. */
export interface Comparison {
  readonly partitions: ReadonlyMap<string, Standing>;
  readonly own_current: StoredCurrent | null;
  readonly stored_current: StoredCurrent | null;
  /** True when the pointer of the root takes that of the store. */
  readonly pull_current: boolean;
}

/** Versions of the heads of a root. */
export async function ownHeads(dataRoot: string): Promise<Map<string, Stored>> {
  const heads = new Map<string, Stored>();
  await inParallel((await listPartitions(dataRoot)).all, HEADS_AT_A_TIME, async (partition) => {
    const path = join(dataRoot, layout.head(partition));
    const text = await readIfPresent(path);
    // A partition without a head was never published: its process was killed before.
    if (text !== null) heads.set(partition, storedOf(headIn(path, text)));
  });
  return heads;
}

export async function ownCurrent(dataRoot: string): Promise<StoredCurrent | null> {
  const path = join(dataRoot, layout.current);
  const text = await readIfPresent(path);
  return text === null ? null : currentIn(path, text);
}

/** Compares a root with a store of the same name. `known`: what the store held when they were last in step; null: not known. */
export async function compare(dataRoot: string, store: ObjectStore, known: StoreMemory | null): Promise<Comparison> {
  const [own, own_current] = [await ownHeads(dataRoot), await ownCurrent(dataRoot)];
  const stored_current = await readStoredCurrent(store);
  const listed = await listHeads(store);
  const has_moved = hasMoved(own_current, stored_current, known);
  const partitions = new Map<string, Standing>();
  await inParallel([...new Set([...own.keys(), ...listed.keys()])], HEADS_AT_A_TIME, async (partition) => {
    const head = own.get(partition) ?? null;
    const etag = listed.get(partition);
    const standing =
      head !== null && etag !== undefined && isTagOf(etag, head.md5)
        ? ({ kind: 'same', stored: head } as const)
        : await standingOf(dataRoot, store, partition, head, known?.heads[partition] ?? null, has_moved);
    if (standing !== null) partitions.set(partition, standing);
  });
  const is_older = own_current !== null && stored_current !== null && isBehind(own_current, stored_current);
  const pull_current = stored_current !== null && (own_current === null || has_moved || is_older);
  return { partitions, own_current, stored_current, pull_current };
}

/** True when another writer moved the pointer of the store since the root was last in step with it. */
function hasMoved(own: StoredCurrent | null, stored: StoredCurrent | null, known: StoreMemory | null): boolean {
  if (stored === null || stored.md5 === own?.md5 || stored.md5 === known?.current?.md5) return false;
  return known === null || known.current === null || !isBehind(stored, known.current);
}

/** Null for a head that a listing named and that is not there. */
async function standingOf(
  dataRoot: string,
  store: ObjectStore,
  partition: string,
  own: Stored | null,
  known: Stored | null,
  has_moved: boolean,
): Promise<Standing | null> {
  const stored = await readStoredHead(store, partition);
  if (stored === null) {
    if (own === null) return null;
    return has_moved ? { kind: 'gone' } : { kind: 'ahead', stored: null };
  }
  if (own === null) return { kind: 'theirs', stored };
  if (stored.md5 === own.md5) return { kind: 'same', stored: own };
  const is_made_from_it =
    stored.md5 === known?.md5 ||
    (known !== null && isBehind(stored, known)) ||
    (await isOwnList(dataRoot, partition, stored));
  return is_made_from_it && !has_moved && !isBehind(own, stored)
    ? { kind: 'ahead', stored: storedOf(stored) }
    : { kind: 'theirs', stored };
}

/** True when the root has published the very list that is the newest in the store. */
async function isOwnList(dataRoot: string, partition: string, stored: Stored): Promise<boolean> {
  const list = await readManifest(dataRoot, partition, stored.commit);
  return list !== null && isListOf(list, stored);
}

/** Removes a partition from what a root publishes; its files go with the next sweep. */
export async function dropPartition(dataRoot: string, partition: string): Promise<void> {
  await fs.rm(join(dataRoot, layout.head(partition)), { force: true });
}
