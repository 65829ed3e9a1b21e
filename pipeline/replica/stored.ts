import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Version } from '../../schemas/fence.ts';
import { Head } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import { Current } from '../../schemas/manifest.ts';
import type { ObjectStore } from '../../schemas/object-store/client.ts';
import { parseRecord } from '../publish/manifests.ts';

/** Version and content of a head or of the pointer. Equal MD5 means equal content: stores state it as the tag of a small object. */
export const Stored = z.object({
  commit: z.int().nonnegative(),
  fence: z.int().positive().optional(),
  md5: z.string().regex(/^[0-9a-f]{32}$/),
});
export type Stored = z.infer<typeof Stored>;

/** A head or the pointer with its text. */
export interface StoredText extends Stored {
  readonly text: string;
}

export type StoredHead = StoredText & { readonly head: Head };
export type StoredCurrent = StoredText & { readonly current: Current };

/** MD5 of a text, hex: names a content, and protects nothing. */
export function md5Of(text: string | Uint8Array): string {
  return createHash('md5').update(text).digest('hex');
}

/** True when the tag of an object is the MD5 of a content. Some stores have other tags, for which this is always false. */
export function isTagOf(etag: string, md5: string): boolean {
  return etag.replace(/^(W\/)?"|"$/g, '') === md5;
}

/** A head and its version. `path`: where it came from. */
export function headIn(path: string, text: string): StoredHead {
  const head = parseRecord(path, text, Head);
  return { ...storedText(head, text), head };
}

/** The pointer and its version; one of a root that no store has seen has commit 0. */
export function currentIn(path: string, text: string): StoredCurrent {
  const current = parseRecord(path, text, Current);
  return { ...storedText({ commit: current.commit ?? 0, fence: current.fence }, text), current };
}

function storedText({ commit, fence }: Version, text: string): StoredText {
  return { commit, ...(fence === undefined ? {} : { fence }), md5: md5Of(text), text };
}

/** The part of it that is remembered. */
export function storedOf({ commit, fence, md5 }: Stored): Stored {
  return { commit, ...(fence === undefined ? {} : { fence }), md5 };
}

/** Text of an object; null when no object has the key. */
export async function readText(store: ObjectStore, key: string): Promise<string | null> {
  const found = await store.get(key);
  return found === null ? null : Buffer.from(found.content).toString('utf8');
}

export async function readStoredHead(store: ObjectStore, partition: string): Promise<StoredHead | null> {
  const key = layout.head(partition);
  const text = await readText(store, key);
  return text === null ? null : headIn(`${store.name}/${key}`, text);
}

export async function readStoredCurrent(store: ObjectStore): Promise<StoredCurrent | null> {
  const text = await readText(store, layout.current);
  return text === null ? null : currentIn(`${store.name}/${layout.current}`, text);
}

/** Tags of the heads in a store, by partition: one request for every thousand lists. */
export async function listHeads(store: ObjectStore): Promise<Map<string, string>> {
  const tags = new Map<string, string>();
  for await (const { key, etag } of store.list(`${layout.manifests}/`)) {
    const [, partition] = /^manifests\/([^/]+)\/head\.json$/.exec(key) ?? [];
    if (partition !== undefined) tags.set(partition, etag);
  }
  return tags;
}
