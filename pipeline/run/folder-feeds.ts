import fs from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { ForecastModel } from '../../schemas/tables/forecast.ts';
import { timestamp } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { asUnreadable, isIsolated, NotFound, Unreadable } from '../error.ts';
import type { IngestedFile } from '../feed.ts';
import type { FeedFile } from '../feeds/define-feed.ts';
import { type IngestedFiles, type IngestOptions, ingestFeedFiles } from '../feeds/ingest-files.ts';
import { writeSimulatedStates } from '../feeds/schedule.ts';
import { WEB_FEEDS } from '../feeds/web-feeds.ts';
import { parseModelKey } from '../forecast/model-bucket.ts';
import type { CellHour } from '../forecast/model-cells.ts';
import { modelFeedName } from '../forecast/model-feed.ts';
import { type FolderHours, readModelFolder } from '../forecast/model-folder.ts';
import { publishForecast } from '../forecast/publish-forecast.ts';
import type { Log } from '../log.ts';
import type { Root } from '../publish/root.ts';
import { listFolder } from '../sources/folder.ts';
import { OUTLOOK_FEED } from './open-feeds.ts';
import { type FeedsReport, publishReport } from './refresh-feeds.ts';
import { writeSimulatedFeeds } from './simulated-weather.ts';

const NO_MODELS: FolderHours = { hours: new Map(), refused: [] };
/** Files next to scans that may be of a feed; name and content decide which. */
const FEED_FILE = /\.(?:csv|txt|json|geojson)$/i;
/** Files of feeds are far smaller; a folder may hold anything. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
/** A folder of any size takes no more memory than a batch: this many files, fewer where they are large. */
const BATCH_FILES = 200;

/** Publishes the files of feeds in a folder, at any depth, by their names. Radar files are passed over. */
export async function ingestFeedFolder(config: Config, folder: string, log: Log): Promise<FeedsReport> {
  const { files: radar, unknown: all, unreadable } = await listFolder(folder);
  if (all.length + unreadable.length === 0)
    throw new NotFound(
      'feeds',
      folder,
      `holds ${radar.length === 0 ? 'no files' : `${radar.length} radar files only`}, expected files of feeds`,
    );
  const names = all.filter((name) => parseModelKey(name) === null);
  const models = names.length < all.length ? await readModelFolder(folder, log) : NO_MODELS;
  return publishReport(config, log, async (root) => {
    const files = [
      ...unreadable.map(({ key, reason }) => rejectedFile(key, reason)),
      ...models.refused.map(({ path, reason }) => rejectedFile(path, reason, 'forecast')),
    ];
    const changed: string[] = [];
    const failed: { feed: string; reason: string }[] = [];
    for (const [model, hours] of models.hours) {
      const failure = await failureOf(async () => {
        if (await publishForecast(root, model, hours, config.now())) changed.push('forecast');
      });
      if (failure !== null) failed.push({ feed: model, reason: failure });
    }
    for await (const batch of ingestBatches(root, folder, names, { now_ms: config.now(), provenance: 'observed' })) {
      files.push(...batch.ingested, ...batch.rejected);
      changed.push(...batch.changed);
      if (batch.failure !== null) failed.push({ feed: 'files', reason: batch.failure });
    }
    return { files, changed, failed };
  });
}

/** Outcome of the files of a folder that are no scans. */
export interface FolderFeeds {
  readonly files: readonly IngestedFile[];
  /** Hours of model runs, to be published once the climatology is. */
  readonly hours: ReadonlyMap<ForecastModel, readonly CellHour[]>;
  /** Files of no known kind. */
  readonly unknown: readonly string[];
  /** Files that could not be used, by name, with the reason. */
  readonly failed: readonly FeedFailure[];
}

export interface FeedFailure {
  /** File, collection or model. */
  readonly name: string;
  readonly reason: string;
}

export interface FolderFeedsRequest {
  readonly folder: string;
  /** Names of the files that are no scans, below the folder. */
  readonly names: readonly string[];
  /** True when the scans of the folder are simulated: its files are then all that the feeds have. */
  readonly is_simulated: boolean;
  readonly now_ms: number;
  readonly log: Log;
}

/** Publishes the reports, warnings, watches and outlooks of a folder of scans, and reads its model runs. */
export async function ingestFeedsOfScanFolder(
  root: Root,
  { folder, names, is_simulated, now_ms, log }: FolderFeedsRequest,
): Promise<FolderFeeds> {
  const model_names = names.filter((name) => parseModelKey(name) !== null);
  const models = model_names.length === 0 ? NO_MODELS : await readModelFolder(folder, log);
  const failed: FeedFailure[] = models.refused.map(({ path, reason }) => ({ name: basename(path), reason }));
  const files: IngestedFile[] = [];
  const candidates = names.filter((name) => FEED_FILE.test(name));
  const provenance = is_simulated ? 'simulated' : 'observed';
  for await (const batch of ingestBatches(root, folder, candidates, { now_ms, provenance })) {
    files.push(...batch.ingested.filter(({ collection }) => collection !== null));
    if (batch.failure !== null) failed.push({ name: 'files', reason: batch.failure });
    failed.push(...failuresOf(batch.rejected));
  }
  failed.push(...failuresOf(files));
  if (is_simulated && files.length > 0) {
    await ingestFeedFiles(root, WEB_FEEDS, [], { now_ms, provenance, is_complete: true });
    await writeSimulatedFeeds(root, now_ms);
  }
  const known = new Set([...files.map(({ name }) => name), ...model_names.map((name) => basename(name))]);
  const unknown = names.filter((name) => !known.has(basename(name)));
  return { files, hours: models.hours, unknown, failed };
}

function failuresOf(files: readonly IngestedFile[]): FeedFailure[] {
  return files.flatMap(({ name, refused }) => (refused === null ? [] : [{ name, reason: refused }]));
}

/**
 * Publishes the coming hours of the model runs of a folder, unless all their hours are over. Returns the models that were not
 * published.
 */
export async function publishFolderForecast(
  root: Root,
  { hours: byModel }: Pick<FolderFeeds, 'hours'>,
  now_ms: number,
): Promise<FeedFailure[]> {
  const failed: FeedFailure[] = [];
  for (const [model, hours] of byModel) {
    if (hours.every(({ valid_time }) => valid_time <= now_ms)) {
      failed.push({ name: model, reason: `no hour of its runs ends after ${timestamp(now_ms)}` });
      continue;
    }
    const failure = await failureOf(async () => {
      await publishForecast(root, model, hours, now_ms);
      if (hours.some(({ simulated }) => simulated))
        await writeSimulatedStates(root, [modelFeedName(model), OUTLOOK_FEED], now_ms);
    });
    if (failure !== null) failed.push({ name: model, reason: failure });
  }
  return failed;
}

/** Ingests files of a folder batch by batch. */
async function* ingestBatches(root: Root, folder: string, names: readonly string[], options: IngestOptions) {
  let files: FeedFile[] = [];
  let rejected: IngestedFile[] = [];
  let bytes = 0;
  for (const [index, name] of names.entries()) {
    const file = await readFeedFile(folder, name, options.now_ms);
    if ('refused' in file) rejected.push(file);
    else {
      files.push(file);
      bytes += file.bytes.length;
    }
    const is_full = files.length >= BATCH_FILES || bytes >= MAX_FILE_BYTES;
    if (!is_full && index < names.length - 1) continue;
    let outcome: IngestedFiles = { files: [], changed: [] };
    const failure = await failureOf(async () => {
      outcome = await ingestFeedFiles(root, WEB_FEEDS, files, options);
    });
    yield { ingested: outcome.files, changed: outcome.changed, rejected, failure };
    [files, rejected, bytes] = [[], [], 0];
  }
}

/** Message of an isolated error of `work`; null when there was none. Throws other errors. */
async function failureOf(work: () => Promise<void>): Promise<string | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (!isIsolated(error)) throw error;
    return error.message;
  }
}

/**
 * A file of a folder, rejected when it cannot be read. It counts as received when it was written, but not after the data clock:
 * times of texts have no year, and those of lists no day.
 */
async function readFeedFile(folder: string, name: string, now_ms: number): Promise<FeedFile | IngestedFile> {
  const path = join(folder, name);
  try {
    const found = await fs.stat(path);
    const { size, mtimeMs } = found;
    if (!found.isFile()) return rejectedFile(name, 'is no file, expected one of a feed');
    if (size > MAX_FILE_BYTES) return rejectedFile(name, `${size} bytes, expected at most ${MAX_FILE_BYTES}`);
    return { name: basename(name), bytes: await fs.readFile(path), received_ms: Math.min(Math.floor(mtimeMs), now_ms) };
  } catch (error) {
    const fault = asUnreadable(path, error);
    if (fault instanceof Unreadable) return rejectedFile(name, fault.reason);
    throw fault;
  }
}

function rejectedFile(name: string, reason: string, collection: string | null = null): IngestedFile {
  return { name: basename(name), collection, items: 0, set_aside: [], others: {}, refused: reason };
}
