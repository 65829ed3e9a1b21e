import fs from 'node:fs/promises';
import { join } from 'node:path';
import { type FeedState, FeedStates } from '../../schemas/collections.ts';
import { layout } from '../../schemas/layout.ts';
import { MANIFEST_VERSION } from '../../schemas/manifest.ts';
import { timestamp } from '../../schemas/time.ts';
import { PipelineError } from '../error.ts';
import type { FeedIdentity } from '../feed.ts';
import { readIfPresent, replaceFile } from '../files.ts';
import type { Root } from '../publish/root.ts';
import { writing } from '../sources/write-fault.ts';

/** States of the feeds as written down last, by name; none on a root that no feed ever filled. */
export async function readFeedStates(dataRoot: string): Promise<Map<string, FeedState>> {
  const text = await readIfPresent(join(dataRoot, layout.feeds));
  if (text === null) return new Map();
  try {
    return new Map(FeedStates.parse(JSON.parse(text)).feeds.map((state) => [state.name, state]));
  } catch (cause) {
    throw new PipelineError('collection', layout.feeds, 'is not a readable list of feeds', { cause });
  }
}

/** Writes down how feeds are; the states of others stay. */
export async function writeFeedStates(root: Root, changed: readonly FeedState[]): Promise<void> {
  const states = await readFeedStates(root.path);
  for (const state of changed) states.set(state.name, state);
  const feeds = [...states.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  root.check();
  const path = join(root.path, layout.feeds);
  const text = `${JSON.stringify({ manifest_version: MANIFEST_VERSION, feeds }, null, 1)}\n`;
  await writing(path, () => replaceFile(path, text));
}

/** Forgets a list of states that cannot be read. */
export async function removeFeedStates(root: Root): Promise<void> {
  root.check();
  await fs.rm(join(root.path, layout.feeds), { force: true });
}

/** State of a feed after a look: a failure leaves the last success what it was. */
export async function stateAfter(
  dataRoot: string,
  feed: FeedIdentity,
  at_ms: number,
  failure: string | null,
): Promise<FeedState> {
  const known = (await readFeedStates(dataRoot)).get(feed.name) ?? neverLookedAt(feed, at_ms);
  const at = timestamp(at_ms);
  return {
    ...known,
    every_s: feed.every_s,
    last_attempt_at: at,
    last_success_at: failure === null ? at : known.last_success_at,
    failure,
    source: failure === null ? 'observed' : known.source,
  };
}

/** State of a feed that was read at an instant. */
export function succeeded(feed: FeedIdentity, at_ms: number, source: FeedState['source']): FeedState {
  const at = timestamp(at_ms);
  return { ...neverLookedAt(feed, at_ms), last_attempt_at: at, last_success_at: at, source };
}

/** State of a feed that is followed from an instant on and was never looked at. */
export function neverLookedAt({ name, collection, every_s }: FeedIdentity, since_ms: number): FeedState {
  const never = { last_attempt_at: null, last_success_at: null, failure: null };
  return { name, collection, every_s, followed_since: timestamp(since_ms), ...never, source: 'observed' };
}
