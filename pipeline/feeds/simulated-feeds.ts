import { basename } from 'node:path';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { MS_PER_DAY, MS_PER_HOUR, scanTime, utcDate } from '../../schemas/time.ts';
import { PipelineError } from '../error.ts';
import type { Root } from '../publish/root.ts';
import { feedFiles } from '../simulate/evening.ts';
import { defaultScenario } from '../simulate/scenario.ts';
import { succeeded, writeFeedStates } from './feed-states.ts';
import { type IngestedFiles, ingestFeedFiles } from './ingest-feed-files.ts';
import { WEB_FEEDS } from './web-feeds.ts';

/**
 * Publishes what the other feeds would say about simulated weather up to now, through the readers of the real ones; `scan_times`
 * are those of its scans, ascending. Throws PipelineError when one of them refuses its file: the simulator is wrong then.
 */
export async function takeSimulatedFeeds(
  root: Root,
  {
    seed,
    hours,
    scan_times,
  }: { readonly seed: number; readonly hours: number; readonly scan_times: readonly number[] },
  now_ms: number,
): Promise<IngestedFiles> {
  const files = feedFiles(defaultScenario(seed, WSR88D), now_ms - hours * MS_PER_HOUR, now_ms, scan_times).map(
    ({ path, text }) => ({
      name: basename(path),
      bytes: Buffer.from(text),
      received_ms: now_ms,
    }),
  );
  const looked_at = WEB_FEEDS.map(({ collection }) => collection);
  const taken = await ingestFeedFiles(root, files, {
    ...{ now_ms, provenance: 'simulated' },
    looked_at,
    collected: [{ source: 'lsr', from_ms: now_ms - hours * MS_PER_HOUR, until_ms: now_ms, data_source: 'simulated' }],
  });
  const refused = taken.files.find((file) => file.refused !== null || file.set_aside.length > 0);
  if (refused !== undefined)
    throw new PipelineError('simulate', refused.name, refused.refused ?? refused.set_aside[0]?.reason ?? 'is refused');
  await writeFeedStates(
    root,
    WEB_FEEDS.map((feed) => succeeded(feed, now_ms, 'simulated')),
  );
  return taken;
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
