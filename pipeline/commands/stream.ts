import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Command, Option } from 'commander';
import { layout } from '../../schemas/layout.ts';
import { addDays, utcDate } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { isPassing, UsageError } from '../error.ts';
import { type Log, openStreamLog } from '../log.ts';
import { newestScan } from '../publish/live-window.ts';
import { openRoot, type Root } from '../publish/root.ts';
import { startReadPool } from '../run/read-pool.ts';
import { openSession } from '../run/session.ts';
import { listArchive, readRejections, withoutKnown } from '../sources/archive.ts';
import { downloadAll, listBucket } from '../sources/bucket.ts';
import { listFolder } from '../sources/folder.ts';
import { gathered } from '../sources/gather.ts';
import { type Arrival, watch } from '../sources/inbox.ts';
import type { SourceFile } from '../sources/names.ts';
import { DEFAULT_PRODUCTS } from '../sources/plan.ts';
import { Unavailable } from '../sources/retry.ts';
import { plainNumber, productList, readerThreads } from './cli.ts';
import { follow, pause } from './follow.ts';

/** On an empty root the bucket is followed from this long ago; after a pause, from the newest scan but at most from a day ago. */
const FIRST_LOOK_BACK_MS = 30 * 60_000;
const LONGEST_LOOK_BACK_MS = 24 * 60 * 60_000;
/** Files may appear in the bucket this much later than newer ones. */
const LATE_FILES_MS = 10 * 60_000;

interface Options {
  readonly source?: 'dir' | 'noaa';
  readonly from?: string;
  readonly products?: readonly string[];
  readonly every: number;
}

/** `hail-pipeline stream`: follows a source and publishes each scan as it comes, until it is told to stop. */
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
      `products to fetch, comma-separated (default: ${DEFAULT_PRODUCTS.join(',')})`,
      productList,
    )
    .option('--every <seconds>', 'time between two looks', plainNumber(0.1, 3600), 5)
    .addHelpText(
      'after',
      '\nExamples:\n  hail-pipeline stream                                 follow the public bucket\n  hail-pipeline stream --source dir --from ~/incoming  watch a folder',
    )
    .action(async (options: Options) => {
      const word = options.source ?? (options.from === undefined ? 'noaa' : 'dir');
      if (word === 'dir' && options.from === undefined) throw new UsageError('--source dir needs --from FOLDER');
      if (word === 'noaa' && options.from !== undefined)
        throw new UsageError('--from goes with --source dir, found --source noaa');
      await stream(config(), options, word);
    });
}

async function stream(config: Config, options: Options, word: 'dir' | 'noaa'): Promise<void> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  const log = openStreamLog(config.log_level, process.stderr.isTTY === true);
  const readers = startReadPool(readerThreads());
  const every_ms = options.every * 1000;
  const { storm_day_start_hour, now, raw_keep_days } = config;
  try {
    await follow({
      open: async () => {
        const root = await openRoot(config.data_root, 'hail-pipeline stream', storm_day_start_hour, now());
        const session = openSession(root, readers, {
          storm_day_start_hour,
          now,
          log,
          raw_keep_days,
          move_raw: word === 'noaa',
          each_scan: true,
          signal: stop.signal,
        });
        return { root, session };
      },
      arrivals: (root) => {
        log.info('Stream:Start', { source: word, data: config.data_root });
        const found =
          word === 'dir'
            ? watch({ folder: resolve(options.from as string), poll_ms: every_ms, signal: stop.signal })
            : poll(config, options.products ?? DEFAULT_PRODUCTS, root, log, every_ms, stop.signal);
        return gathered(found);
      },
      log,
      tell: (line) => {
        if (process.stderr.isTTY) process.stderr.write(`hail-pipeline: ${line}\n`);
      },
      every_ms,
      raw_keep_days,
      signal: stop.signal,
    });
    log.info('Stream:Stop', {});
  } finally {
    stop.abort();
    await readers.close();
  }
}

/** Arrivals in the public bucket, fetched into the inbox. */
async function* poll(
  config: Config,
  products: readonly string[],
  opened: () => Root,
  log: Log,
  every_ms: number,
  signal: AbortSignal,
): AsyncGenerator<Arrival, void, undefined> {
  const folder = join(opened().path, layout.inbox('noaa'));
  let left: readonly SourceFile[] | null = null;
  while (!signal.aborted) {
    try {
      const root = opened();
      root.check();
      await mkdir(folder, { recursive: true });
      // What a killed run had fetched or kept without publishing it comes first.
      if (left === null) {
        const kept = await keptSince(root, followedFrom(config.now(), root));
        left = [...(await listFolder(folder)).files, ...kept];
        if (left.length > 0) yield { files: left, unknown: [], unreadable: [] };
      }
      const now_ms = config.now();
      const from_ms = followedFrom(now_ms, root);
      const listing = await listBucket({
        base_url: config.mrms_url,
        products,
        from_ms,
        to_ms: now_ms,
        network: { signal },
      });
      const wanted = withoutKnown(
        listing.files,
        await keptSince(root, from_ms),
        await readRejections(root.path, 'observed', listing.files),
      );
      root.check();
      const { files, failed } = await downloadAll({ files: wanted, folder, network: { signal } });
      for (const { file, error } of failed) log.warn('File:Fetch:Failed', { file: file.key, reason: error.message });
      if (files.length > 0) yield { files, unknown: [], unreadable: [] };
    } catch (error) {
      if (signal.aborted) return;
      // A bucket that cannot be reached now may be reached with the next look, a full disk have room: the stream goes on, and says so.
      if (error instanceof Unavailable) log.warn('Bucket:List:Failed', { reason: error.message });
      else if (isPassing(error)) log.warn('File:Fetch:Failed', { reason: error.message });
      else throw error;
    }
    await pause(every_ms, signal);
  }
}

/** Time of the oldest file that is still looked for in the bucket. */
function followedFrom(now_ms: number, root: Root): number {
  const observed = [...root.heads.values()].filter((head) => head.provenance === 'observed');
  const newest_ms = newestScan(observed);
  if (newest_ms === null) return now_ms - FIRST_LOOK_BACK_MS;
  return Math.max(now_ms - LONGEST_LOOK_BACK_MS, Math.min(newest_ms, now_ms) - LATE_FILES_MS);
}

async function keptSince(root: Root, from_ms: number): Promise<SourceFile[]> {
  const dates = [addDays(utcDate(from_ms), -1), utcDate(from_ms), addDays(utcDate(from_ms), 1)];
  return listArchive(root.path, 'observed', dates);
}
