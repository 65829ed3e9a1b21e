import { resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { columns, counted, EXIT } from '../../schemas/command-line.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import { FORECAST_MODELS, type ForecastModel } from '../../schemas/tables/forecast.ts';
import { timestamp } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { NotFound, UsageError } from '../error.ts';
import type { Feed, IngestedFile } from '../feed.ts';
import { failureOf, ingestFolder } from '../feeds/folder.ts';
import { ingestFeedFiles, rejectedFile } from '../feeds/ingest-files.ts';
import { pollFeed, publishPoll, writeSimulatedStates } from '../feeds/schedule.ts';
import { openWebFeed, WEB_FEEDS } from '../feeds/web-feeds.ts';
import { parseModelKey } from '../forecast/model-bucket.ts';
import { modelFeed, modelFeedName } from '../forecast/model-feed.ts';
import { readModelFolder } from '../forecast/model-folder.ts';
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

/** Names of all feeds but the scans, with every forecast model. */
export const FEED_NAMES: readonly string[] = [...new Set(FORECAST_MODELS.flatMap(feedNames))];

/** Argument parser: known feeds, comma-separated. */
export function feedList(text: string): string[] {
  const names = text.split(',').filter((name) => name !== '');
  const unknown = names.filter((name) => !FEED_NAMES.includes(name));
  if (names.length === 0 || unknown.length > 0)
    throw new InvalidArgumentError(`Found '${unknown.join(',')}', expected some of ${FEED_NAMES.join(',')}.`);
  return names;
}

/** The feeds with the given names, in the order of `feedNames`. */
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
