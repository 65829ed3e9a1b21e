import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { MS_PER_HOUR, MS_PER_MIN } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { Conflict, isIsolated } from '../error.ts';
import type { Schedule } from '../feeds/schedule.ts';
import { readFeedStates } from '../feeds/schedule.ts';
import { refreshForecast } from '../forecast/refresh.ts';
import type { Log } from '../log.ts';
import { clearOldSimulated } from '../publish/commit-dates.ts';
import type { Root } from '../publish/root.ts';
import { newestScan } from '../publish/root.ts';
import { SCAN_INTERVAL_MS, scanTimes, writeScans } from '../simulate/evening.ts';
import { plainsScenario } from '../simulate/weather.ts';
import { listFolder } from '../sources/folder.ts';
import { pause } from '../sources/http.ts';
import type { Arrival } from '../sources/inbox.ts';
import {
  publishSimulatedFeeds,
  publishSimulatedForecast,
  type SimulatedHours,
  writeSimulatedClimatologyState,
} from './simulated-weather.ts';

/** Simulated weather that goes on with the clock. Its hours before the start are made first; after a pause, at most these are. */
export interface SimulatedWeather extends SimulatedHours {
  readonly kind: 'simulate';
  /** Time between two scans, milliseconds. */
  readonly interval_ms: number;
}

/** Days that raw files of a simulated stream stay without HAIL_RAW_KEEP_DAYS. */
export const SIMULATED_RAW_KEEP_DAYS = 2;
/** Storm dates of a simulated stream that stay published. */
const SIMULATED_KEEP_DATES = 7;

/** Reports, warnings and outlooks are made again as often as real ones are polled. */
const FEEDS_EVERY_MS = 2 * MS_PER_MIN;
/** Climatology and forecast are made again this often. */
const FORECAST_EVERY_MS = MS_PER_HOUR;
/** The clock is read at least this often, so that a step of it is noticed. */
const LONGEST_WAIT_MS = 1000;

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
  const out = join(opened().path, layout.inbox('simulated'));
  // A killed run leaves files without publishing them.
  const left = existsSync(out) ? await listFolder(out) : null;
  if (left !== null && left.files.length > 0) yield { ...left, unknown: [] };
  let done_ms = newestScan(opened().heads.values()) ?? 0;
  while (!signal.aborted) {
    const now_ms = config.now();
    const from_ms = Math.max(done_ms + 1000, now_ms - hours * MS_PER_HOUR);
    const next = nextScan(seed, from_ms, now_ms, interval_ms);
    if (next === null) {
      await pause(LONGEST_WAIT_MS, signal);
      continue;
    }
    const { scan_time } = next;
    opened().check();
    const span = { from_ms: scan_time, to_ms: scan_time + 1, interval_ms: next.interval_ms };
    for await (const _ of writeScans(scenario, { ...span, out }));
    done_ms = scan_time;
    const { files, unreadable } = await listFolder(out);
    yield { files: files.filter((file) => file.time_ms === scan_time), unknown: [], unreadable };
  }
}

/**
 * The first simulated scan from an instant up to now, and its time between scans; null: none is due yet. A backlog is made up for
 * at the pace of real scans, so that a quick stream is soon at the present.
 */
function nextScan(seed: number, from_ms: number, now_ms: number, interval_ms: number) {
  const intervals_ms = now_ms - from_ms > SCAN_INTERVAL_MS ? [SCAN_INTERVAL_MS, interval_ms] : [interval_ms];
  for (const each_ms of intervals_ms) {
    const [scan_time] = scanTimes(seed, from_ms, now_ms + 1, each_ms);
    if (scan_time !== undefined) return { scan_time, interval_ms: each_ms };
  }
  return null;
}

/** Throws Conflict where a root holds observed scans, or items of observed feeds. */
async function refuseObserved(root: Root): Promise<void> {
  const date = [...root.heads.values()].find((head) => head.scan_count > 0 && head.provenance !== 'simulated');
  const feed = [...(await readFeedStates(root.path)).values()].find(
    ({ source, last_success_at }) => source === 'observed' && last_success_at !== null,
  );
  const found = date?.partition ?? feed?.name;
  if (found === undefined) return;
  throw new Conflict(
    'simulate',
    root.path,
    `holds observed data (${found}), expected none beside simulated weather: set HAIL_DATA to a folder of its own`,
  );
}

/** Publishes feeds, climatology and forecast of the simulated weather in turns, and unpublishes its oldest dates. */
export function simulatedSchedule(config: Config, weather: SimulatedWeather, log: Log): Schedule {
  let feeds_ms: number | null = null;
  let forecast_ms: number | null = null;
  const isDue = (last_ms: number | null, every_ms: number) =>
    last_ms === null || performance.now() - last_ms >= every_ms;
  return {
    register: async () => {},
    workOff: async (root) => {
      if (newestScan(root.heads.values()) === null || !isDue(feeds_ms, FEEDS_EVERY_MS)) return;
      feeds_ms = performance.now();
      await orWarn('simulated feeds', log, async () => {
        await publishSimulatedFeeds(root, weather, config.now());
      });
      if (!isDue(forecast_ms, FORECAST_EVERY_MS)) return;
      forecast_ms = performance.now();
      await orWarn('simulated forecast', log, async () => {
        await publishSimulatedForecast(root, weather.seed, config.now(), log);
        await writeSimulatedClimatologyState(root, config.now(), await refreshForecast(root, config.now(), log));
      });
      await clearOldSimulated(root, SIMULATED_KEEP_DATES, config.now());
    },
  };
}

async function orWarn(feed: string, log: Log, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isIsolated(error)) throw error;
    log.warn('Feed:Poll:Failed', { feed, reason: error.message });
  }
}
