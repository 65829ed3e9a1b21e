import fs from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Config } from '../config.ts';
import { asUnreadable, NotFound } from '../error.ts';
import { filesBelow } from '../files.ts';
import { type Log, silent } from '../log.ts';
import { openRoot, type Root } from '../publish/root.ts';
import { parseModelKey } from '../sources/model-names.ts';
import { openFeeds } from './all-feeds.ts';
import { readModelFolder } from './model-feed.ts';
import { publishForecast } from './publish-forecast.ts';
import { publishOutlook } from './publish-outlook.ts';
import { lookAt, publishLook } from './schedule.ts';
import { type TakenFile, takeFeedFiles } from './take-feed-files.ts';

const NO_MODELS: Awaited<ReturnType<typeof readModelFolder>> = new Map();

/** Files of one feed are far smaller; a folder may hold anything. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
/** Files of a folder that are taken together. */
const FILES_AT_ONCE = 200;

/** What reading feeds once did; `feeds --json` prints it as it is. */
export interface FeedsReport {
  readonly files: readonly TakenFile[];
  /** Collections whose rows changed. */
  readonly changed: readonly string[];
  /** Feeds that could not be read, with the reason. */
  readonly failed: readonly { readonly feed: string; readonly reason: string }[];
}

/** Looks at feeds once and publishes what is new. One that cannot be read costs itself only. */
export async function refreshFeeds(config: Config, names: readonly string[], log: Log): Promise<FeedsReport> {
  const { now } = config;
  // Servers are asked before the data root is taken: whoever waits for an answer holds nobody up.
  const looks = await Promise.all(openFeeds(config, names, log).map((feed) => lookAt(feed, now())));
  return withRoot(config, async (root) => {
    const files: TakenFile[] = [];
    const changed = new Set<string>();
    const failed: { feed: string; reason: string }[] = [];
    for (const look of looks) {
      const outcome = await publishLook(root, look, silent);
      if (outcome.failure !== null) failed.push({ feed: look.feed.name, reason: outcome.failure });
      files.push(...outcome.files);
      for (const name of outcome.changed) changed.add(name);
    }
    return { files, changed: [...changed], failed };
  });
}

/** Reads the files of feeds in a folder, at any depth, and publishes what is new; what they are is told by their names. */
export async function takeFeedFolder(config: Config, folder: string, log: Log): Promise<FeedsReport> {
  const all = await filesBelow(folder);
  if (all.length === 0) throw new NotFound('feeds', folder, 'holds no files, expected files of feeds');
  const names = all.filter((name) => parseModelKey(name) === null);
  const models = names.length < all.length ? await readModelFolder(folder, log) : NO_MODELS;
  return withRoot(config, async (root) => {
    const files: TakenFile[] = [];
    const changed = new Set<string>();
    for (const [model, hours] of models)
      if (await publishForecast(root, model, hours, config.now())) changed.add('forecast');
    for (let first = 0; first < names.length; first += FILES_AT_ONCE) {
      const batch = await Promise.all(
        names.slice(first, first + FILES_AT_ONCE).map((name) => readFeedFile(folder, name)),
      );
      const taken = await takeFeedFiles(root, batch, { now_ms: config.now(), provenance: 'observed' });
      files.push(...taken.files);
      for (const name of taken.changed) changed.add(name);
    }
    if (changed.has('outlooks') || changed.has('forecast'))
      if (await publishOutlook(root, config.now())) changed.add('outlook');
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
