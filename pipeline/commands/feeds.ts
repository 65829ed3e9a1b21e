import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { columns, counted, EXIT } from '../../schemas/command-line.ts';
import type { Config } from '../config.ts';
import { UsageError } from '../error.ts';
import { openLog } from '../log.ts';
import { leaveMetrics } from '../metrics/leave-metrics.ts';
import { ingestFeedFolder } from '../run/folder-feeds.ts';
import { FEED_NAMES, feedNames } from '../run/open-feeds.ts';
import { type FeedsReport, refreshFeeds } from '../run/refresh-feeds.ts';
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
  hail-pipeline feeds --from ~/reports          files such as 250605_rpts_hail.csv, alerts.json, PTSDY1.txt,
                                                hrrr.20260501/conus/hrrr.t00z.wrfsfcf01.grib2`,
    )
    .action(async ({ only, from, json }: Options) => {
      if (only !== undefined && from !== undefined) throw new UsageError('--only names servers, and --from a folder');
      const settings = config();
      const run = { command: 'feeds', log: openLog(settings.log_level, false) } as const;
      const report = await leaveMetrics(settings, run, (log) =>
        from === undefined
          ? refreshFeeds(settings, only ?? feedNames(settings.model.name), log)
          : ingestFeedFolder(settings, resolve(from), log),
      );
      process.stdout.write(json ? `${JSON.stringify(report)}\n` : feedsText(report));
      const is_useless = report.files.length > 0 && report.files.every(({ refused }) => refused !== null);
      if (report.failed.length > 0 || is_useless) process.exitCode = EXIT.failure;
    });
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
  if (table.length > 0) lines.push('set aside:', columns(table));
  return `${lines.join('\n')}\n`;
}
