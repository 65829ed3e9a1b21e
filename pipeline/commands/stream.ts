import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { STOP_SIGNALS } from '../../schemas/command-line.ts';
import type { Config } from '../config.ts';
import { UsageError } from '../error.ts';
import { openStreamLog } from '../log.ts';
import { watchedStream } from '../metrics/watched-stream.ts';
import { FEED_NAMES, feedNames } from '../run/open-feeds.ts';
import { type StreamSource, streamSource } from '../run/stream.ts';
import { SCAN_PRODUCTS } from '../sources/plan.ts';
import { feedList, plainNumber, productList, readerThreads } from './arguments.ts';

interface Options {
  readonly source?: 'dir' | 'noaa';
  readonly from?: string;
  readonly products?: readonly string[];
  readonly every: number;
  readonly feeds?: readonly string[] | false;
}

/** `hail-pipeline stream`: follows a source and publishes each scan as it comes, until it is stopped. */
export function streamCommand(config: () => Config): Command {
  return new Command('stream')
    .description('follow a folder or the public bucket and publish each scan as it comes')
    .addOption(
      new Option('--source <word>', 'where raw files come from (default: dir with --from, else noaa)').choices([
        'dir',
        'noaa',
      ]),
    )
    .option('--from <folder>', 'folder to watch, at any depth; it is only read')
    .option(
      '--products <list>',
      `products to fetch, comma-separated (default: all of ${SCAN_PRODUCTS.join(',')})`,
      productList,
    )
    .option('--every <seconds>', 'time between two polls', plainNumber(0.1, 3600), 5)
    .addOption(
      new Option(
        '--feeds <list>',
        `other feeds to read, comma-separated (default: all with --source noaa, else none): ${FEED_NAMES.join(',')}`,
      ).argParser(feedList),
    )
    .option('--no-feeds', 'scans only')
    .addHelpText(
      'after',
      '\nExamples:\n  hail-pipeline stream                                 follow the public bucket\n  hail-pipeline stream --source dir --from ~/incoming  watch a folder',
    )
    .action(async (options: Options) => {
      const source = sourceOf(options);
      const settings = config();
      const stop = new AbortController();
      for (const signal of STOP_SIGNALS) process.once(signal, () => stop.abort());
      const feeds =
        options.feeds === false
          ? []
          : (options.feeds ?? (source.kind === 'noaa' ? feedNames(settings.model.name) : []));
      const request = { source, feeds, every_ms: options.every * 1000, threads: readerThreads(), print, stop };
      const log = openStreamLog(settings.log_level, process.stderr.isTTY === true);
      await watchedStream(settings, log, (watched) => streamSource(settings, { ...request, log: watched }));
    });
}

/** Options that fit together, or a UsageError before any work. */
function sourceOf({ source, from, products = SCAN_PRODUCTS }: Options): StreamSource {
  const kind = source ?? (from === undefined ? 'noaa' : 'dir');
  if (kind === 'noaa') {
    if (from !== undefined) throw new UsageError('--from goes with --source dir, found --source noaa');
    return { kind, products };
  }
  if (from === undefined) throw new UsageError('--source dir needs --from FOLDER');
  return { kind, folder: resolve(from) };
}

/** Writes a line at a terminal; elsewhere the log has it. */
function print(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`hail-pipeline: ${line}\n`);
}
