import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { STOP_SIGNALS } from '../../schemas/command-line.ts';
import type { Config } from '../config.ts';
import { UsageError } from '../error.ts';
import { openStreamLog } from '../log.ts';
import { watchedStream } from '../metrics/watched-stream.ts';
import { FEED_NAMES, feedNames } from '../run/open-feeds.ts';
import { type StreamSource, streamSource } from '../run/stream.ts';
import { SCAN_PRODUCTS } from '../sources/names.ts';
import { DEFAULT_SEED, feedList, plainNumber, productList, readerThreads, wholeNumber } from './arguments.ts';

/** A simulated scan comes by itself: the wait for it only bounds how late periodic work begins. */
const SIMULATED_POLL_MS = 2000;

interface Options {
  readonly source?: 'dir' | 'noaa' | 'simulate';
  readonly from?: string;
  readonly products?: readonly string[];
  readonly every?: number;
  readonly seed?: number;
  readonly hours?: number;
  readonly feeds?: readonly string[] | false;
  readonly wait?: true;
}

/** `hail-pipeline stream`: follows a source and publishes each scan as it comes, until it is stopped. */
export function streamCommand(config: () => Config): Command {
  return new Command('stream')
    .description('follow a folder, the public bucket or simulated weather, and publish each scan as it comes')
    .addOption(
      new Option('--source <word>', 'where raw files come from (default: dir with --from, else noaa)').choices([
        'dir',
        'noaa',
        'simulate',
      ]),
    )
    .option('--from <folder>', 'folder to watch, at any depth; it is only read')
    .option(
      '--products <list>',
      `products to fetch, comma-separated (default: all of ${SCAN_PRODUCTS.join(',')})`,
      productList,
    )
    .option(
      '--every <seconds>',
      'time between two polls (default: 5); with --source simulate between two scans, whole seconds from 10 to 120 (default: 120)',
      plainNumber(0.1, 3600),
    )
    .option(
      '--seed <number>',
      `number of the simulated weather (default: ${DEFAULT_SEED})`,
      wholeNumber(0, 4_294_967_295),
    )
    .option('--hours <number>', 'hours of simulated weather to begin with (default: 1)', plainNumber(0.1, 48))
    .addOption(
      new Option(
        '--feeds <list>',
        `other feeds to read, comma-separated (default: all with --source noaa, else none): ${FEED_NAMES.join(',')}`,
      ).argParser(feedList),
    )
    .option('--no-feeds', 'scans only')
    .option('--wait', 'stand by while another process holds the data root, and go on from it once that ends')
    .addHelpText(
      'after',
      '\nExamples:\n  hail-pipeline stream                                 follow the public bucket\n  hail-pipeline stream --source dir --from ~/incoming  watch a folder\n  hail-pipeline stream --source simulate               storms that are not real, as a live demo\n  hail-pipeline stream --wait                          a second stream that stands by',
    )
    .action(async (options: Options) => {
      const source = sourceOf(options);
      const settings = config();
      if (source.kind === 'simulate' && settings.clock_is_fixed)
        throw new UsageError('HAIL_NOW fixes the clock, expected it unset: simulated weather goes on with the clock');
      const stop = new AbortController();
      for (const signal of STOP_SIGNALS) process.once(signal, () => stop.abort());
      const feeds =
        options.feeds === false
          ? []
          : (options.feeds ?? (source.kind === 'noaa' ? feedNames(settings.model.name) : []));
      const request = {
        source,
        feeds,
        every_ms: source.kind === 'simulate' ? SIMULATED_POLL_MS : (options.every ?? 5) * 1000,
        threads: readerThreads(),
        print,
        wait: options.wait === true,
        signal: stop.signal,
      };
      const log = openStreamLog(settings.log_level, process.stderr.isTTY === true);
      await watchedStream(settings, log, (watched) => streamSource(settings, { ...request, log: watched }));
    });
}

/** Options that fit together, or a UsageError before any work. */
function sourceOf(options: Options): StreamSource {
  const { source, from, products, seed, hours } = options;
  const kind = source ?? (from === undefined ? 'noaa' : 'dir');
  if (kind === 'simulate') return simulatedWeather(options);
  for (const [name, value] of Object.entries({ seed, hours }))
    if (value !== undefined) throw new UsageError(`--${name} goes with --source simulate, found --source ${kind}`);
  if (kind === 'noaa') {
    if (from !== undefined) throw new UsageError('--from goes with --source dir, found --source noaa');
    return { kind, products: products ?? SCAN_PRODUCTS };
  }
  if (from === undefined) throw new UsageError('--source dir needs --from FOLDER');
  return { kind, folder: resolve(from) };
}

/** Simulated weather of the options, or a UsageError for one that does not go with it. */
function simulatedWeather({ from, products, feeds, every = 120, seed, hours }: Options): StreamSource {
  for (const [name, value] of Object.entries({ from, products, feeds }))
    if (value !== undefined) throw new UsageError(`--${name} does not go with --source simulate`);
  if (!Number.isInteger(every) || every < 10 || every > 120)
    throw new UsageError(`--every is ${every}, expected whole seconds from 10 to 120 with --source simulate`);
  return { kind: 'simulate', seed: seed ?? DEFAULT_SEED, hours: hours ?? 1, interval_ms: every * 1000 };
}

/** Writes a line at a terminal; elsewhere the log has it. */
function print(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`hail-pipeline: ${line}\n`);
}
