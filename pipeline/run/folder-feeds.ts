import { basename } from 'node:path';
import type { ForecastModel } from '../../schemas/tables/forecast.ts';
import { timestamp } from '../../schemas/time.ts';
import type { IngestedFile } from '../feed.ts';
import { succeeded, writeFeedStates } from '../feeds/feed-states.ts';
import { ingestFeedFiles } from '../feeds/ingest-feed-files.ts';
import { WEB_FEEDS } from '../feeds/web-feeds.ts';
import type { CellHour } from '../forecast/model-cells.ts';
import type { Log } from '../log.ts';
import { parseModelKey } from '../model-runs/model-bucket.ts';
import { modelFeedName } from '../model-runs/model-feed.ts';
import { readModelFolder } from '../model-runs/model-folder.ts';
import { publishForecast } from '../model-runs/publish-forecast.ts';
import type { Root } from '../publish/root.ts';
import { EVENING_NOTES } from '../simulate/evening.ts';
import { OUTLOOK_FEED } from './derived-feeds.ts';
import { attempted, batchesOf } from './refresh-feeds.ts';

/** Files that a feed may have written; name and content decide which. */
const FEED_FILE = /\.(?:csv|txt|json|geojson)$/i;

/** What a folder of raw files holds apart from its scans. */
export interface FolderFeeds {
  readonly files: readonly IngestedFile[];
  /** Hours of model runs, to be published once the climatology is. */
  readonly hours: ReadonlyMap<ForecastModel, readonly CellHour[]>;
  /** Files of no known kind. */
  readonly unknown: readonly string[];
  /** What could not be used, by name, with the reason. */
  readonly failed: readonly FeedFailure[];
}

export interface FeedFailure {
  /** File, collection or model. */
  readonly name: string;
  readonly reason: string;
}

export interface FolderFeedsOptions {
  readonly folder: string;
  /** Names of the files that are no scans, below the folder. */
  readonly names: readonly string[];
  /** True when the scans of the folder are simulated: its feeds then say all there is to say. */
  readonly is_simulated: boolean;
  readonly now_ms: number;
  readonly log: Log;
}

/** Publishes the reports, warnings, watches and outlooks of a folder, and reads its model runs. One file that cannot be used costs itself only. */
export async function takeFolderFeeds(
  root: Root,
  { folder, names, is_simulated, now_ms, log }: FolderFeedsOptions,
): Promise<FolderFeeds> {
  const model_names = names.filter((name) => parseModelKey(name) !== null);
  const models = model_names.length === 0 ? null : await readModelFolder(folder, log);
  const failed: FeedFailure[] = (models?.refused ?? []).map(({ path, reason }) => ({ name: basename(path), reason }));
  const files: IngestedFile[] = [];
  const candidates = names.filter((name) => FEED_FILE.test(name));
  const provenance = is_simulated ? ('simulated' as const) : ('observed' as const);
  for await (const { batch, refused } of batchesOf(folder, candidates, now_ms)) {
    const failure = await attempted(async () => {
      const taken = await ingestFeedFiles(root, batch, { now_ms, provenance });
      files.push(...taken.files.filter(({ collection }) => collection !== null));
    });
    if (failure !== null) failed.push({ name: 'files', reason: failure });
    for (const { name, reason } of reasonsOf(refused)) failed.push({ name, reason });
  }
  failed.push(...reasonsOf(files));
  if (is_simulated && files.length > 0) {
    const looked_at = WEB_FEEDS.map(({ collection }) => collection);
    await ingestFeedFiles(root, [], { now_ms, provenance, looked_at });
    await writeFeedStates(
      root,
      WEB_FEEDS.map((feed) => succeeded(feed, now_ms, 'simulated')),
    );
  }
  const known = new Set([
    ...EVENING_NOTES,
    ...files.map(({ name }) => name),
    ...model_names.map((name) => basename(name)),
  ]);
  const unknown = names.filter((name) => !known.has(basename(name)));
  return { files, hours: models?.hours ?? new Map(), unknown, failed };
}

function reasonsOf(files: readonly IngestedFile[]): FeedFailure[] {
  return files.flatMap(({ name, refused }) => (refused === null ? [] : [{ name, reason: refused }]));
}

/**
 * Publishes the hours to come of the model runs of a folder. Runs that are over do not take the place of a forecast. Returns what
 * could not be published.
 */
export async function publishFolderForecast(
  root: Root,
  { hours: byModel }: Pick<FolderFeeds, 'hours'>,
  now_ms: number,
): Promise<FeedFailure[]> {
  const failed: FeedFailure[] = [];
  for (const [model, hours] of byModel) {
    if (hours.every(({ valid_time }) => valid_time <= now_ms)) {
      failed.push({ name: model, reason: `no hour of its runs ends after ${timestamp(now_ms)}` });
      continue;
    }
    const failure = await attempted(async () => {
      await publishForecast(root, model, hours, now_ms);
      if (hours.some(({ simulated }) => simulated))
        await writeFeedStates(
          root,
          [modelFeedName(model), OUTLOOK_FEED].map((feed) => succeeded(feed, now_ms, 'simulated')),
        );
    });
    if (failure !== null) failed.push({ name: model, reason: failure });
  }
  return failed;
}
