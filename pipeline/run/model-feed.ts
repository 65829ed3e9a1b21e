import fs from 'node:fs/promises';
import type { ForecastModel } from '../../schemas/tables/forecast.ts';
import { timestamp } from '../../schemas/time.ts';
import { asUnreadable, BadInput, NotFound, PipelineError } from '../error.ts';
import type { CellHour } from '../forecast/model-cells.ts';
import type { Log } from '../log.ts';
import type { ModelFile } from '../read/model.ts';
import { horizonHours, type ModelHourName, usefulRuns } from '../sources/model-names.ts';
import { fetchModelHour, listModelFolder, type ModelServer } from '../sources/models.ts';
import { Unavailable } from '../sources/retry.ts';
import { type ModelDecoder, openModelDecoder } from './model-decoder.ts';
import { publishForecast } from './publish-forecast.ts';
import type { FeedName, ScheduledFeed } from './scheduled-feed.ts';

const HOUR_MS = 3_600_000;
/** Runs are out an hour after their start, and their last hours half an hour later: looked for four times an hour. */
const EVERY_S = 900;
/** A newest run older than this is a model that has stopped. */
const OLDEST_NEWEST_MS = 4 * HOUR_MS;
const NOTHING_KNOWN: ReadonlyMap<string, string> = new Map();

/** Name of the feed of a model. */
export function modelFeedName(model: ForecastModel): FeedName {
  return { name: model, collection: 'forecast', every_s: EVERY_S };
}

/**
 * The hourly forecast from the runs of a model as they come out. Hours that were decoded stay in memory while they are of use, so that a
 * new run is blended with those before it.
 */
export function modelFeed(model: ForecastModel, server: ModelServer, log: Log): ScheduledFeed {
  const hours = new Map<string, CellHour>();
  return {
    ...modelFeedName(model),
    look: async (now_ms) => {
      const runs = usefulRuns(now_ms);
      forget(hours, runs, now_ms);
      const failures: string[] = [];
      const decoder = openModelDecoder();
      try {
        // The newest whole run is enough after a start, with what is there of the one that is coming; older ones are not caught up on.
        for (const run_time of runs)
          if (await fetchRun({ model, run_time }, now_ms, hours, server, decoder, log, failures)) break;
      } finally {
        await decoder.close();
      }
      if (hours.size === 0)
        throw new Unavailable(
          server.base_url,
          `has no hour of the ${model} runs since ${timestamp(runs[2] ?? now_ms)}${failures[0] === undefined ? '' : `; ${failures[0]}`}`,
        );
      const known = [...hours.values()];
      const newest = Math.max(...known.map(({ run_time }) => run_time));
      // What came is published in any case; the feed counts as read when nothing was missing.
      const failure =
        now_ms - newest <= OLDEST_NEWEST_MS
          ? (failures[0] ?? null)
          : `newest run is of ${timestamp(newest)}, expected one of the last 4 hours`;
      return {
        publish: async (root) => ({
          failure,
          files: [],
          changed: (await publishForecast(root, model, known, now_ms)) ? ['forecast'] : [],
        }),
      };
    },
  };
}

function forget(hours: Map<string, CellHour>, runs: readonly number[], now_ms: number): void {
  for (const [key, { run_time, valid_time }] of hours)
    if (!runs.includes(run_time) || valid_time < now_ms - HOUR_MS) hours.delete(key);
}

/**
 * Fetches what is there of a run, hour by hour; true when no older run is needed. An hour that cannot be used costs itself only; when the
 * server does not deliver, what is missing waits for the next look. Both are noted in `failures`.
 */
async function fetchRun(
  { model, run_time }: Pick<ModelHourName, 'model' | 'run_time'>,
  now_ms: number,
  hours: Map<string, CellHour>,
  server: ModelServer,
  decoder: ModelDecoder,
  log: Log,
  failures: string[],
): Promise<boolean> {
  for (let lead_h = 1; lead_h <= horizonHours(run_time); lead_h += 1) {
    const valid_time = run_time + lead_h * HOUR_MS;
    const key = `${run_time} ${lead_h}`;
    // Storms are looked for an hour around the one described.
    if (valid_time < now_ms - HOUR_MS || hours.has(key)) continue;
    const subsets = await fetchHour({ model, run_time, lead_h }, server);
    if (subsets === 'absent' || subsets === 'unchanged') return false;
    if (subsets instanceof PipelineError) {
      failures.push(subsets.message);
      if (subsets instanceof Unavailable) return hours.size > 0;
      continue;
    }
    const files = subsets.map(({ key: subject, bytes }) => ({ subject, bytes }));
    const hour = await decodeHour(decoder, files, { model, run_time, lead_h }, log);
    if (hour !== null) hours.set(key, hour);
  }
  return true;
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

/** Hours of model runs in a folder that has the layout of the public buckets. Throws NotFound when there are none. */
export async function readModelFolder(
  folder: string,
  log: Log,
): Promise<ReadonlyMap<ForecastModel, readonly CellHour[]>> {
  const found = await listModelFolder(folder);
  if (found.length === 0)
    throw new NotFound(
      'forecast',
      folder,
      'holds no model hours, expected such as hrrr.20260501/conus/hrrr.t00z.wrfsfcf01.grib2',
    );
  const hours = new Map<ForecastModel, CellHour[]>();
  const decoder = openModelDecoder();
  try {
    for (const { paths, ...name } of found) {
      const files = await Promise.all(paths.map(readModelFile));
      const hour = await decodeHour(decoder, files, name, log);
      if (hour !== null) hours.set(name.model, [...(hours.get(name.model) ?? []), hour]);
    }
  } finally {
    await decoder.close();
  }
  return hours;
}

async function readModelFile(path: string): Promise<ModelFile> {
  try {
    return { subject: path, bytes: await fs.readFile(path) };
  } catch (error) {
    throw asUnreadable(path, error);
  }
}

async function decodeHour(
  decoder: ModelDecoder,
  files: readonly ModelFile[],
  { model, run_time, lead_h }: ModelHourName,
  log: Log,
): Promise<CellHour | null> {
  try {
    const claim = { model, run_time, valid_time: run_time + lead_h * HOUR_MS };
    const { hour, set_aside } = await decoder.decode({ files, claim });
    for (const { item, reason } of set_aside) log.warn('Model:Field:SetAside', { file: item, reason });
    return hour;
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'BadInput') throw error;
    log.warn('Model:Hour:Refused', { file: files[0]?.subject ?? '', reason: error.message });
    return null;
  }
}
