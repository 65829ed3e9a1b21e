import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command, Option } from 'commander';
import { layout } from '../../schemas/layout.ts';
import { addDays, utcDate } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { UsageError } from '../error.ts';
import { COMPANION_PRODUCTS } from '../grid.ts';
import { newestScan } from '../publish/live-window.ts';
import { openRoot, type Root } from '../publish/root.ts';
import { openStreamReport, type Report } from '../report.ts';
import { openSession, type Session } from '../session.ts';
import { listArchive, readRejections, withoutKnown } from '../sources/archive.ts';
import { downloadAll, listBucket } from '../sources/bucket.ts';
import { listFolder } from '../sources/folder.ts';
import { type Arrival, watch } from '../sources/inbox.ts';
import { SCAN_PRODUCT, type SourceFile } from '../sources/names.ts';
import { DEFAULT_PRODUCTS, lookBack } from '../sources/plan.ts';
import { startReaders } from '../workers.ts';
import { plainNumber } from './cli.ts';
import { productList, readerThreads } from './ingest.ts';

/** What follows from a whole date is drawn again at most this often. */
const SETTLE_EVERY_MS = 5 * 60_000;
const SWEEP_EVERY_MS = 60 * 60_000;
/** A MESH file waits this long for the companions that usually come with it; later ones make the scan again. */
const COMPANION_GRACE_MS = 1500;
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
  const report = openStreamReport(config.log_level, process.stderr.isTTY === true);
  const root = await openRoot(config.data_root, 'hail-pipeline stream', config.storm_day_start_hour, config.now());
  const readers = startReaders(readerThreads());
  try {
    const session = openSession(root, readers, {
      storm_day_start_hour: config.storm_day_start_hour,
      now: config.now,
      report,
      move_raw: word === 'noaa',
      each_scan: true,
      signal: stop.signal,
    });
    const every_ms = options.every * 1000;
    const arrivals =
      word === 'dir'
        ? watch({ folder: resolve(options.from as string), poll_ms: every_ms, signal: stop.signal })
        : poll(config, options.products ?? DEFAULT_PRODUCTS, root, report, every_ms, stop.signal);
    report.info('Stream:Start', { source: word, data: config.data_root });
    await follow(gathered(arrivals), session, root, report, stop.signal);
    report.info('Stream:Stop', {});
  } finally {
    await readers.close();
    await root.close();
  }
}

async function follow(
  arrivals: AsyncIterable<Arrival>,
  session: Session,
  root: Root,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  let [settled_ms, swept_ms] = [Number.NEGATIVE_INFINITY, performance.now()];
  for await (const arrival of orQuiet(arrivals, SETTLE_EVERY_MS)) {
    if (arrival !== null) await publish(arrival, session, report);
    if (signal.aborted) break;
    if (performance.now() - settled_ms >= SETTLE_EVERY_MS) {
      await session.settle();
      settled_ms = performance.now();
    }
    if (performance.now() - swept_ms >= SWEEP_EVERY_MS) {
      // Files carry the time of the machine, whatever the data clock says.
      const { files: swept, bytes } = await root.sweep(Date.now());
      report.info('Root:Sweep:Done', { files: swept, bytes });
      swept_ms = performance.now();
    }
  }
  await session.settle();
}

async function publish({ files, unknown }: Arrival, session: Session, report: Report): Promise<void> {
  const arrived_ms = performance.now();
  for (const key of unknown) report.info('File:Name:Unknown', { file: key });
  const run = await session.ingest(files);
  const seconds = Math.round(performance.now() - arrived_ms) / 1000;
  if (run.scans + run.redone > 0) report.info('Stream:Publish:Done', { scans: run.scans, redone: run.redone, seconds });
}

/** Arrivals, and null whenever none came for a while: what is due is done in quiet times, too. */
async function* orQuiet(
  arrivals: AsyncIterable<Arrival>,
  quiet_ms: number,
): AsyncGenerator<Arrival | null, void, undefined> {
  const iterator = arrivals[Symbol.asyncIterator]();
  let next = iterator.next();
  while (true) {
    const found = await Promise.race([next, sleep(quiet_ms, null, { ref: false })]);
    if (found?.done) return;
    if (found !== null) next = iterator.next();
    yield found?.value ?? null;
  }
}

/** Arrivals in the public bucket, fetched into the inbox. */
async function* poll(
  config: Config,
  products: readonly string[],
  root: Root,
  report: Report,
  every_ms: number,
  signal: AbortSignal,
): AsyncGenerator<Arrival, void, undefined> {
  const folder = join(root.path, layout.inbox('noaa'));
  await mkdir(folder, { recursive: true });
  // What a killed run had fetched or kept without publishing it comes first.
  const found = [...(await listFolder(folder)).files, ...(await keptSince(root, followedFrom(config.now(), root)))];
  if (found.length > 0) yield { files: found, unknown: [] };
  while (!signal.aborted) {
    try {
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
        await readRejections(root.path, 'observed'),
      );
      const { files, failed } = await downloadAll({ files: wanted, folder, network: { signal } });
      for (const { file, error } of failed) report.warn('File:Fetch:Failed', { file: file.key, reason: error.message });
      if (files.length > 0) yield { files, unknown: [] };
    } catch (error) {
      // A bucket that cannot be reached now may be reached with the next look: the stream goes on, and says so.
      if (!signal.aborted)
        report.warn('Bucket:List:Failed', { reason: error instanceof Error ? error.message : String(error) });
    }
    await pause(every_ms, signal);
  }
}

/** Time of the oldest file that is still looked for in the bucket. */
function followedFrom(now_ms: number, root: Root): number {
  const observed = [...root.heads.values()].filter((head) => head.source === 'observed');
  const newest_ms = newestScan(observed);
  if (newest_ms === null) return now_ms - FIRST_LOOK_BACK_MS;
  return Math.max(now_ms - LONGEST_LOOK_BACK_MS, Math.min(newest_ms, now_ms) - LATE_FILES_MS);
}

async function keptSince(root: Root, from_ms: number): Promise<SourceFile[]> {
  const dates = [addDays(utcDate(from_ms), -1), utcDate(from_ms), addDays(utcDate(from_ms), 1)];
  return listArchive(root.path, 'observed', dates);
}

/** Arrivals, held back for a moment while a scan's usual companions are still on their way. */
async function* gathered(arrivals: AsyncIterable<Arrival>): AsyncGenerator<Arrival, void, undefined> {
  const usual = new Set<string>();
  const iterator = arrivals[Symbol.asyncIterator]();
  let next = iterator.next();
  while (true) {
    const first = await next;
    if (first.done) return;
    const files: SourceFile[] = [...first.value.files];
    const unknown: string[] = [...first.value.unknown];
    next = iterator.next();
    const deadline_ms = performance.now() + COMPANION_GRACE_MS;
    while (lacksCompanions(files, usual) && performance.now() < deadline_ms) {
      const more = await Promise.race([next, sleep(deadline_ms - performance.now(), null)]);
      if (more === null || more.done) break;
      files.push(...more.value.files);
      unknown.push(...more.value.unknown);
      next = iterator.next();
    }
    for (const file of files) if (file.product !== SCAN_PRODUCT) usual.add(file.product);
    yield { files, unknown };
  }
}

/** True when a scan came without a product that has been coming with scans. */
function lacksCompanions(files: readonly SourceFile[], usual: ReadonlySet<string>): boolean {
  const newest = Math.max(...files.filter((file) => file.product === SCAN_PRODUCT).map((file) => file.time_ms));
  if (newest === Number.NEGATIVE_INFINITY) return false;
  const belongs = (file: SourceFile) => file.time_ms <= newest && newest - file.time_ms <= lookBack(file.product);
  return Object.values(COMPANION_PRODUCTS).some(
    (product) => usual.has(product) && !files.some((file) => file.product === product && belongs(file)),
  );
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
