import { join } from 'node:path';
import { FeedStates } from '../../schemas/collections.ts';
import { layout } from '../../schemas/layout.ts';
import { readIfPresent, replaceFile } from '../files.ts';
import { type PushOrder, putUnlessMoved } from './push.ts';
import { md5Of } from './stored.ts';

/** The states of the feeds of a root and those in a store. */
export interface StoredFeeds {
  /** Takes those of the store, where it has some. */
  readonly pull: () => Promise<void>;
  /** Stores those of the root where they changed, with the fence of the writer; never in place of those of a later writer. */
  readonly push: () => Promise<void>;
}

/** Joins `feeds.json` of a root with that of a store. No request is sent. */
export function openStoredFeeds(order: PushOrder): StoredFeeds {
  const { path, store, fence, check, pointerPatience } = order;
  const key = layout.feeds;
  const file = join(path, key);
  /** Hash of the file when it was last in step with the store. */
  let in_step: string | null = null;
  let etag: string | null = null;
  return {
    pull: async () => {
      const found = await store.getUnless(etag, key);
      if (found === null || found === 'unchanged') return;
      const text = Buffer.from(found.content).toString('utf8');
      if ((await readIfPresent(file)) !== text) await replaceFile(file, text);
      [in_step, etag] = [md5Of(text), found.etag];
    },
    push: async () => {
      const text = await readIfPresent(file);
      if (text === null || md5Of(text) === in_step) return;
      check();
      const found = await store.get(key, null, pointerPatience());
      // The lease of this writer is over, as its next check will say.
      if (found !== null && fence !== null && fenceIn(found.content) > fence) return;
      if (await putUnlessMoved(order, key, withFence(text, fence), found)) in_step = md5Of(text);
    },
  };
}

/** Fence of stored states; 0 for none, and for a text that is none: it is replaced. */
function fenceIn(content: Uint8Array): number {
  const [, fence] = /^\s*"fence": (\d+)/m.exec(Buffer.from(content).toString('utf8')) ?? [];
  return Number(fence ?? 0);
}

function withFence(text: string, fence: number | null): string {
  if (fence === null) return text;
  return `${JSON.stringify({ ...FeedStates.parse(JSON.parse(text)), fence }, null, 1)}\n`;
}
