import type { Config } from '../config.ts';
import { startSchedule } from '../feeds/schedule.ts';
import type { Log } from '../log.ts';
import { openRoot, type Root } from '../publish/root.ts';
import { startReadPool } from '../scans/read-pool.ts';
import { openSession } from '../scans/session.ts';
import { gathered } from '../sources/gather.ts';
import { watch } from '../sources/inbox.ts';
import { openFeeds } from './feeds.ts';
import { follow, type OpenedRoot } from './follow.ts';
import { pollBucket } from './poll-bucket.ts';
import { refreshDerived } from './refresh-derived.ts';

/** Where a stream finds raw files. */
export type StreamSource =
  | { readonly kind: 'dir'; readonly folder: string }
  | { readonly kind: 'noaa'; readonly products: readonly string[] };

export interface StreamRequest {
  readonly source: StreamSource;
  /** Names of other feeds than that of the scans. */
  readonly feeds: readonly string[];
  /** Time between two looks, milliseconds. */
  readonly every_ms: number;
  /** Threads that decode. */
  readonly threads: number;
  readonly log: Log;
  /** Says at a terminal what the stream waits for. */
  readonly tell: (line: string) => void;
  /** Aborting it ends the stream between two commits; it is aborted when the stream has ended, so that nothing goes on looking. */
  readonly stop: AbortController;
}

/** Follows a source and publishes each scan as it comes, until it is told to stop or an error does not pass. */
export async function streamSource(config: Config, request: StreamRequest): Promise<void> {
  const { source, feeds, every_ms, log, tell, stop } = request;
  const { data_root, storm_day_start_hour, now, raw_keep_days, reflectivity_keep_hours } = config;
  const { signal } = stop;
  const readers = startReadPool(request.threads);
  const open = async (): Promise<OpenedRoot> => {
    const root = await openRoot(data_root, 'hail-pipeline stream', storm_day_start_hour, now());
    const session = openSession(root, readers, {
      storm_day_start_hour,
      now,
      log,
      raw_keep_days,
      reflectivity_keep_hours,
      move_raw: source.kind === 'noaa',
      each_scan: true,
      signal,
    });
    return { root, session };
  };
  const arrivals = (opened: () => Root) => {
    log.info('Stream:Start', { source: source.kind, data: data_root });
    const found =
      source.kind === 'dir'
        ? watch({ folder: source.folder, poll_ms: every_ms, signal })
        : pollBucket(config, { products: source.products, opened, log, every_ms, signal });
    return gathered(found);
  };
  const schedule = startSchedule({
    feeds: openFeeds(config, feeds, log, { signal }),
    now,
    log,
    signal,
    refreshDerived,
  });
  try {
    await follow({ open, arrivals, schedule, log, tell, every_ms, raw_keep_days, signal });
    log.info('Stream:Stop', {});
  } finally {
    stop.abort();
    await readers.close();
  }
}
