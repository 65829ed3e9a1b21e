import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { MS_PER_DAY, MS_PER_HOUR, MS_PER_MIN, scanTime, utcDate } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { Conflict, isIsolated, PipelineError } from '../error.ts';
import { type IngestedFiles, ingestFeedFiles } from '../feeds/ingest-files.ts';
import { readFeedStates, type Schedule, stateAfter, writeFeedStates, writeSimulatedStates } from '../feeds/schedule.ts';
import { WEB_FEEDS } from '../feeds/web-feeds.ts';
import { datesToCount } from '../forecast/climatology.ts';
import { modelFeedName } from '../forecast/model-feed.ts';
import {
  CLIMATOLOGY_FEED,
  OUTLOOK_FEED,
  publishModelHours,
  type Refreshed,
  refreshForecast,
} from '../forecast/publish-forecast.ts';
import type { Log } from '../log.ts';
import { clearOldSimulated } from '../publish/commit-dates.ts';
import { newestScan, type Root } from '../publish/root.ts';
import { SCAN_INTERVAL_MS, scanTimes, writeScans } from '../simulate/evening.ts';
import { feedFiles } from '../simulate/feeds.ts';
import { simulatedModelHours } from '../simulate/model-hours.ts';
import { plainsScenario } from '../simulate/weather.ts';
import { type FolderListing, listFolder } from '../sources/folder.ts';
import { pause } from '../sources/http.ts';
import type { Arrival } from '../sources/inbox.ts';

/** The last hours of simulated weather. */
interface SimulatedHours {
  readonly seed: number;
  readonly hours: number;
}

/** Simulated weather that goes on with the clock. Its hours before the start are made first; after a pause, at most these are. */
export interface SimulatedWeather extends SimulatedHours {
  readonly kind: 'simulate';
  /** Time between two scans, milliseconds. */
  readonly interval_ms: number;
}

/** Days that raw files of a simulated stream stay without HAIL_RAW_KEEP_DAYS. */
export const SIMULATED_RAW_KEEP_DAYS = 2;
/** Storm dates of a simulated stream that stay published. */
const KEPT_DATES = 7;
/** Reports, warnings and outlooks are made again as often as real ones are polled. */
const FEEDS_EVERY_MS = 2 * MS_PER_MIN;
/** Climatology and forecast are made again this often. */
const FORECAST_EVERY_MS = MS_PER_HOUR;
/** The clock is read at least this often, so that a step of it is noticed. */
const LONGEST_WAIT_MS = 1000;

const inboxOf = (root: Root) => join(root.path, layout.inbox('simulated'));

/** Scans of the hours up to now in the inbox; those after the newest published one are simulated. */
export async function simulateHours(
  root: Root,
  { seed, hours }: SimulatedHours,
  now_ms: number,
  log: Log,
): Promise<FolderListing> {
  const newest_ms = newestScan([...root.heads.values()].filter((head) => head.source === 'simulated')) ?? 0;
  const from_ms = Math.max(now_ms - hours * MS_PER_HOUR, Math.min(newest_ms + 1000, now_ms));
  const out = inboxOf(root);
  for await (const scan of writeScans(plainsScenario(seed, WSR88D), { from_ms, to_ms: now_ms, out }))
    log.progress('simulated', scan.number, scan.of);
  return { ...(await listFolder(out)), unknown: [] };
}

/**
 * Scans of simulated weather, each once the clock has reached its time, until the signal aborts. A stream that starts again goes on
 * with the same storms. Throws Conflict where the root holds observed data.
 */
export async function* simulateArrivals(
  config: Config,
  { seed, hours, interval_ms }: SimulatedWeather,
  opened: () => Root,
  signal: AbortSignal,
): AsyncGenerator<Arrival, void, undefined> {
  await refuseObserved(opened());
  const scenario = plainsScenario(seed, WSR88D);
  const out = inboxOf(opened());
  // A killed run leaves files without publishing them.
  if (existsSync(out)) yield { ...(await listFolder(out)), unknown: [] };
  let done_ms = newestScan(opened().heads.values()) ?? 0;
  while (!signal.aborted) {
    const now_ms = config.now();
    const from_ms = Math.max(done_ms + 1000, now_ms - hours * MS_PER_HOUR);
    // A backlog is made up for at the pace of real scans, so that a quick stream is soon at the present.
    const paces_ms = now_ms - from_ms > SCAN_INTERVAL_MS ? [SCAN_INTERVAL_MS, interval_ms] : [interval_ms];
    const due = paces_ms.flatMap((pace_ms) =>
      scanTimes(seed, from_ms, now_ms + 1, pace_ms).map((scan_time) => ({ scan_time, pace_ms })),
    )[0];
    if (due === undefined) {
      await pause(LONGEST_WAIT_MS, signal);
      continue;
    }
    const { scan_time, pace_ms } = due;
    opened().check();
    const span = { from_ms: scan_time, to_ms: scan_time + 1, interval_ms: pace_ms };
    for await (const _ of writeScans(scenario, { ...span, out }));
    done_ms = scan_time;
    const { files, unreadable } = await listFolder(out);
    yield { files: files.filter((file) => file.time_ms === scan_time), unknown: [], unreadable };
  }
}

/** Throws Conflict where a root holds observed scans, or items of observed feeds. */
async function refuseObserved(root: Root): Promise<void> {
  const date = [...root.heads.values()].find((head) => head.scans.count > 0 && head.source !== 'simulated');
  const feed = [...(await readFeedStates(root.path)).values()].find(
    ({ source, last_success_at }) => source === 'observed' && last_success_at !== null,
  );
  const found = date?.partition ?? feed?.name;
  if (found === undefined) return;
  const reason = `holds observed data (${found}), expected none beside simulated weather: set HAIL_DATA to a folder of its own`;
  throw new Conflict('simulate', root.path, reason);
}

/** Publishes feeds, climatology and forecast of the simulated weather in turns, and unpublishes its oldest dates. */
export function simulatedSchedule(config: Config, weather: SimulatedWeather, log: Log): Schedule {
  const turnOf = (feed: string, every_ms: number, work: (root: Root) => Promise<unknown>) => {
    let last_ms = Number.NEGATIVE_INFINITY;
    return async (root: Root) => {
      if (performance.now() - last_ms < every_ms) return;
      last_ms = performance.now();
      try {
        await work(root);
      } catch (error) {
        if (!isIsolated(error)) throw error;
        log.warn('Feed:Poll:Failed', { feed, reason: error.message });
      }
    };
  };
  const turns = [
    turnOf('simulated feeds', FEEDS_EVERY_MS, (root) => publishSimulatedFeeds(root, weather, config.now())),
    turnOf('simulated forecast', FORECAST_EVERY_MS, async (root) => {
      await clearOldSimulated(root, KEPT_DATES, config.now());
      await publishSimulatedForecast(root, weather.seed, config.now(), log);
      await writeSimulatedClimatologyState(root, config.now(), await refreshForecast(root, config.now(), log));
    }),
  ];
  return {
    register: async () => {},
    workOff: async (root) => {
      if (newestScan(root.heads.values()) !== null) for (const turn of turns) await turn(root);
    },
  };
}

/**
 * Publishes reports, warnings and outlooks of the simulated hours at the times of the published scans, in the formats of the real
 * feeds and through their readers. Throws PipelineError when a reader rejects a file or an item: the simulator is wrong then.
 */
export async function publishSimulatedFeeds(
  root: Root,
  { seed, hours }: SimulatedHours,
  now_ms: number,
): Promise<IngestedFiles> {
  const from_ms = now_ms - hours * MS_PER_HOUR;
  const scan_times = await simulatedScanTimes(root, from_ms);
  const files = feedFiles(plainsScenario(seed, WSR88D), from_ms, now_ms, scan_times).map(({ path, text }) => ({
    name: basename(path),
    bytes: Buffer.from(text),
    received_ms: now_ms,
  }));
  const collected = [{ source: 'lsr', from_ms, until_ms: now_ms, data_source: 'simulated' } as const];
  const options = { now_ms, provenance: 'simulated', is_complete: true, collected } as const;
  const ingested = await ingestFeedFiles(root, WEB_FEEDS, files, options);
  for (const { name, refused, set_aside } of ingested.files) {
    const reason = refused ?? set_aside[0]?.reason;
    if (reason !== undefined) throw new PipelineError('simulate', name, reason);
  }
  await writeSimulatedFeeds(root, now_ms);
  return ingested;
}

/** Writes that every web feed was simulated without a failure. */
export async function writeSimulatedFeeds(root: Root, now_ms: number): Promise<void> {
  const feeds = WEB_FEEDS.map((feed) => ({ ...feed, collection: feed.collection.name }));
  await writeSimulatedStates(root, feeds, now_ms);
}

/** Times of the published simulated scans since an instant, and of the days that it touches, ascending. */
async function simulatedScanTimes(root: Root, from_ms: number): Promise<number[]> {
  // Reports of a convective day begin half a day before its date ends, and a storm date may begin at any hour.
  const first_date = utcDate(from_ms - 2 * MS_PER_DAY);
  const times: number[] = [];
  for (const { partition, source } of root.heads.values())
    if (source === 'simulated' && partition >= first_date)
      for (const { scan_id } of (await root.manifest(partition))?.scans ?? []) times.push(scanTime(scan_id));
  return times.sort((a, b) => a - b);
}

/** Publishes the hourly forecast of the simulated model, and the outlook made with it from the other published components. */
export async function publishSimulatedForecast(root: Root, seed: number, now_ms: number, log: Log): Promise<void> {
  await publishModelHours(root, 'hrrr', simulatedModelHours(plainsScenario(seed, WSR88D), now_ms), now_ms, log);
  await writeSimulatedStates(root, [modelFeedName('hrrr'), OUTLOOK_FEED], now_ms);
}

/** Writes that the climatology was made from simulated dates, or why it could not be; nothing while no date is closed. */
export async function writeSimulatedClimatologyState(root: Root, now_ms: number, refreshed: Refreshed): Promise<void> {
  if (datesToCount(root) === null) return;
  const before = (await readFeedStates(root.path)).get(CLIMATOLOGY_FEED.name);
  const state = stateAfter(before, CLIMATOLOGY_FEED, now_ms, refreshed.climatology_failure);
  await writeFeedStates(root, [{ ...state, source: 'simulated' }]);
}
