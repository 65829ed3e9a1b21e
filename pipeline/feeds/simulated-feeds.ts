import { basename } from 'node:path';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { MS_PER_DAY, MS_PER_HOUR, scanTime, utcDate } from '../../schemas/time.ts';
import { PipelineError } from '../error.ts';
import type { Root } from '../publish/root.ts';
import { feedFiles } from '../simulate/evening.ts';
import { defaultScenario } from '../simulate/scenario.ts';
import { writeSimulatedStates } from './feed-states.ts';
import { type IngestedFiles, ingestFeedFiles } from './ingest-feed-files.ts';
import { WEB_FEEDS } from './web-feeds.ts';

export interface SimulatedFeeds {
  readonly seed: number;
  readonly hours: number;
  /** Times of the simulated scans, ascending. */
  readonly scan_times: readonly number[];
}

/**
 * Publishes reports, warnings, watches and outlooks of simulated weather up to now, in the formats of the real feeds and through
 * their readers. Throws PipelineError when a reader rejects a file or an item: the simulator is wrong then.
 */
export async function ingestSimulatedFeeds(
  root: Root,
  { seed, hours, scan_times }: SimulatedFeeds,
  now_ms: number,
): Promise<IngestedFiles> {
  const from_ms = now_ms - hours * MS_PER_HOUR;
  const files = feedFiles(defaultScenario(seed, WSR88D), from_ms, now_ms, scan_times).map(({ path, text }) => ({
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

/** Times of the simulated scans that are published of the last hours, and of the days that these touch, ascending. */
export async function simulatedScanTimes(root: Root, now_ms: number, hours: number): Promise<number[]> {
  // Reports of a convective day begin half a day before its date ends, and a storm date may begin at any hour.
  const first_date = utcDate(now_ms - hours * MS_PER_HOUR - 2 * MS_PER_DAY);
  const times: number[] = [];
  for (const { partition, provenance } of root.heads.values())
    if (provenance === 'simulated' && partition >= first_date)
      for (const { scan_id } of (await root.manifest(partition))?.scans ?? []) times.push(scanTime(scan_id));
  return times.sort((a, b) => a - b);
}
