import fs from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Config } from '../config.ts';
import { asUnreadable, NotFound } from '../error.ts';
import { filesBelow } from '../files.ts';
import { openRoot, type Root } from '../publish/root.ts';
import { openWeb } from '../sources/web.ts';
import type { WebFeed } from '../sources/web-feeds.ts';
import { stateAfter, writeFeedStates } from './feed-states.ts';
import { lookAt } from './look-at-feed.ts';
import { type Taken, takeFeedFiles } from './take-feed-files.ts';

/** Files of one feed are far smaller; a folder may hold anything. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
/** Files of a folder that are taken together. */
const FILES_AT_ONCE = 200;

/** What reading feeds once did; `feeds --json` prints it as it is. */
export interface FeedsReport {
  readonly files: Taken['files'];
  /** Collections whose rows changed. */
  readonly changed: readonly string[];
  /** Feeds that could not be read, with the reason. */
  readonly failed: readonly { readonly feed: string; readonly reason: string }[];
}

/** Looks at feeds of the web once and publishes what is new. One that cannot be read costs itself only. */
export async function refreshFeeds(config: Config, feeds: readonly WebFeed[]): Promise<FeedsReport> {
  const { web: addresses, now } = config;
  const web = openWeb(addresses.user_agent);
  // Servers are asked before the data root is taken: whoever waits for an answer holds nobody up.
  const looks = await Promise.all(
    feeds.map(async (feed) => ({ feed, at_ms: now(), ...(await lookAt(feed, web, addresses, now())) })),
  );
  return withRoot(config, async (root) => {
    const files: Taken['files'][number][] = [];
    const changed = new Set<string>();
    const failed: { feed: string; reason: string }[] = [];
    for (const { feed, at_ms, files: fetched, failure } of looks) {
      const named = fetched.map(({ name, bytes }) => ({ name, bytes, received_ms: at_ms }));
      const looked_at = failure === null ? [feed.collection] : [];
      const taken = await takeFeedFiles(root, named, { now_ms: at_ms, provenance: 'observed', looked_at });
      const refused = taken.files.find((file) => file.refused !== null);
      const reason = failure ?? (refused === undefined ? null : `${refused.name}: ${refused.refused}`);
      await writeFeedStates(root, [await stateAfter(root.path, feed, at_ms, reason)]);
      if (reason !== null) failed.push({ feed: feed.name, reason });
      files.push(...taken.files);
      for (const name of taken.changed) changed.add(name);
    }
    return { files, changed: [...changed], failed };
  });
}

/** Reads the files of feeds in a folder, at any depth, and publishes what is new; what they are is told by their names. */
export async function takeFeedFolder(config: Config, folder: string): Promise<FeedsReport> {
  const names = await filesBelow(folder);
  if (names.length === 0) throw new NotFound('feeds', folder, 'holds no files, expected files of feeds');
  return withRoot(config, async (root) => {
    const files: Taken['files'][number][] = [];
    const changed = new Set<string>();
    for (let first = 0; first < names.length; first += FILES_AT_ONCE) {
      const batch = await Promise.all(
        names.slice(first, first + FILES_AT_ONCE).map((name) => readFeedFile(folder, name)),
      );
      const taken = await takeFeedFiles(root, batch, { now_ms: config.now(), provenance: 'observed' });
      files.push(...taken.files);
      for (const name of taken.changed) changed.add(name);
    }
    return { files, changed: [...changed], failed: [] };
  });
}

/** A file as it came: when its time says, because texts name no year and lists no day. */
async function readFeedFile(folder: string, name: string) {
  const path = join(folder, name);
  try {
    const { size, mtimeMs } = await fs.stat(path);
    const bytes = size > MAX_FILE_BYTES ? new Uint8Array() : await fs.readFile(path);
    return { name: basename(name), bytes, received_ms: Math.floor(mtimeMs) };
  } catch (error) {
    throw asUnreadable(path, error);
  }
}

async function withRoot<Result>(config: Config, work: (root: Root) => Promise<Result>): Promise<Result> {
  const { data_root, storm_day_start_hour, now } = config;
  const root = await openRoot(data_root, 'hail-pipeline feeds', storm_day_start_hour, now());
  try {
    return await work(root);
  } finally {
    await root.close();
  }
}
