import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { STOP_SIGNALS } from '../../schemas/command-line.ts';
import { refreshCatalogue } from '../catalogues/catalogue.ts';
import type { Config } from '../config.ts';
import { isTransient, RootHeld, UsageError } from '../error.ts';
import { type Schedule, startSchedule } from '../feeds/schedule.ts';
import { refreshForecast } from '../forecast/refresh.ts';
import { type Log, openLog, terminalLog } from '../log.ts';
import { watchedStream } from '../metrics/watched-stream.ts';
import { adoptDate } from '../publish/adopt.ts';
import { explainFailure, openRoot } from '../publish/open-root.ts';
import type { Root } from '../publish/root.ts';
import { pollBucket } from '../scans/poll-bucket.ts';
import { type ReadPool, startReadPool } from '../scans/read.ts';
import { openSession, type Session } from '../scans/session.ts';
import { type ArrivalQueue, batchArrivals, openArrivalQueue } from '../sources/arrival-queue.ts';
import { pause } from '../sources/http.ts';
import { type Arrival, watch } from '../sources/inbox.ts';
import { SCAN_PRODUCTS, type SourceFile } from '../sources/names.ts';
import { DEFAULT_SEED, plainNumber, productList, readerThreads, wholeNumber } from './arguments.ts';
import { FEED_NAMES, feedList, feedNames, openFeeds } from './feeds.ts';
import {
  SIMULATED_RAW_KEEP_DAYS,
  type SimulatedWeather,
  simulateArrivals,
  simulatedSchedule,
} from './simulated-weather.ts';

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
      const log = process.stderr.isTTY ? terminalLog() : openLog(settings.log_level, false);
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

/** Tiers, event days and daily archives of open dates are drawn again at most this often. */
const FINISH_EVERY_MS = 5 * 60_000;
const SWEEP_EVERY_MS = 60 * 60_000;
/** After a transient fault the next try comes after the time between two polls, then after twice as long each time, up to this. */
const LONGEST_WAIT_MS = 30_000;
/** A stream that waits for the lock of the data root tries it this often. */
const LOCK_EVERY_MS = 1_000;

/** Where a stream finds raw files. */
type StreamSource =
  | { readonly kind: 'dir'; readonly folder: string }
  | { readonly kind: 'noaa'; readonly products: readonly string[] }
  | SimulatedWeather;

interface StreamRequest {
  readonly source: StreamSource;
  /** Names of the feeds other than the scans. */
  readonly feeds: readonly string[];
  /** Time between two polls, milliseconds. */
  readonly every_ms: number;
  readonly threads: number;
  readonly log: Log;
  /** Prints a line about each wait at a terminal. */
  readonly print: (line: string) => void;
  /** Waits while another process holds the data root, instead of ending with RootHeld. */
  readonly wait: boolean;
  /** Its abort ends the stream between two commits. */
  readonly signal: AbortSignal;
}

interface OpenedRoot {
  readonly root: Root;
  readonly session: Session;
  /** Another session: this one remembers dates that have been replaced. */
  readonly openAgain: () => Session;
}

/** Follows a source and publishes each scan as it comes, until it is stopped or a fault is not transient. */
async function streamSource(config: Config, request: StreamRequest): Promise<void> {
  const readPool = startReadPool(request.threads);
  try {
    await publishSource(config, request, readPool);
    request.log.info('Stream:Stop', {});
  } finally {
    await readPool.close();
  }
}

/** Follows a source until it ends or the signal aborts; the source and the feeds are then no longer polled. */
async function publishSource(config: Config, request: StreamRequest, readPool: ReadPool): Promise<void> {
  const { source, feeds, every_ms, log } = request;
  const { data_root, storm_day_start_hour, now } = config;
  const ended = new AbortController();
  const signal = AbortSignal.any([request.signal, ended.signal]);
  const raw_keep_days = config.raw_keep_days ?? (source.kind === 'simulate' ? SIMULATED_RAW_KEEP_DAYS : null);
  const open = async (): Promise<OpenedRoot | null> => {
    const root = await openInTurn(request, () =>
      openRoot(data_root, 'hail-pipeline stream', storm_day_start_hour, now(), log),
    );
    if (root === null) return null;
    log.info('Root:Open:Done', {});
    const settings = { ...config, log, move_raw: source.kind !== 'dir', each_scan: true, signal, raw_keep_days };
    const openAgain = () => openSession(root, readPool, settings);
    return { root, session: openAgain(), openAgain };
  };
  const arrivals = (opened: () => Root) => {
    log.info('Stream:Start', { source: source.kind, data: data_root });
    const found =
      source.kind === 'dir'
        ? watch({ folder: source.folder, poll_ms: every_ms, signal })
        : source.kind === 'simulate'
          ? simulateArrivals(config, source, opened, signal)
          : pollBucket(config, { products: source.products, opened, log, every_ms, signal });
    return batchArrivals(found);
  };
  const schedule = () =>
    source.kind === 'simulate'
      ? simulatedSchedule(config, source, log)
      : startSchedule({ feeds: openFeeds(config, feeds, log, { signal }), now, log, signal, refresh: refreshForecast });
  try {
    await follow({ ...request, now, signal }, open, arrivals, schedule);
  } finally {
    ended.abort();
  }
}

/** The data root, once no other process holds it; null when the signal aborts before. */
async function openInTurn(
  { wait, log, print, signal }: StreamRequest,
  open: () => Promise<Root>,
): Promise<Root | null> {
  for (let tries = 0; !signal.aborted; tries++) {
    try {
      return await open();
    } catch (error) {
      if (!(wait && error instanceof RootHeld)) throw error;
      if (tries === 0) {
        log.info('Stream:Lock:Wait', { reason: error.reason });
        print(`waits for the data root: ${error.reason}`);
      }
      await pause(LOCK_EVERY_MS, signal);
    }
  }
  return null;
}

/**
 * Publishes the files of a source until it ends or the signal aborts. After a transient fault (a full disk, a file that
 * cannot be read) the root is opened again as after a crash, and the same files are tried again. Any other error is thrown.
 * `arrivals` begins the source once the root is open, `schedule` the feeds; the argument of `arrivals` returns the root that
 * was opened last.
 */
async function follow(
  { now, log, print, every_ms, signal }: StreamRequest & Pick<Config, 'now'>,
  open: () => Promise<OpenedRoot | null>,
  arrivals: (root: () => Root) => AsyncIterable<Arrival>,
  schedule: () => Schedule,
): Promise<void> {
  const backlog = openBacklog(log, every_ms);
  const doDueChores = openChores(log);
  let queue: ArrivalQueue | null = null;
  let opened: OpenedRoot | null = null;
  let last: Root | null = null;
  let feeds: Schedule | null = null;
  let faults = 0;
  const explain = (failure: unknown) => (opened === null ? failure : explainFailure(opened.root, failure));
  const close = async () => {
    const root = opened?.root;
    opened = null;
    if (root === undefined) return;
    await root.close();
    log.info('Root:Close:Done', {});
  };
  try {
    while (!signal.aborted && queue?.isOver() !== true) {
      try {
        opened ??= await open();
        if (opened === null) return;
        const { root } = opened;
        last = root;
        queue ??= openArrivalQueue(
          arrivals(() => last as Root),
          signal,
        );
        root.check();
        // Feeds are registered before the scans: catching up with the scans may take hours.
        feeds ??= schedule();
        await feeds.register(root);
        await backlog.workOff(queue, opened);
        await feeds.workOff(root);
        await doDueChores(opened, queue, backlog.hasWorked());
        if (!queue.hasArrival() && (await adoptDate(root, now())) !== null) {
          opened = { ...opened, session: opened.openAgain() };
          continue;
        }
        if (faults > 0) {
          log.info('Stream:Wait:Done', { faults });
          print('goes on');
          faults = 0;
        }
        await queue.wait(every_ms);
      } catch (failure) {
        const error = explain(failure);
        if (!isTransient(error)) throw error;
        const wait_ms = Math.min(LONGEST_WAIT_MS, every_ms * 2 ** faults);
        faults += 1;
        log.warn('Stream:Wait:Begin', { reason: error.message, seconds: wait_ms / 1000 });
        print(`waits: ${error.message}; tries again in ${wait_ms / 1000} s`);
        await pause(wait_ms, signal);
        await close();
      }
    }
    await opened?.session.finishDates().catch((failure: unknown) => {
      throw explain(failure);
    });
  } finally {
    await close();
  }
}

/** Files that arrived and are not done: each stays here until it is published, rejected, or gone. */
function openBacklog(log: Log, every_ms: number) {
  /** By location. */
  const undone = new Map<string, SourceFile>();
  let retry_ms = every_ms;
  let retryAt_ms = 0;
  let hasWorked = false;
  const takeArrivals = (queue: ArrivalQueue, inWork: Set<string>): readonly SourceFile[] => {
    const arrival = queue.take();
    if (arrival === null) return [];
    for (const file of arrival.unknown) log.info('File:Name:Unknown', { file });
    for (const { key, reason } of arrival.unreadable) log.warn('File:Read:Postponed', { file: key, reason });
    for (const file of arrival.files) {
      undone.set(file.location, file);
      inWork.add(file.location);
    }
    return arrival.files;
  };
  const workOff = async (queue: ArrivalQueue, { session }: OpenedRoot): Promise<void> => {
    const inWork = new Set<string>();
    const fresh = takeArrivals(queue, inWork);
    const isRetry = undone.size > fresh.length && performance.now() >= retryAt_ms;
    if (isRetry) for (const location of undone.keys()) inWork.add(location);
    const files = [...undone.values()].filter((file) => inWork.has(file.location));
    if (files.length === 0) return;
    // Stays 0 when the run throws: the next turn then tries every undone file.
    retryAt_ms = 0;
    const begun_ms = performance.now();
    const run = await session.ingest(files);
    const { scans, redone } = run;
    const seconds = Math.round(performance.now() - begun_ms) / 1000;
    if (scans + redone > 0) log.info('Stream:Publish:Done', { scans, redone, seconds });
    hasWorked = true;
    const deferred = new Set(run.postponed.filter((one) => !one.is_gone).map(({ location }) => location));
    for (const location of inWork) if (!deferred.has(location)) undone.delete(location);
    retry_ms = isRetry ? Math.min(LONGEST_WAIT_MS, 2 * retry_ms) : every_ms;
    retryAt_ms = performance.now() + retry_ms;
  };
  return { workOff, hasWorked: () => hasWorked };
}

/** Periodic work (finishing dates, sweeping), done in pieces: arrivals come first. */
function openChores(log: Log) {
  const begun_ms = performance.now();
  let finished_ms: number | null = null;
  let swept_ms = begun_ms;
  let catalogued: number | null = null;
  return async ({ root, session }: OpenedRoot, queue: ArrivalQueue, hasWorked: boolean): Promise<void> => {
    const isQuiet = performance.now() - (finished_ms ?? begun_ms) >= FINISH_EVERY_MS;
    if ((isQuiet || (finished_ms === null && hasWorked)) && !queue.hasArrival()) {
      if (await session.finishDates(queue.hasArrival)) finished_ms = performance.now();
    }
    const closed = [...root.heads.values()].filter((head) => head.closed).length;
    if (finished_ms !== null && closed !== catalogued) {
      await refreshCatalogue(root.path, log);
      catalogued = closed;
    }
    if (performance.now() - swept_ms >= SWEEP_EVERY_MS) {
      await session.expireReflectivity();
      await session.sweep();
      swept_ms = performance.now();
    }
  };
}
