import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { STOP_SIGNALS } from '../../schemas/command-line.ts';
import { refreshCatalogue } from '../catalogues/catalogue.ts';
import type { Config } from '../config.ts';
import { isTransient, RootHeld, UsageError } from '../error.ts';
import { type Schedule, startSchedule } from '../feeds/schedule.ts';
import { refreshForecast } from '../forecast/publish-forecast.ts';
import { type Log, openLog, terminalLog } from '../log.ts';
import { watchedStream } from '../metrics/watched-stream.ts';
import { adoptDate } from '../publish/adopt.ts';
import { explainFailure, openRoot } from '../publish/open-root.ts';
import type { Root } from '../publish/root.ts';
import { pollBucket } from '../scans/bucket.ts';
import { startReadPool } from '../scans/read.ts';
import { openSession, type Session } from '../scans/session.ts';
import { type ArrivalQueue, batchArrivals, openArrivalQueue } from '../sources/arrival-queue.ts';
import { pause } from '../sources/http.ts';
import { type Arrival, watch } from '../sources/inbox.ts';
import { SCAN_PRODUCTS, type SourceFile } from '../sources/names.ts';
import { DEFAULT_SEED, plainNumber, productsOption, readerThreads, wholeNumber } from './arguments.ts';
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
    .addOption(productsOption())
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
      '\nExample:\n  hail-pipeline stream --source simulate    storms that are not real, as a live demo',
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
        wait: options.wait === true,
        signal: stop.signal,
      };
      const log = process.stderr.isTTY ? terminalLog() : openLog(settings.log_level, false);
      await watchedStream(settings, log, (watched) => followSource(settings, { ...request, log: watched }));
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
  readonly log: Log;
  /** Waits while another process holds the data root, instead of ending with RootHeld. */
  readonly wait: boolean;
  /** Its abort ends the stream between two commits. */
  readonly signal: AbortSignal;
}

/** The data root, once no other process holds it; null when the signal aborts before. */
async function openInTurn(config: Config, { wait, log, signal }: StreamRequest): Promise<Root | null> {
  const { data_root, storm_day_start_hour, now } = config;
  for (let tries = 0; !signal.aborted; tries++) {
    try {
      const root = await openRoot(data_root, 'hail-pipeline stream', storm_day_start_hour, now(), log);
      log.info('Root:Open:Done', {});
      return root;
    } catch (error) {
      if (!(wait && error instanceof RootHeld)) throw error;
      if (tries === 0) log.warn('Stream:Lock:Wait', { reason: error.reason });
      await pause(LOCK_EVERY_MS, signal);
    }
  }
  return null;
}

/** Arrivals of a source; `opened` returns the root that was opened last. */
function arrivalsOf(config: Config, request: StreamRequest, opened: () => Root): AsyncIterable<Arrival> {
  const { source, every_ms, log, signal } = request;
  log.info('Stream:Start', { source: source.kind, data: config.data_root });
  if (source.kind === 'dir') return watch({ folder: source.folder, poll_ms: every_ms, signal });
  if (source.kind === 'simulate') return simulateArrivals(config, source, opened, signal);
  return pollBucket(config, source.products, opened, request);
}

function scheduleOf(config: Config, { source, feeds, log, signal }: StreamRequest): Schedule {
  if (source.kind === 'simulate') return simulatedSchedule(config, source, log);
  const opened = openFeeds(config, feeds, log, { signal });
  return startSchedule({ feeds: opened, now: config.now, log, signal, refresh: refreshForecast });
}

/**
 * Publishes the files of a source until it ends or the signal aborts. After a transient fault (a full disk, a file that
 * cannot be read) the root is opened again as after a crash, and the same files are tried again. Any other error is thrown.
 */
async function followSource(config: Config, given: StreamRequest): Promise<void> {
  // The source and the feeds are no longer polled once the stream has ended.
  const ended = new AbortController();
  const request = { ...given, signal: AbortSignal.any([given.signal, ended.signal]) };
  const { source, log, every_ms, signal } = request;
  const readPool = startReadPool(readerThreads());
  const raw_keep_days = config.raw_keep_days ?? (source.kind === 'simulate' ? SIMULATED_RAW_KEEP_DAYS : null);
  const settings = { ...config, log, move_raw: source.kind !== 'dir', each_scan: true, signal, raw_keep_days };
  const workOff = openBacklog(log, every_ms);
  const doDueChores = openChores(log);
  let queue: ArrivalQueue | null = null;
  let session: Session | null = null;
  let last: Root | null = null;
  let feeds: Schedule | null = null;
  let faults = 0;
  const explain = (failure: unknown) => (session === null ? failure : explainFailure(session.root, failure));
  const close = async () => {
    const root = session?.root;
    session = null;
    if (root === undefined) return;
    await root.close();
    log.info('Root:Close:Done', {});
  };
  try {
    while (!signal.aborted && queue?.isOver() !== true) {
      try {
        const root: Root | null = session?.root ?? (await openInTurn(config, request));
        if (root === null) break;
        session ??= openSession(root, readPool, settings);
        last = root;
        queue ??= openArrivalQueue(batchArrivals(arrivalsOf(config, request, () => last as Root)), signal);
        root.check();
        // Feeds are registered before the scans: catching up with the scans may take hours.
        feeds ??= scheduleOf(config, request);
        await feeds.register(root);
        await workOff(queue, session);
        await feeds.workOff(root);
        await doDueChores(session, queue);
        if (!queue.hasArrival() && (await adoptDate(root, config.now())) !== null) {
          // The session remembers dates that have been replaced.
          session = openSession(root, readPool, settings);
          continue;
        }
        if (faults > 0) log.info('Stream:Wait:Done', { faults });
        faults = 0;
        await queue.wait(every_ms);
      } catch (failure) {
        const error = explain(failure);
        if (!isTransient(error)) throw error;
        const wait_ms = Math.min(LONGEST_WAIT_MS, every_ms * 2 ** faults);
        faults += 1;
        log.warn('Stream:Wait:Begin', { reason: error.message, seconds: wait_ms / 1000 });
        await pause(wait_ms, signal);
        await close();
      }
    }
    await session?.finishDates().catch((failure: unknown) => {
      throw explain(failure);
    });
    await close();
    log.info('Stream:Stop', {});
  } finally {
    ended.abort();
    await close().finally(readPool.close);
  }
}

/** Files that arrived and are not done: each stays here until it is published, rejected, or gone. */
function openBacklog(log: Log, every_ms: number) {
  /** By location. */
  const undone = new Map<string, SourceFile>();
  let retry_ms = every_ms;
  let retryAt_ms = 0;
  return async (queue: ArrivalQueue, session: Session): Promise<void> => {
    const arrival = queue.take() ?? { files: [], unknown: [], unreadable: [] };
    for (const file of arrival.unknown) log.info('File:Name:Unknown', { file });
    for (const { key, reason } of arrival.unreadable) log.warn('File:Read:Postponed', { file: key, reason });
    for (const file of arrival.files) undone.set(file.location, file);
    const fresh = new Set(arrival.files.map(({ location }) => location));
    const isRetry = undone.size > fresh.size && performance.now() >= retryAt_ms;
    const files = [...undone.values()].filter(({ location }) => isRetry || fresh.has(location));
    if (files.length === 0) return;
    // Stays 0 when the run throws: the next turn then tries every undone file.
    retryAt_ms = 0;
    const begun_ms = performance.now();
    const run = await session.ingest(files);
    const { scans, redone } = run;
    const seconds = Math.round(performance.now() - begun_ms) / 1000;
    if (scans + redone > 0) log.info('Stream:Publish:Done', { scans, redone, seconds });
    const deferred = new Set(run.postponed.filter((one) => !one.is_gone).map(({ location }) => location));
    for (const { location } of files) if (!deferred.has(location)) undone.delete(location);
    retry_ms = isRetry ? Math.min(LONGEST_WAIT_MS, 2 * retry_ms) : every_ms;
    retryAt_ms = performance.now() + retry_ms;
  };
}

/** Periodic work (finishing dates, sweeping), done in pieces: arrivals come first. */
function openChores(log: Log) {
  const begun_ms = performance.now();
  let finished_ms: number | null = null;
  let swept_ms = begun_ms;
  let catalogued: number | null = null;
  return async (session: Session, queue: ArrivalQueue): Promise<void> => {
    const isQuiet = performance.now() - (finished_ms ?? begun_ms) >= FINISH_EVERY_MS;
    if ((isQuiet || (finished_ms === null && session.hasRun())) && !queue.hasArrival()) {
      if (await session.finishDates(queue.hasArrival)) finished_ms = performance.now();
    }
    const closed = [...session.root.heads.values()].filter((head) => head.closed).length;
    if (finished_ms !== null && closed !== catalogued) {
      await refreshCatalogue(session.root.path, log);
      catalogued = closed;
    }
    if (performance.now() - swept_ms >= SWEEP_EVERY_MS) {
      await session.sweep();
      swept_ms = performance.now();
    }
  };
}
