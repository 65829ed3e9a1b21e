import type { ForecastModel } from '../../schemas/tables/forecast.ts';
import { MS_PER_HOUR, timestamp } from '../../schemas/time.ts';
import { BadInput, PipelineError } from '../error.ts';
import type { Feed, FeedIdentity } from '../feed.ts';
import type { CellHour } from '../forecast/model-cells.ts';
import type { Log } from '../log.ts';
import { Unavailable } from '../sources/retry.ts';
import { decodeHour } from './decode-hour.ts';
import { type ModelDecoder, openModelDecoder } from './model-decoder.ts';
import { hourName, openModelHourCache, readKeptHours } from './model-hour-cache.ts';
import { horizonHours, type ModelHourName, usefulRuns } from './model-names.ts';
import { fetchModelHour, type ModelServer } from './model-server.ts';
import { publishedReach, publishForecast } from './publish-forecast.ts';

/** Runs are out an hour after their start, and their last hours half an hour later: looked for four times an hour. */
const EVERY_S = 900;
/** A newest run older than this is a model that has stopped. */
const OLDEST_NEWEST_MS = 4 * MS_PER_HOUR;
const NOTHING_KNOWN: ReadonlyMap<string, string> = new Map();

/** Name of the feed of a model. */
export function modelFeedName(model: ForecastModel): FeedIdentity {
  return { name: model, collection: 'forecast', every_s: EVERY_S };
}

/** What a feed remembers between two looks. */
interface Known {
  /** Decoded hours by their names, so that a new run is blended with those before it. */
  readonly hours: Map<string, CellHour>;
  /** Hours that came and cannot be used, by name: why, and the hour they are of. They are not fetched again. */
  readonly refused: Map<string, { readonly reason: string; readonly run_time: number; readonly valid_time: number }>;
}

/**
 * The hourly forecast from the runs of a model as they come out. Hours that were decoded stay in memory and on the disk while they
 * are of use: neither a new run nor a restart fetches them again.
 */
export function modelFeed(model: ForecastModel, server: ModelServer, dataRoot: string, log: Log): Feed {
  let known: Known | null = null;
  let promised_ms = Number.NEGATIVE_INFINITY;
  return {
    ...modelFeedName(model),
    poll: async (now_ms) => {
      known ??= { hours: await readKeptHours(dataRoot, model, log), refused: new Map() };
      const { hours, refused } = known;
      const runs = usefulRuns(now_ms);
      forget(known, runs, now_ms);
      const failures: string[] = [];
      const decoder = openModelDecoder();
      try {
        await fetchRuns({ model, known, server, decoder, log, failures }, runs, now_ms);
      } finally {
        await decoder.close();
      }
      for (const { reason, run_time, valid_time } of refused.values())
        if (![...hours.values()].some((hour) => hour.valid_time === valid_time && hour.run_time > run_time))
          failures.push(reason);
      if (hours.size === 0)
        throw new Unavailable(
          server.base_url,
          `has no hour of the ${model} runs since ${timestamp(runs[2] ?? now_ms)}${failures[0] === undefined ? '' : `; ${failures[0]}`}`,
        );
      const usable = [...hours.values()];
      const newest = Math.max(...usable.map(({ run_time }) => run_time));
      if (now_ms - newest > OLDEST_NEWEST_MS)
        failures.unshift(`newest run is of ${timestamp(newest)}, expected one of the last 4 hours`);
      return {
        publish: async (root) => {
          const is_simulated = usable.some(({ simulated }) => simulated);
          promised_ms = Math.max(promised_ms, await publishedReach(root, model, is_simulated));
          const changed = await publishForecast(root, model, usable, now_ms);
          await openModelHourCache(root, hours);
          const reach_ms = reachOf(usable);
          const short =
            promised_ms > Math.max(reach_ms, now_ms)
              ? [`reaches to ${timestamp(reach_ms)}, and reached to ${timestamp(promised_ms)} before`]
              : [];
          // What came is published in any case; the feed counts as read when nothing was missing.
          return { failure: [...failures, ...short][0] ?? null, files: [], changed: changed ? ['forecast'] : [] };
        },
      };
    },
  };
}

/** The last hour of some. */
function reachOf(hours: readonly CellHour[]): number {
  return Math.max(...hours.map(({ valid_time }) => valid_time));
}

function forget({ hours, refused }: Known, runs: readonly number[], now_ms: number): void {
  // Storms are looked for an hour around the one described.
  const isOver = (hour: { readonly run_time: number; readonly valid_time: number }) =>
    !runs.includes(hour.run_time) || hour.valid_time < now_ms - MS_PER_HOUR;
  for (const [name, hour] of hours) if (isOver(hour)) hours.delete(name);
  for (const [name, hour] of refused) if (isOver(hour)) refused.delete(name);
}

interface Fetching {
  readonly model: ForecastModel;
  readonly known: Known;
  readonly server: ModelServer;
  readonly decoder: ModelDecoder;
  readonly log: Log;
  /** What went wrong, for people. */
  readonly failures: string[];
}

/**
 * Fetches what is missing. After a start the newest whole run is enough for the hours that it reaches, with what is there of the one
 * that is coming; hours beyond come from the newest run that goes further. Older runs of the same hours are not caught up on.
 */
async function fetchRuns(fetching: Fetching, runs: readonly number[], now_ms: number): Promise<void> {
  const { hours } = fetching.known;
  let from_ms = now_ms - MS_PER_HOUR;
  for (const run_time of runs) {
    if (run_time + horizonHours(run_time) * MS_PER_HOUR <= from_ms) continue;
    const outcome = await fetchRun(fetching, run_time, from_ms);
    if (outcome === 'failed' && hours.size > 0) return;
    // The last hour that is reached is fetched of the next run too: storms are looked for an hour around each.
    if (outcome === 'whole') from_ms = Math.max(from_ms, reachOf([...hours.values()]));
  }
}

/**
 * Fetches what is there of a run from an instant on, hour by hour: all that it has, not yet all, or as far as the server delivered.
 * An hour that cannot be used costs itself only; when the server does not deliver, what is missing waits for the next look.
 */
async function fetchRun(
  { model, known: { hours, refused }, server, decoder, log, failures }: Fetching,
  run_time: number,
  from_ms: number,
): Promise<'whole' | 'coming' | 'failed'> {
  for (let lead_h = 1; lead_h <= horizonHours(run_time); lead_h += 1) {
    const valid_time = run_time + lead_h * MS_PER_HOUR;
    const name = hourName(model, run_time, lead_h);
    if (valid_time < from_ms || hours.has(name) || refused.has(name)) continue;
    const subsets = await fetchHour({ model, run_time, lead_h }, server);
    if (subsets === 'absent' || subsets === 'unchanged') return 'coming';
    if (subsets instanceof PipelineError) {
      failures.push(subsets.message);
      if (subsets instanceof Unavailable) return 'failed';
      continue;
    }
    const files = subsets.map(({ key: subject, bytes }) => ({ subject, bytes }));
    const hour = await decodeHour(decoder, files, { model, run_time, lead_h }, log);
    if (hour instanceof BadInput) refused.set(name, { reason: hour.message, run_time, valid_time });
    else hours.set(name, hour);
  }
  return 'whole';
}

/** The files of an hour; as a value, why they cannot be had. */
async function fetchHour(name: ModelHourName, server: ModelServer) {
  try {
    return await fetchModelHour(name, NOTHING_KNOWN, server);
  } catch (error) {
    if (error instanceof Unavailable || error instanceof BadInput) return error;
    throw error;
  }
}
