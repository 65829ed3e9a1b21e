import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { columns, counted, EXIT } from '../../schemas/command-line.ts';
import type { Config } from '../config.ts';
import { NotFound, UsageError } from '../error.ts';
import type { IngestedFile } from '../feed.ts';
import { failureOf, ingestFolder, rejectedFile } from '../feeds/folder.ts';
import { pollFeed, publishPoll } from '../feeds/schedule.ts';
import { parseModelKey } from '../forecast/model-bucket.ts';
import { readModelFolder } from '../forecast/model-folder.ts';
import { publishModelHours } from '../forecast/publish-forecast.ts';
import { refreshForecast } from '../forecast/refresh.ts';
import { type Log, openLog, silent } from '../log.ts';
import type { Root } from '../publish/root.ts';
import { FEED_NAMES, feedNames, openFeeds } from '../run/open-feeds.ts';
import { withRoot } from '../run/with-root.ts';
import { listFolder } from '../sources/folder.ts';
import { feedList } from './arguments.ts';

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
Examples:
  hail-pipeline feeds                           what the servers have now
  hail-pipeline feeds --only warnings,watches   two feeds
  hail-pipeline feeds --from ~/reports          files such as 250605_rpts_hail.csv, alerts.json,
                                                hrrr.20260501/conus/hrrr.t00z.wrfsfcf01.grib2`,
    )
    .action(async (options: Options) => {
      const settings = config();
      const report = await readFeeds(settings, options, openLog(settings.log_level, false));
      process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : feedsText(report));
      const is_useless = report.files.length > 0 && report.files.every(({ refused }) => refused !== null);
      if (report.failed.length > 0 || is_useless) process.exitCode = EXIT.failure;
    });
}

/** Outcome of reading feeds once; `feeds --json` prints it. */
interface FeedsReport {
  readonly files: readonly IngestedFile[];
  /** Collections whose rows changed. */
  readonly changed: readonly string[];
  /** Feeds that could not be read, with the reason; of a folder, `files` for a collection that cannot be merged. */
  readonly failed: readonly { readonly feed: string; readonly reason: string }[];
}

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

/** Publishes the files and polls that were read, to the locked data root. */
type Publish = (root: Root) => Promise<FeedsReport>;

/** Polls feeds. Servers are polled before the data root is locked: a slow answer keeps no other process waiting. */
async function pollServers(config: Config, names: readonly string[], log: Log): Promise<Publish> {
  const polls = await Promise.all(openFeeds(config, names, log).map((feed) => pollFeed(feed, config.now())));
  return async (root) => {
    const files: IngestedFile[] = [];
    const changed: string[] = [];
    const failed: { feed: string; reason: string }[] = [];
    for (const poll of polls) {
      const outcome = await publishPoll(root, poll, silent);
      if (outcome.failure !== null) failed.push({ feed: poll.feed.name, reason: outcome.failure });
      files.push(...outcome.files);
      changed.push(...outcome.changed);
    }
    return { files, changed, failed };
  };
}

/** Lists the files of feeds in a folder, at any depth, and reads its model runs. Radar files are passed over. */
async function readFolder(config: Config, folder: string, log: Log): Promise<Publish> {
  const { files: radar, unknown: all, unreadable } = await listFolder(folder);
  if (all.length + unreadable.length === 0) {
    const found = radar.length === 0 ? 'no files' : `${radar.length} radar files only`;
    throw new NotFound('feeds', folder, `holds ${found}, expected files of feeds`);
  }
  const names = all.filter((name) => parseModelKey(name) === null);
  const models = names.length < all.length ? await readModelFolder(folder, log) : { hours: new Map(), refused: [] };
  return async (root) => {
    const files = [
      ...unreadable.map(({ key, reason }) => rejectedFile(key, reason)),
      ...models.refused.map(({ path, reason }) => rejectedFile(path, reason, 'forecast')),
    ];
    const changed: string[] = [];
    const failed: { feed: string; reason: string }[] = [];
    for (const [model, hours] of models.hours) {
      const failure = await failureOf(async () => {
        changed.push(...(await publishModelHours(root, model, hours, config.now(), log)));
      });
      if (failure !== null) failed.push({ feed: model, reason: failure });
    }
    const read = await ingestFolder(root, folder, names, { now_ms: config.now(), provenance: 'observed' });
    files.push(...read.files, ...read.rejected);
    changed.push(...read.changed);
    failed.push(...read.failures.map((reason) => ({ feed: 'files', reason })));
    return { files, changed, failed };
  };
}

function feedsText({ files, changed, failed }: FeedsReport): string {
  const used = files.filter((file) => file.refused === null);
  const items_rejected = used.flatMap((file) => file.set_aside.map((fault) => [file.name, fault.item, fault.reason]));
  const files_rejected = files.flatMap((file) => (file.refused === null ? [] : [[file.name, 'file', file.refused]]));
  const items = used.reduce((sum, file) => sum + file.items, 0);
  const lines = [
    `${counted(used.length, 'file')} with ${counted(items, 'item')}; ${changed.length === 0 ? 'nothing new' : `new in ${changed.join(', ')}`}`,
    ...failed.map(({ feed, reason }) => `${feed} could not be read: ${reason}`),
  ];
  const table = [...files_rejected, ...items_rejected];
  if (table.length > 0) lines.push('rejected:', columns(table));
  return `${lines.join('\n')}\n`;
}
