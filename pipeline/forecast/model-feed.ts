import type { ForecastModel } from '../../schemas/tables/forecast.ts';
import { MS_PER_HOUR, timestamp } from '../../schemas/time.ts';
import { BadInput } from '../error.ts';
import type { Feed, FeedIdentity } from '../feed.ts';
import type { Log } from '../log.ts';
import { Unavailable } from '../sources/http.ts';
import { horizonHours, type ModelHourName, SCHEDULE, usefulRuns } from './model-bucket.ts';
import type { CellHour } from './model-cells.ts';
import { decodeHour, type ModelDecoder, openModelDecoder } from './model-decoder.ts';
import { fetchModelHour, type ModelServer } from './model-download.ts';
import { hourName, readModelHours } from './model-hours.ts';
import { publishModelHours } from './publish-forecast.ts';

/** Runs are out an hour after their start, and their last hours half an hour later: polled four times an hour. */
const EVERY_S = 900;

/** Identity of the feed of a model. */
export function modelFeedName(model: ForecastModel): FeedIdentity {
  return { name: model, collection: 'forecast', every_s: EVERY_S };
}

/** What a feed keeps between two polls. */
interface State {
  readonly model: ForecastModel;
  readonly server: ModelServer;
  readonly log: Log;
  /** Decoded hours by name; a new run is blended with those before it. */
  readonly hours: Map<string, CellHour>;
  /** Hours that were fetched and cannot be decoded, by name. They are not fetched again. */
  readonly rejected: Map<string, ModelHourName & { readonly reason: string }>;
  /** Latest valid time of the hours published so far, epoch milliseconds. */
  longest_reach_ms: number;
}

/**
 * The hourly forecast from the runs of a model as they come out. Decoded hours stay in memory and in the cache on disk while a
 * forecast uses them: neither a new run nor a restart fetches them again.
 */
export function modelFeed(model: ForecastModel, server: ModelServer, dataRoot: string, log: Log): Feed {
  let opened: State | null = null;
  return {
    ...modelFeedName(model),
    poll: async (now_ms) => {
      opened ??= await openState(model, server, dataRoot, log);
      const state = opened;
      const runs = usefulRuns(now_ms, model);
      // A forecast uses the storms of the hour before and after the one it describes.
      for (const known of [state.hours, state.rejected])
        for (const [name, { run_time, valid_time }] of known)
          if (!runs.includes(run_time) || valid_time < now_ms - MS_PER_HOUR) known.delete(name);
      const failures = await fetchRuns(state, runs, now_ms);
      const usable = [...state.hours.values()];
      for (const { reason, run_time, valid_time } of state.rejected.values())
        if (!usable.some((hour) => hour.valid_time === valid_time && hour.run_time > run_time)) failures.push(reason);
      if (usable.length === 0) {
        const missing = `has no hour of the ${model} runs since ${timestamp(runs[2])}`;
        throw new Unavailable(server.base_url, [missing, ...failures.slice(0, 1)].join('; '));
      }
      const newest = Math.max(...usable.map(({ run_time }) => run_time));
      const { oldest_h } = SCHEDULE[model];
      if (now_ms - newest > oldest_h * MS_PER_HOUR)
        failures.unshift(`newest run is of ${timestamp(newest)}, expected one of the last ${oldest_h} hours`);
      return {
        publish: async (root) => {
          const changed = await publishModelHours(root, model, usable, now_ms, log);
          const reach_ms = reachOf(usable);
          const longest_ms = Math.max(state.longest_reach_ms, reach_ms);
          state.longest_reach_ms = longest_ms;
          if (longest_ms > Math.max(reach_ms, now_ms))
            failures.push(`reaches to ${timestamp(reach_ms)}, and reached to ${timestamp(longest_ms)} before`);
          // Usable hours are published in any case; the feed counts as read when nothing was missing.
          return { failure: failures[0] ?? null, files: [], changed };
        },
      };
    },
  };
}

/** State with the stored hours of a model. Simulated ones are left out: a server may have real hours of the same names. */
async function openState(model: ForecastModel, server: ModelServer, dataRoot: string, log: Log): Promise<State> {
  const stored = await readModelHours(dataRoot, log);
  const known = stored?.model === model ? stored.hours.filter(({ simulated }) => !simulated) : [];
  const hours = new Map(known.map((hour) => [hourName({ model, ...hour }), hour]));
  return { model, server, log, hours, rejected: new Map(), longest_reach_ms: reachOf(known) };
}

/** Latest valid time of some hours; minus infinity without any. */
function reachOf(hours: readonly CellHour[]): number {
  return Math.max(...hours.map(({ valid_time }) => valid_time));
}

/**
 * Fetches the missing hours of the runs, newest run first; not those that a newer complete run has. After a start that is every
 * hour of the newest complete run and of newer ones that are still coming out. Returns why hours are missing.
 */
async function fetchRuns(state: State, runs: readonly number[], now_ms: number): Promise<string[]> {
  const failures: string[] = [];
  const decoder = openModelDecoder();
  try {
    let from_ms = now_ms - MS_PER_HOUR;
    for (const run_time of runs) {
      if (run_time + horizonHours(run_time) * MS_PER_HOUR <= from_ms) continue;
      const outcome = await fetchRun(state, decoder, run_time, from_ms, failures);
      if (outcome === 'failed' && state.hours.size > 0) break;
      // The last hour of this run is fetched of the next run too: each hour uses the storms of its neighbours.
      if (outcome === 'whole') from_ms = Math.max(from_ms, reachOf([...state.hours.values()]));
    }
  } finally {
    await decoder.close();
  }
  return failures;
}

/**
 * Fetches the hours of a run that end at `from_ms` or later, in order. Returns whether the run is complete, still coming out, or
 * cut off by a failing server; then the missing hours are left to the next poll. An unusable hour does not affect the others.
 */
async function fetchRun(
  { model, server, log, hours, rejected }: State,
  decoder: ModelDecoder,
  run_time: number,
  from_ms: number,
  failures: string[],
): Promise<'whole' | 'coming' | 'failed'> {
  for (let lead_h = 1; lead_h <= horizonHours(run_time); lead_h += 1) {
    const claim = { model, run_time, valid_time: run_time + lead_h * MS_PER_HOUR };
    const name = hourName(claim);
    if (claim.valid_time < from_ms || hours.has(name) || rejected.has(name)) continue;
    try {
      const files = await fetchModelHour(claim, server);
      if (files === 'absent') return 'coming';
      const hour = await decodeHour(decoder, files, claim, log);
      if (hour instanceof BadInput) rejected.set(name, { ...claim, reason: hour.message });
      else hours.set(name, hour);
    } catch (error) {
      if (!(error instanceof Unavailable || error instanceof BadInput)) throw error;
      failures.push(error.message);
      if (error instanceof Unavailable) return 'failed';
    }
  }
  return 'whole';
}
