import fs from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { columns, counted, EXIT } from '../../schemas/command-line.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import type { ForecastModel } from '../../schemas/tables/forecast.ts';
import { timestamp } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { asUnreadable, BadInput, isIsolated, NotFound, Unreadable, UsageError } from '../error.ts';
import type { Feed, IngestedFile } from '../feed.ts';
import type { FeedFile } from '../feeds/define-feed.ts';
import { type IngestOptions, ingestFeedFiles, rejectedFile, UNKNOWN_KIND } from '../feeds/ingest-files.ts';
import { pollFeed, publishPoll, writeSimulatedStates } from '../feeds/schedule.ts';
import { openWebFeed, WEB_FEEDS } from '../feeds/web-feeds.ts';
import { readable } from '../files.ts';
import { modelKeys, parseModelKey } from '../forecast/model-bucket.ts';
import type { CellHour } from '../forecast/model-cells.ts';
import { decodeHour, openModelDecoder } from '../forecast/model-decoder.ts';
import { modelFeed, modelFeedName } from '../forecast/model-feed.ts';
import {
  CLIMATOLOGY_FEED,
  climatologyFeed,
  OUTLOOK_FEED,
  outlookFeed,
  publishModelHours,
  refreshForecast,
} from '../forecast/publish-forecast.ts';
import { type Log, openLog, silent } from '../log.ts';
import type { Root } from '../publish/root.ts';
import type { ModelFile } from '../read/model-hour.ts';
import { listFolder } from '../sources/folder.ts';
import { type HttpOptions, openWeb } from '../sources/http.ts';
import { writeSimulatedFeeds } from './simulated-weather.ts';
import { withRoot } from './with-root.ts';

interface Options {
  readonly only?: readonly string[];
  readonly from?: string;
  readonly json?: true;
}

/** `hail-pipeline feeds`: reads reports, warnings, watches and outlooks once. */
export function feedsCommand(config: () => Config): Command {
  return new Command('feeds')
    .description(
      'read reports, warnings, watches, outlooks and forecasts once, from their servers or a folder, and publish what is new',
    )
    .addOption(new Option('--only <list>', `some feeds, comma-separated: ${FEED_NAMES.join(',')}`).argParser(feedList))
    .option('--from <folder>', 'folder of files under the names of their sources, at any depth; it is only read')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Files of a folder are such as 250605_rpts_hail.csv, alerts.json, hrrr.20260501/conus/hrrr.t00z.wrfsfcf01.grib2`,
    )
    .action(async (options: Options) => {
      const settings = config();
      const report = await readFeeds(settings, options, openLog(settings.log_level, false));
      process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : feedsText(report));
      const is_useless = report.files.length > 0 && report.files.every(({ refused }) => refused !== null);
      if (report.failed.length > 0 || is_useless) process.exitCode = EXIT.failure;
    });
}

/** Names of all feeds but the scans with one forecast model, each after those it is made from. */
export function feedNames(model: ForecastModel): string[] {
  return [...WEB_FEEDS.map(({ name }) => name), CLIMATOLOGY_FEED.name, model, OUTLOOK_FEED.name];
}

/** Names of all feeds but the scans, with every model that HAIL_MODEL takes. */
export const FEED_NAMES: readonly string[] = [...new Set((['hrrr', 'rrfs'] as const).flatMap(feedNames))];

/** Argument parser: known feeds, comma-separated. */
export function feedList(text: string): string[] {
  const names = text.split(',').filter((name) => name !== '');
  const unknown = names.filter((name) => !FEED_NAMES.includes(name));
  if (names.length === 0 || unknown.length > 0)
    throw new InvalidArgumentError(`Found '${unknown.join(',')}', expected some of ${FEED_NAMES.join(',')}.`);
  return names;
}

/** The feeds with the given names, in the order of `feedNames`. Throws UsageError for the feed of another model than HAIL_MODEL. */
export function openFeeds(config: Config, names: readonly string[], log: Log, network: HttpOptions = {}): Feed[] {
  const { web: addresses, model } = config;
  const web = openWeb(addresses.user_agent, network);
  const server = { base_url: model.url, user_agent: addresses.user_agent, network };
  const all = [
    ...WEB_FEEDS.map((feed) => openWebFeed(feed, web, addresses)),
    climatologyFeed(log),
    modelFeed(model.name, server, config.data_root, log),
    outlookFeed(log),
  ];
  const other = names.find((name) => !all.some((feed) => feed.name === name));
  if (other !== undefined) throw new UsageError(`feed ${other} needs HAIL_MODEL=${other}, found ${model.name}`);
  return all.filter(({ name }) => names.includes(name));
}

/** Outcome of reading feeds once; `feeds --json` prints it. */
interface FeedsReport {
  readonly files: readonly IngestedFile[];
  /** Collections whose rows changed. */
  readonly changed: readonly string[];
  /** Feeds and models that could not be published, with the reason; of a folder, `files` for a collection that cannot be merged. */
  readonly failed: readonly FeedFailure[];
}
type FeedFailure = { readonly feed: string; readonly reason: string };

/** Reads feeds once, from their servers or from a folder, and publishes new rows and the tables derived from them. */
export async function readFeeds(config: Config, { only, from }: Options, log: Log): Promise<FeedsReport> {
  if (only !== undefined && from !== undefined) throw new UsageError('--only names servers, and --from a folder');
  const publish =
    from === undefined
      ? await pollServers(config, only ?? feedNames(config.model.name), log)
      : await readFolder(config, resolve(from), log);
  return withRoot(
    config,
    'feeds',
    async (root) => {
      const { files, changed, failed } = await publish(root);
      const derived = await refreshForecast(root, config.now(), log);
      return {
        files,
        changed: [...new Set([...changed, ...derived.changed])],
        failed: [...failed, ...derived.failed.map(({ table, reason }) => ({ feed: table, reason }))],
      };
    },
    log,
  );
}

/** Publishes what was read to the locked data root. */
type Publish = (root: Root) => Promise<FeedsReport>;

/** Polls feeds. Servers are polled before the data root is locked: a slow answer keeps no other process waiting. */
async function pollServers(config: Config, names: readonly string[], log: Log): Promise<Publish> {
  const polls = await Promise.all(openFeeds(config, names, log).map((feed) => pollFeed(feed, config.now())));
  return async (root) => {
    const files: IngestedFile[] = [];
    const changed: string[] = [];
    const failed: FeedFailure[] = [];
    for (const poll of polls) {
      const outcome = await publishPoll(root, poll, silent);
      if (outcome.failure !== null) failed.push({ feed: poll.feed.name, reason: outcome.failure });
      files.push(...outcome.files);
      changed.push(...outcome.changed);
    }
    return { files, changed, failed };
  };
}

/** Lists the files of feeds in a folder, at any depth. Radar files are passed over. */
async function readFolder(config: Config, folder: string, log: Log): Promise<Publish> {
  const { files: radar, unknown: names, unreadable } = await listFolder(folder);
  if (names.length + unreadable.length === 0) {
    const found = radar.length === 0 ? 'no files' : `${radar.length} radar files only`;
    throw new NotFound('feeds', folder, `holds ${found}, expected files of feeds`);
  }
  return async (root) => {
    const published = await publishFeedFolder(root, folder, names, 'observed', config.now(), log);
    const rejected = unreadable.map(({ key, reason }) => rejectedFile(key, reason));
    return { ...published, files: [...rejected, ...published.files] };
  };
}

/**
 * Publishes reports, warnings, watches, outlooks and model runs of a folder. `names` are its files that are no scans; those of
 * simulated weather are all that its feeds have. A model of which every hour is over is not published.
 */
export async function publishFeedFolder(
  root: Root,
  folder: string,
  names: readonly string[],
  provenance: Provenance,
  now_ms: number,
  log: Log,
): Promise<FeedsReport> {
  const { files, changed, failures } = await ingestFolder(
    root,
    folder,
    names.filter((name) => parseModelKey(name) === null),
    { now_ms, provenance },
  );
  const failed: FeedFailure[] = failures.map((reason) => ({ feed: 'files', reason }));
  if (provenance === 'simulated' && files.some(({ collection }) => collection !== null)) {
    await ingestFeedFiles(root, WEB_FEEDS, [], { now_ms, provenance, is_complete: true });
    await writeSimulatedFeeds(root, now_ms);
  }
  const models = await readModelFolder(folder, names, log);
  for (const [model, hours] of models.hours) {
    const failure = hours.every(({ valid_time }) => valid_time <= now_ms)
      ? `no hour of its runs ends after ${timestamp(now_ms)}`
      : await failureOf(async () => {
          changed.push(...(await publishModelHours(root, model, hours, now_ms, log)));
          if (provenance === 'simulated')
            await writeSimulatedStates(root, [modelFeedName(model), OUTLOOK_FEED], now_ms);
        });
    if (failure !== null) failed.push({ feed: model, reason: failure });
  }
  const refused = models.refused.map(({ path, reason }) => rejectedFile(path, reason, 'forecast'));
  return { files: [...refused, ...files], changed, failed };
}

function feedsText({ files, changed, failed }: FeedsReport): string {
  const used = files.filter((file) => file.refused === null);
  const items = used.reduce((sum, file) => sum + file.items, 0);
  const rejected = [
    ...files.flatMap((file) => (file.refused === null ? [] : [[file.name, 'file', file.refused]])),
    ...used.flatMap((file) => file.set_aside.map((fault) => [file.name, fault.item, fault.reason])),
  ];
  const lines = [
    `${counted(used.length, 'file')} with ${counted(items, 'item')}; ${changed.length === 0 ? 'nothing new' : `new in ${changed.join(', ')}`}`,
    ...failed.map(({ feed, reason }) => `${feed} could not be read: ${reason}`),
    ...(rejected.length > 0 ? ['rejected:', columns(rejected)] : []),
  ];
  return `${lines.join('\n')}\n`;
}

/** Files of other names are of no feed. */
const FEED_FILE = /\.(?:csv|txt|json|geojson)$/i;
/** Files of feeds are far smaller; a folder may hold anything. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
/** A folder of any size takes no more memory than a batch: this many files, fewer where they are large. */
const BATCH_FILES = 200;

/** Ingests files of a folder batch by batch. Returns the outcomes, the collections that changed and the messages of isolated errors. */
async function ingestFolder(root: Root, folder: string, names: readonly string[], options: IngestOptions) {
  const files: IngestedFile[] = [];
  const changed: string[] = [];
  const failures: string[] = [];
  let batch: FeedFile[] = [];
  let bytes = 0;
  for (const [index, name] of names.entries()) {
    const file = await readFeedFile(folder, name, options.now_ms);
    if ('refused' in file) files.push(file);
    else {
      batch.push(file);
      bytes += file.bytes.length;
    }
    const is_full = batch.length >= BATCH_FILES || bytes >= MAX_FILE_BYTES;
    if (!is_full && index < names.length - 1) continue;
    const failure = await failureOf(async () => {
      const ingested = await ingestFeedFiles(root, WEB_FEEDS, batch, options);
      files.push(...ingested.files);
      changed.push(...ingested.changed);
    });
    if (failure !== null) failures.push(failure);
    [batch, bytes] = [[], 0];
  }
  return { files, changed, failures };
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
 * A file of a folder, rejected when it cannot be read. Its last change is its receipt, at the latest the data clock: times of texts have
 * no year, times of lists no day.
 */
async function readFeedFile(folder: string, name: string, now_ms: number): Promise<FeedFile | IngestedFile> {
  const path = join(folder, name);
  if (!FEED_FILE.test(name)) return rejectedFile(name, UNKNOWN_KIND);
  try {
    const found = await fs.stat(path);
    if (!found.isFile()) return rejectedFile(name, 'is no file, expected one of a feed');
    if (found.size > MAX_FILE_BYTES)
      return rejectedFile(name, `${found.size} bytes, expected at most ${MAX_FILE_BYTES}`);
    const received_ms = Math.min(Math.floor(found.mtimeMs), now_ms);
    return { name: basename(name), bytes: await fs.readFile(path), received_ms };
  } catch (error) {
    const fault = asUnreadable(path, error);
    if (fault instanceof Unreadable) return rejectedFile(name, fault.reason);
    throw fault;
  }
}

/** Bound on the files of an hour: 150 MB in HRRR, more in RRFS. */
const MAX_WHOLE_BYTES = 1024 * 2 ** 20;

/**
 * Hours of model runs among files of a folder, in the layout of the public buckets, and the files that were not used, each with the
 * reason; an unusable hour does not affect the others.
 */
export async function readModelFolder(folder: string, names: readonly string[], log: Log) {
  const hours = new Map<ForecastModel, CellHour[]>();
  const refused: { readonly path: string; readonly reason: string }[] = [];
  const found = names.flatMap((key) => {
    const name = parseModelKey(key);
    return name === null ? [] : [{ name, path: join(folder, key) }];
  });
  if (found.length === 0) return { hours, refused };
  const byHour = Map.groupBy(found, ({ name }) => `${name.model} ${name.run_time} ${name.valid_time}`);
  const decoder = openModelDecoder();
  try {
    for (const files of byHour.values()) {
      const [{ name }] = files;
      const paths = files.map(({ path }) => path);
      if (paths.length !== modelKeys(name).length) {
        refused.push(...paths.map((path) => ({ path, reason: 'is a part of an hour of which another is missing' })));
        continue;
      }
      const read = await readFiles(paths);
      const hour = read instanceof Error ? read : await decodeHour(decoder, read, name, log);
      if (hour instanceof Error)
        refused.push({ path: paths.find((path) => path === hour.subject) ?? paths[0], reason: hour.reason });
      else hours.set(name.model, [...(hours.get(name.model) ?? []), hour]);
    }
  } finally {
    await decoder.close();
  }
  return { hours, refused };
}

/** The files of an hour, or the reason why they cannot be read or are together too large for an hour. */
async function readFiles(paths: readonly string[]): Promise<ModelFile[] | BadInput | Unreadable> {
  try {
    const sizes = await Promise.all(paths.map((path) => readable(path, async () => (await fs.stat(path)).size)));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    if (bytes > MAX_WHOLE_BYTES)
      return new BadInput('read', paths[0], `${bytes} bytes in an hour, expected at most ${MAX_WHOLE_BYTES}`);
    return await Promise.all(
      paths.map(async (path) => ({ subject: path, bytes: await readable(path, () => fs.readFile(path)) })),
    );
  } catch (error) {
    if (error instanceof Unreadable) return error;
    throw error;
  }
}
