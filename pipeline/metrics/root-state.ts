import { statfs } from 'node:fs/promises';
import { scanTime } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { readFeedStates } from '../feeds/schedule.ts';
import { readCurrent } from '../publish/manifests.ts';
import { addGauge, type KnownValue } from './gauge.ts';
import { type PipelineMetrics, PREFIX } from './registry.ts';

/** A part that takes longer counts as failed: a disk that hangs must not hang the answer. */
const LONGEST_READ_MS = 2000;

type Parts = Pick<Config, 'data_root' | 'now'>;

/**
 * Adds what the data root says of itself to the metrics: newest scan, feeds, disk. Call the result before each
 * answer: it reads a few small files. What cannot be read, or was never there, is absent; `scrape_failed` says which part.
 */
export function watchRoot({ registry }: PipelineMetrics, config: Parts): () => Promise<void> {
  const { data_root, now } = config;
  const gauge = <Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) =>
    addGauge(registry, PREFIX + name, help, labelNames);

  const scan = gauge('scan_newest_timestamp_seconds', 'Time of observation of the newest published scan.');
  const lastSuccess = gauge('feed_success_timestamp_seconds', 'Last success of a feed.', ['feed']);
  const lastAttempt = gauge('feed_attempt_timestamp_seconds', 'Last attempt of a feed.', ['feed']);
  const lastFailure = gauge('feed_failed', '1 where the last attempt of a feed failed, 0 where it did not.', ['feed']);
  const interval = gauge('feed_interval_seconds', 'Usual time between two polls of a feed.', ['feed']);
  const size = gauge('disk_size_bytes', 'Size of the disk that holds the data root.');
  const free = gauge('disk_free_bytes', 'Bytes that the pipeline may still write on this disk.');
  const used = gauge('disk_used_bytes', 'Bytes in use on this disk, by anything.');
  const failed = gauge('scrape_failed', '1 where a part of the data root could not be read, 0 where it could.', [
    'part',
  ]);
  const scanAge = gauge('scan_age_seconds', 'Age of the newest published scan by the data clock.');
  const feedAge = gauge('feed_age_seconds', 'Time since the last success of a feed.', ['feed']);

  const readScan = async () => {
    const newest = (await readCurrent(data_root))?.scan_id ?? null;
    return () => {
      clear(scan, scanAge);
      if (newest === null) return;
      const time_ms = scanTime(newest);
      scan.set(time_ms / 1000);
      scanAge.set(ageSeconds(now(), time_ms));
    };
  };
  const readFeeds = async () => {
    const states = await readFeedStates(data_root);
    return () => {
      clear(lastSuccess, lastAttempt, lastFailure, interval, feedAge);
      for (const { name: feed, every_s, last_attempt_at, last_success_at, failure } of states.values()) {
        interval.set(every_s, { feed });
        if (last_attempt_at !== null) {
          lastAttempt.set(Date.parse(last_attempt_at) / 1000, { feed });
          lastFailure.set(failure === null ? 0 : 1, { feed });
        }
        if (last_success_at === null) continue;
        lastSuccess.set(Date.parse(last_success_at) / 1000, { feed });
        feedAge.set(ageSeconds(now(), Date.parse(last_success_at)), { feed });
      }
    };
  };
  const readDisk = async () => {
    const { bsize, blocks, bfree, bavail } = await statfs(data_root);
    return () => {
      size.set(bsize * blocks);
      free.set(bsize * bavail);
      used.set(bsize * (blocks - bfree));
    };
  };

  const parts = [
    { part: 'scan', ...onceAtATime(readScan), gone: [scan, scanAge] },
    { part: 'feeds', ...onceAtATime(readFeeds), gone: [lastSuccess, lastAttempt, lastFailure, interval, feedAge] },
    { part: 'disk', ...onceAtATime(readDisk), gone: [size, free, used] },
  ];
  return async () => {
    await Promise.all(
      parts.map(async ({ part, read, gone }) => {
        const set = await inTime(read());
        if (set === null) clear(...gone);
        else set();
        failed.set(set === null ? 1 : 0, { part });
      }),
    );
  };
}

function clear(...gauges: readonly Pick<KnownValue<never>, 'clear'>[]): void {
  for (const gauge of gauges) gauge.clear();
}

/** Age in seconds; a clock that is behind makes it 0. */
function ageSeconds(now_ms: number, time_ms: number): number {
  return Math.max(0, (now_ms - time_ms) / 1000);
}

/** Shares a read that is under way: those of a disk that hangs must not pile up. */
function onceAtATime<T>(work: () => Promise<T>): { readonly read: () => Promise<T> } {
  let running: Promise<T> | null = null;
  return {
    read: () => {
      running ??= work().finally(() => {
        running = null;
      });
      return running;
    },
  };
}

/** Result of a read; null when it fails or takes too long. */
async function inTime<T>(read: Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), LONGEST_READ_MS);
  });
  try {
    return await Promise.race([read, late]);
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
  }
}
