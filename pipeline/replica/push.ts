import fs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isBehind, type Version } from '../../schemas/fence.ts';
import { headOf } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import type { Manifest, PublishedFile } from '../../schemas/manifest.ts';
import type { ListedObject, ObjectHead, ObjectStore, Patience } from '../../schemas/object-store/client.ts';
import { putFile } from '../../schemas/object-store/files.ts';
import { Overtaken } from '../error.ts';
import { jsonLine } from '../publish/commit.ts';
import { readManifest, readManifestOf } from '../publish/manifests.ts';
import { inParallel } from '../sources/parallel.ts';
import { FILES_AT_A_TIME, type Moved, readNumbered, sumOfMoved } from './pull.ts';
import {
  currentIn,
  headIn,
  isTagOf,
  md5Of,
  readText,
  type Stored,
  type StoredHead,
  type StoredText,
} from './stored.ts';

/** With more files than this, asking which of them are there costs less than storing them again. */
const LISTED_FROM_FILES = 24;
/** Larger files are read and stored one at a time, so that memory stays bounded. */
const LARGE_BYTES = 8 * 1024 * 1024;
/** The sweep deletes files that no list names a day after they were stored; one that was left there half that long ago is stored again. */
const TRUSTED_AGE_MS = 12 * 3_600_000;

/** A root whose commits are brought to a store. */
export interface PushOrder {
  readonly path: string;
  readonly store: ObjectStore;
  /** Throws when the lease is lost; called before every list and pointer. */
  readonly check: () => void;
  /** For the PUT of a head or of the pointer, which must end before the lease does. */
  readonly pointerPatience: () => Patience;
  /** Fence of this writer; null for one that is known to be the only one. */
  readonly fence: number | null;
  /** Is told of files that are to be stored, and, negative, of those that were. */
  readonly lag: (change: Moved) => void;
}

/** A partition to push. */
export interface PartitionPush {
  readonly partition: string;
  /** Its head in the store; null: none. */
  readonly stored: Stored | null;
  /** The commit that the pointer pins, when it is another than that of the head. */
  readonly pinned: number | null;
}

/** A partition whose files and numbered lists are in the store, so that its head may follow. */
export interface ReadyHead {
  readonly head: StoredHead;
  readonly moved: Moved;
}

/** Stores the files of a partition that the store does not have, then its numbered lists. */
export async function pushLists(order: PushOrder, { partition, stored, pinned }: PartitionPush): Promise<ReadyHead> {
  const { path, check } = order;
  const key = layout.head(partition);
  const head = headIn(join(path, key), await fs.readFile(join(path, key), 'utf8'));
  const older = pinned === null ? null : await readManifest(path, partition, pinned);
  const lists = [...(older === null ? [] : [older]), await readManifestOf(path, head.head)];
  const present = stored === null ? new Set<string>() : await pathsInStore(order, partition, stored);
  const missing = new Map(
    lists
      .flatMap(({ files }) => files.map((file) => [file.path, file] as const))
      .filter(([name]) => !present.has(name)),
  );
  const moved = await pushFiles(order, [...missing.values()]);
  for (const list of lists) {
    if (list.commit === stored?.commit) continue;
    check();
    await pushNumbered(order, list, stored);
  }
  return { head, moved };
}

/** Paths of the files that the list of a head in the store names: they are there. */
async function pathsInStore({ path, store }: PushOrder, partition: string, stored: Stored): Promise<Set<string>> {
  const own = await readManifest(path, partition, stored.commit);
  const list =
    own !== null && isListOf(own, stored) ? own : (await readNumbered(store, partition, stored.commit)).manifest;
  return new Set(list.files.map((file) => file.path));
}

/** True when a head in a store is that of a list. */
export function isListOf(manifest: Manifest, stored: Stored): boolean {
  return md5Of(jsonLine(headOf(manifest))) === stored.md5;
}

async function pushFiles(order: PushOrder, files: readonly PublishedFile[]): Promise<Moved> {
  const { path, store } = order;
  const left = files.length < LISTED_FROM_FILES ? files : await absentFiles(order, files);
  order.lag(sumOfMoved(left.map(({ bytes }) => ({ files: 1, bytes }))));
  const put = async (file: PublishedFile): Promise<Moved> => {
    await putFile(store, file.path, join(path, file.path), file);
    order.lag({ files: -1, bytes: -file.bytes });
    return { files: 1, bytes: file.bytes };
  };
  const [large, small] = [
    left.filter(({ bytes }) => bytes > LARGE_BYTES),
    left.filter(({ bytes }) => bytes <= LARGE_BYTES),
  ];
  return sumOfMoved([...(await inParallel(small, FILES_AT_A_TIME, put)), ...(await inParallel(large, 1, put))]);
}

/** The files that are not in the store, as after a push that was killed. */
async function absentFiles({ path, store }: PushOrder, files: readonly PublishedFile[]): Promise<PublishedFile[]> {
  const present = new Map<string, ListedObject>();
  for (const folder of new Set(files.map((file) => dirname(file.path))))
    for await (const object of store.list(`${folder}/`)) present.set(object.key, object);
  if (present.size === 0) return [...files];
  // The store's own clock, by an object that is stored now.
  await store.put(layout.root, await fs.readFile(join(path, layout.root)));
  const now_ms = (await store.head(layout.root))?.modified_ms ?? 0;
  const trusted = await inParallel(files, FILES_AT_A_TIME, async (file) => {
    const object = present.get(file.path);
    if (object === undefined || object.bytes !== file.bytes || now_ms - object.modified_ms > TRUSTED_AGE_MS)
      return false;
    // Objects in parts have tags of another kind: their size was compared.
    return object.etag.includes('-') || isTagOf(object.etag, md5Of(await fs.readFile(join(path, file.path))));
  });
  return files.filter((_, k) => !trusted[k]);
}

/**
 * Stores a numbered list unless it is there. Never replaces another one, which readers may have read, but for one that no head has
 * named, left by a push of this root that was killed.
 */
async function pushNumbered({ store, path, fence }: PushOrder, list: Manifest, stored: Stored | null): Promise<void> {
  const key = layout.manifest(list.partition, list.commit);
  const content = await fs.readFile(join(path, key));
  const found = await store.head(key);
  const isSame = async () =>
    found !== null && (isTagOf(found.etag, md5Of(content)) || (await readText(store, key)) === content.toString());
  if (await isSame()) return;
  if (found !== null && (fence !== null || list.commit <= (stored?.commit ?? 0)))
    throw new Overtaken(
      'publish',
      `${store.name}/${key}`,
      'is the list of another writer, expected none of this number',
    );
  await store.put(key, content);
}

/** Moves a head or the pointer of the store to `next`, unless another writer has moved it since it was `known`. */
export async function movePointer(
  { store, check, pointerPatience, fence }: PushOrder,
  key: string,
  next: StoredText,
  known: Stored | null,
): Promise<void> {
  check();
  const found = await store.head(key, pointerPatience());
  if (found !== null && isTagOf(found.etag, next.md5)) return;
  const isKnown = found === null ? known === null : known !== null && isTagOf(found.etag, known.md5);
  if (found !== null && !isKnown) {
    const theirs = await readText(store, key);
    if (theirs === next.text) return;
    const version = theirs === null ? null : pointerIn(`${store.name}/${key}`, key, theirs);
    if (version !== null && version.md5 !== known?.md5 && !isOvertaken(version, known, next, fence))
      throw new Overtaken(
        'publish',
        `${store.name}/${key}`,
        `is commit ${versionText(version)} of another writer, expected ${known === null ? 'none' : versionText(known)}`,
      );
  }
  if (!(await putUnlessMoved({ store, check, pointerPatience }, key, next.text, found)))
    throw new Overtaken('publish', `${store.name}/${key}`, 'was moved by another writer meanwhile, expected none');
}

/** Stores a text in place of what was found under its key; false, and nothing is stored, when another writer was there meanwhile. */
export async function putUnlessMoved(
  { store, check, pointerPatience }: Pick<PushOrder, 'store' | 'check' | 'pointerPatience'>,
  key: string,
  text: string,
  found: Pick<ObjectHead, 'etag'> | null,
): Promise<boolean> {
  check();
  const content = Buffer.from(text);
  const condition = found === null ? ({ if_absent: true } as const) : ({ if_etag: found.etag } as const);
  const outcome = UNCONDITIONAL.has(store)
    ? 'unsupported'
    : await store.putIf(key, content, condition, pointerPatience());
  if (outcome !== 'unsupported') return outcome === 'stored';
  UNCONDITIONAL.add(store);
  check();
  await store.put(key, content, pointerPatience());
  return true;
}

/** Stores that do not know conditions: they are not asked again. */
const UNCONDITIONAL = new WeakSet<ObjectStore>();

/** True for what a writer with a lower fence left, and for a stale answer: it is replaced. */
function isOvertaken(found: Version, known: Stored | null, next: Version, fence: number | null): boolean {
  if (known !== null && isBehind(found, known)) return true;
  return fence !== null && (found.fence ?? 0) < (next.fence ?? 0);
}

function pointerIn(path: string, key: string, text: string): StoredText {
  return key === layout.current ? currentIn(path, text) : headIn(path, text);
}

export function versionText({ commit, fence }: Version): string {
  return fence === undefined ? String(commit) : `${commit} (fence ${fence})`;
}

/** Stores the live files of a pointer that the one before it did not name. */
export async function pushLive({ path, store }: PushOrder, files: readonly string[]): Promise<Moved> {
  const moved = await inParallel(files, FILES_AT_A_TIME, async (name): Promise<Moved> => {
    const { size } = await fs.stat(join(path, name));
    await putFile(store, name, join(path, name));
    return { files: 1, bytes: size };
  });
  return sumOfMoved(moved);
}
