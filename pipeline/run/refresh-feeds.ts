import fs from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Config } from '../config.ts';
import { asUnreadable, isIsolated, NotFound, Unreadable } from '../error.ts';
import type { IngestedFile } from '../feed.ts';
import type { FeedFile } from '../feeds/collection.ts';
import { ingestFeedFiles } from '../feeds/ingest-feed-files.ts';
import { pollFeed, publishLook } from '../feeds/schedule.ts';
import { type Log, silent } from '../log.ts';
import { parseModelKey } from '../model-runs/model-bucket.ts';
import { type FolderHours, readModelFolder } from '../model-runs/model-folder.ts';
import { publishForecast } from '../model-runs/publish-forecast.ts';
import { openRoot, type Root } from '../publish/root.ts';
import { EVENING_NOTES } from '../simulate/evening.ts';
import { listFolder } from '../sources/folder.ts';
import { openFeeds } from './all-feeds.ts';
import { refreshDerived } from './refresh-derived.ts';

const NO_MODELS: FolderHours = { hours: new Map(), refused: [] };

/** Files of one feed are far smaller; a folder may hold anything. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
/** Files of a folder that are taken together, unless they are large. */
const FILES_AT_ONCE = 200;

/** What reading feeds once did; `feeds --json` prints it as it is. */
export interface FeedsReport {
  readonly files: readonly IngestedFile[];
  /** Collections whose rows changed. */
  readonly changed: readonly string[];
  /** Feeds that could not be read, with the reason; of a folder, `files` for a collection that cannot be joined. */
  readonly failed: readonly { readonly feed: string; readonly reason: string }[];
}

/** Looks at feeds once and publishes what is new. One that cannot be read costs itself only. */
export async function refreshFeeds(config: Config, names: readonly string[], log: Log): Promise<FeedsReport> {
  const { now } = config;
  // Servers are asked before the data root is taken: whoever waits for an answer holds nobody up.
  const looks = await Promise.all(openFeeds(config, names, log).map((feed) => pollFeed(feed, now())));
  return withRoot(config, async (root) => {
    const files: IngestedFile[] = [];
    const changed = new Set<string>();
    const failed: { feed: string; reason: string }[] = [];
    for (const look of looks) {
      const outcome = await publishLook(root, look, silent);
      if (outcome.failure !== null) failed.push({ feed: look.feed.name, reason: outcome.failure });
      files.push(...outcome.files);
      for (const name of outcome.changed) changed.add(name);
    }
    return withDerived(root, config, log, { files, changed: [...changed], failed });
  });
}

/** Reads the files of feeds in a folder, at any depth, and publishes what is new; what they are is told by their names. */
export async function ingestFeedFolder(config: Config, folder: string, log: Log): Promise<FeedsReport> {
  // Raw files of radar products are no business of the feeds: an evening of `simulate` holds both.
  const { files: radar, unknown, unreadable } = await listFolder(folder);
  const all = unknown.filter((name) => !EVENING_NOTES.includes(name));
  if (all.length + unreadable.length === 0)
    throw new NotFound(
      'feeds',
      folder,
      `holds ${radar.length === 0 ? 'no files' : `${radar.length} radar files only`}, expected files of feeds`,
    );
  const names = all.filter((name) => parseModelKey(name) === null);
  const models = names.length < all.length ? await readModelFolder(folder, log) : NO_MODELS;
  return withRoot(config, async (root) => {
    const files = [
      ...unreadable.map(({ key, reason }) => refusedFile(key, reason)),
      ...models.refused.map(({ path, reason }) => refusedFile(path, reason, 'forecast')),
    ];
    const changed = new Set<string>();
    const failed: { feed: string; reason: string }[] = [];
    for (const [model, hours] of models.hours) {
      const failure = await attempted(async () => {
        if (await publishForecast(root, model, hours, config.now())) changed.add('forecast');
      });
      if (failure !== null) failed.push({ feed: model, reason: failure });
    }
    for await (const { batch, refused } of batchesOf(folder, names, config.now())) {
      const failure = await attempted(async () => {
        const taken = await ingestFeedFiles(root, batch, { now_ms: config.now(), provenance: 'observed' });
        files.push(...taken.files);
        for (const name of taken.changed) changed.add(name);
      });
      files.push(...refused);
      if (failure !== null) failed.push({ feed: 'files', reason: failure });
    }
    return withDerived(root, config, log, { files, changed: [...changed], failed });
  });
}

/** Makes what follows from what was read, and from what an earlier run left undone. */
async function withDerived(root: Root, { now }: Config, log: Log, report: FeedsReport): Promise<FeedsReport> {
  const { changed, failed } = await refreshDerived(root, now(), log);
  return {
    ...report,
    changed: [...new Set([...report.changed, ...changed])],
    failed: [...report.failed, ...failed.map(({ table, reason }) => ({ feed: table, reason }))],
  };
}

/** Does what one thing of many needs; returns why that cannot be done, which costs it only. */
export async function attempted(work: () => Promise<void>): Promise<string | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (!isIsolated(error)) throw error;
    return error.message;
  }
}

export interface Batch {
  readonly batch: FeedFile[];
  /** Files of its place in the folder that cannot be had. */
  readonly refused: IngestedFile[];
}

/** Files of a folder, some at a time, so that a folder of any size takes no more memory than a batch. */
export async function* batchesOf(folder: string, names: readonly string[], now_ms: number): AsyncGenerator<Batch> {
  let next: Batch = { batch: [], refused: [] };
  let bytes = 0;
  for (const name of names) {
    const file = await readFeedFile(folder, name, now_ms);
    if ('refused' in file) next.refused.push(file);
    else next.batch.push(file);
    bytes += 'refused' in file ? 0 : file.bytes.length;
    if (next.batch.length < FILES_AT_ONCE && bytes < MAX_FILE_BYTES) continue;
    yield next;
    next = { batch: [], refused: [] };
    bytes = 0;
  }
  yield next;
}

/** A file as it came: when its time says but not after the data clock, because texts name no year and lists no day. One that cannot be had costs itself only. */
async function readFeedFile(folder: string, name: string, now_ms: number): Promise<FeedFile | IngestedFile> {
  const path = join(folder, name);
  try {
    const found = await fs.stat(path);
    const { size, mtimeMs } = found;
    if (!found.isFile()) return refusedFile(name, 'is no file, expected one of a feed');
    if (size > MAX_FILE_BYTES) return refusedFile(name, `${size} bytes, expected at most ${MAX_FILE_BYTES}`);
    return { name: basename(name), bytes: await fs.readFile(path), received_ms: Math.min(Math.floor(mtimeMs), now_ms) };
  } catch (error) {
    const fault = asUnreadable(path, error);
    if (fault instanceof Unreadable) return refusedFile(name, fault.reason);
    throw fault;
  }
}

function refusedFile(name: string, reason: string, collection: string | null = null): IngestedFile {
  return { name: basename(name), collection, items: 0, set_aside: [], others: {}, refused: reason };
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
