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

/** States of feeds by name. */
export type StatesByName = Map<string, FeedState>;

/** States of the feeds in `feeds.json`; none where the file is missing. Throws PipelineError when it is damaged. */
export async function readFeedStates(dataRoot: string): Promise<StatesByName> {
  const text = await readIfPresent(join(dataRoot, layout.feeds));
  if (text === null) return new Map();
  try {
    return new Map(FeedStates.parse(JSON.parse(text)).feeds.map((state) => [state.name, state]));
  } catch (cause) {
    throw new PipelineError('collection', layout.feeds, 'is not a readable list of feeds', { cause });
  }
}

/** Adds states to those known, replacing those of the same feeds, and writes `feeds.json`. */
export async function writeFeedStates(
  root: Pick<Root, 'path' | 'check'>,
  changed: readonly FeedState[],
  known?: StatesByName,
): Promise<void> {
  const states = known ?? (await readFeedStates(root.path));
  for (const state of changed) states.set(state.name, state);
  const feeds = [...states.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  root.check();
  const path = join(root.path, layout.feeds);
  const text = `${JSON.stringify({ manifest_version: MANIFEST_VERSION, feeds }, null, 1)}\n`;
  await writing(path, () => replaceFile(path, text));
}

/** Deletes `feeds.json`. */
export async function removeFeedStates(root: Root): Promise<void> {
  root.check();
  await fs.rm(join(root.path, layout.feeds), { force: true });
}

/** State of a feed after a poll; a failure leaves the last success as it was. */
export function stateAfter(
  before: FeedState | undefined,
  feed: FeedIdentity,
  at_ms: number,
  failure: string | null,
): FeedState {
  const known = before ?? neverPolled(feed, at_ms);
  const at = timestamp(at_ms);
  const attempt = { ...known, every_s: feed.every_s, last_attempt_at: at, failure };
  return failure === null ? { ...attempt, last_success_at: at, source: 'observed' } : attempt;
}

/** Writes that feeds were simulated without a failure. */
export async function writeSimulatedStates(root: Root, feeds: readonly FeedIdentity[], at_ms: number): Promise<void> {
  const at = timestamp(at_ms);
  const success = { last_attempt_at: at, last_success_at: at, source: 'simulated' } as const;
  const states = feeds.map((feed) => ({ ...neverPolled(feed, at_ms), ...success }));
  await writeFeedStates(root, states);
}

/** State of a feed that is followed since a time and was never polled. */
export function neverPolled({ name, collection, every_s }: FeedIdentity, since_ms: number): FeedState {
  const never = { last_attempt_at: null, last_success_at: null, failure: null };
  return { name, collection, every_s, followed_since: timestamp(since_ms), ...never, source: 'observed' };
}
