import { basename } from 'node:path';
import type { ForecastModel } from '../../schemas/tables/forecast.ts';
import { timestamp } from '../../schemas/time.ts';
import type { IngestedFile } from '../feed.ts';
import { failureOf, ingestFolder } from '../feeds/folder.ts';
import { ingestFeedFiles } from '../feeds/ingest-files.ts';
import { writeSimulatedStates } from '../feeds/schedule.ts';
import { WEB_FEEDS } from '../feeds/web-feeds.ts';
import { parseModelKey } from '../forecast/model-bucket.ts';
import type { CellHour } from '../forecast/model-cells.ts';
import { modelFeedName } from '../forecast/model-feed.ts';
import { type FolderHours, readModelFolder } from '../forecast/model-folder.ts';
import { publishModelHours } from '../forecast/publish-forecast.ts';
import type { Log } from '../log.ts';
import type { Root } from '../publish/root.ts';
import { OUTLOOK_FEED } from './open-feeds.ts';
import { writeSimulatedFeeds } from './simulated-weather.ts';

const NO_MODELS: FolderHours = { hours: new Map(), refused: [] };
/** Files next to scans that may be of a feed; name and content decide which. */
const FEED_FILE = /\.(?:csv|txt|json|geojson)$/i;

/** Outcome of the files of a folder that are no scans. */
export interface FolderFeeds {
  readonly files: readonly IngestedFile[];
  /** Hours of model runs. */
  readonly hours: ReadonlyMap<ForecastModel, readonly CellHour[]>;
  /** Files of no known kind. */
  readonly unknown: readonly string[];
  /** Files that could not be used, by name, with the reason. */
  readonly failed: readonly FeedFailure[];
}

export interface FeedFailure {
  /** File, collection or model. */
  readonly name: string;
  readonly reason: string;
}

/**
 * Publishes the reports, warnings, watches and outlooks of a folder of scans, and reads its model runs. `names` are the files that are
 * no scans; the files of a folder of simulated scans are all that its feeds have.
 */
export async function ingestFeedsOfScanFolder(
  root: Root,
  folder: string,
  names: readonly string[],
  is_simulated: boolean,
  now_ms: number,
  log: Log,
): Promise<FolderFeeds> {
  const model_names = names.filter((name) => parseModelKey(name) !== null);
  const models = model_names.length === 0 ? NO_MODELS : await readModelFolder(folder, log);
  const failed: FeedFailure[] = models.refused.map(({ path, reason }) => ({ name: basename(path), reason }));
  const candidates = names.filter((name) => FEED_FILE.test(name));
  const provenance = is_simulated ? 'simulated' : 'observed';
  const read = await ingestFolder(root, folder, candidates, { now_ms, provenance });
  const files = read.files.filter(({ collection }) => collection !== null);
  failed.push(...read.failures.map((reason) => ({ name: 'files', reason })));
  for (const { name, refused } of [...read.rejected, ...files])
    if (refused !== null) failed.push({ name, reason: refused });
  if (is_simulated && files.length > 0) {
    await ingestFeedFiles(root, WEB_FEEDS, [], { now_ms, provenance, is_complete: true });
    await writeSimulatedFeeds(root, now_ms);
  }
  const known = new Set([...files.map(({ name }) => name), ...model_names.map((name) => basename(name))]);
  const unknown = names.filter((name) => !known.has(basename(name)));
  return { files, hours: models.hours, unknown, failed };
}

/**
 * Publishes the coming hours of the model runs of a folder, unless all their hours are over. Returns the models that were not
 * published.
 */
export async function publishFolderForecast(
  root: Root,
  byModel: FolderFeeds['hours'],
  now_ms: number,
  log: Log,
): Promise<FeedFailure[]> {
  const failed: FeedFailure[] = [];
  for (const [model, hours] of byModel) {
    if (hours.every(({ valid_time }) => valid_time <= now_ms)) {
      failed.push({ name: model, reason: `no hour of its runs ends after ${timestamp(now_ms)}` });
      continue;
    }
    const failure = await failureOf(async () => {
      await publishModelHours(root, model, hours, now_ms, log);
      if (hours.some(({ simulated }) => simulated))
        await writeSimulatedStates(root, [modelFeedName(model), OUTLOOK_FEED], now_ms);
    });
    if (failure !== null) failed.push({ name: model, reason: failure });
  }
  return failed;
}
