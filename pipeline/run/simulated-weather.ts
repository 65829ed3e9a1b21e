import { basename, join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { MS_PER_DAY, MS_PER_HOUR, scanTime, utcDate } from '../../schemas/time.ts';
import { PipelineError } from '../error.ts';
import { type IngestedFiles, ingestFeedFiles } from '../feeds/ingest-files.ts';
import { readFeedStates, stateAfter, writeFeedStates, writeSimulatedStates } from '../feeds/schedule.ts';
import { WEB_FEEDS } from '../feeds/web-feeds.ts';
import { datesToCount } from '../forecast/hail-dates.ts';
import { modelFeedName } from '../forecast/model-feed.ts';
import { publishModelHours } from '../forecast/publish-forecast.ts';
import { CLIMATOLOGY_FEED, OUTLOOK_FEED, type Refreshed } from '../forecast/refresh.ts';
import type { Log } from '../log.ts';
import type { Root } from '../publish/root.ts';
import { newestScan } from '../publish/root.ts';
import { writeScans } from '../simulate/evening.ts';
import { feedFiles } from '../simulate/feeds.ts';
import { simulatedModelHours } from '../simulate/model-hours.ts';
import { plainsScenario } from '../simulate/weather.ts';
import { type FolderListing, listFolder } from '../sources/folder.ts';

/** The last hours of simulated weather. */
export interface SimulatedHours {
  readonly seed: number;
  readonly hours: number;
}

/** Scans of the hours up to now in the inbox; those after the newest published one are simulated. */
export async function simulateHours(
  root: Root,
  { seed, hours }: SimulatedHours,
  now_ms: number,
  log: Log,
): Promise<FolderListing> {
  const newest_ms = newestScan([...root.heads.values()].filter((head) => head.provenance === 'simulated')) ?? 0;
  const from_ms = Math.max(now_ms - hours * MS_PER_HOUR, Math.min(newest_ms + 1000, now_ms));
  const out = join(root.path, layout.inbox('simulated'));
  for await (const scan of writeScans(plainsScenario(seed, WSR88D), { from_ms, to_ms: now_ms, out }))
    log.progress('simulated', scan.number, scan.of);
  return { ...(await listFolder(out)), unknown: [] };
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
  for (const { partition, provenance } of root.heads.values())
    if (provenance === 'simulated' && partition >= first_date)
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
  const state = stateAfter(before, CLIMATOLOGY_FEED, now_ms, climatologyFailure(refreshed));
  await writeFeedStates(root, [{ ...state, source: 'simulated' }]);
}

/** Why the climatology could not be made; null when it was not due or was made. */
export function climatologyFailure({ failed }: Refreshed): string | null {
  return failed.find(({ table }) => table === 'climatology')?.reason ?? null;
}
