import { once } from 'node:events';
import { statfs } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemFault } from '../../schemas/command-line.ts';
import { metricsPage } from '../../schemas/metrics.ts';
import { RELEASE } from '../../schemas/release.ts';
import { scanTime } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { UsageError } from '../error.ts';
import { readFeedStates } from '../feeds/schedule.ts';
import type { Log } from '../log.ts';
import { readCurrent } from '../publish/manifests.ts';
import { createPipelineMetrics, gaugesOf, observedLog, type PipelineMetrics } from './registry.ts';

/**
 * Result of `work`; with a port set, its events are counted and served at `/metrics` meanwhile. Throws UsageError as
 * `serveMetrics` does.
 */
export async function watchedStream<T>(config: Config, log: Log, work: (log: Log) => Promise<T>): Promise<T> {
  const { host, port } = config.metrics;
  if (port === null) return work(log);
  const metrics = createPipelineMetrics(RELEASE);
  const refreshRoot = watchRoot(metrics, config);
  const server = await serveMetrics(metrics, { host, port }, refreshRoot);
  log.info('Metrics:Listen:Ready', { host, port: server.port });
  try {
    return await work(observedLog(log, metrics));
  } finally {
    server.close();
  }
}

/** A scraper needs one; more than these wait, so that no crowd of them slows a commit. */
const MAX_CONNECTIONS = 8;
const REQUEST_TIMEOUT_MS = 10_000;

/**
 * Serves metrics at `http://HOST:PORT/metrics`; port 0 asks for a free one. `refresh` is called before each answer, and a connection
 * without traffic for 10 seconds ends. Throws UsageError where the port cannot be used.
 */
export async function serveMetrics(
  { registry }: PipelineMetrics,
  { host, port }: { readonly host: string; readonly port: number },
  refresh: () => Promise<void>,
) {
  const server = createServer(
    { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS },
    metricsPage(registry, async () => {
      await refresh();
      return await registry.metrics();
    }),
  );
  server.maxConnections = MAX_CONNECTIONS;
  // A scraper that does not read its answer must not hold a place for ever.
  server.setTimeout(REQUEST_TIMEOUT_MS);
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const reason = systemFault(error) ?? String(error);
    throw new UsageError(
      `HAIL_PIPELINE_METRICS_PORT is ${port}, which cannot be listened on at ${host} (${reason}), expected a free port`,
    );
  }
  // A connection does not keep an ended stream alive.
  server.unref();
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { port: (server.address() as AddressInfo).port, close };
}

/**
 * Adds newest scan, feeds and disk of the data root to the metrics. The result reads them before each answer. An unreadable or
 * missing part is absent; `scrape_failed` names it.
 */
export function watchRoot(
  { registry }: PipelineMetrics,
  { data_root, now }: Pick<Config, 'data_root' | 'now'>,
): () => Promise<void> {
  const gauge = gaugesOf(registry);
  const scan = gauge('scan_newest_timestamp_seconds', 'Time of observation of the newest published scan.');
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
      if (newest === null) return;
      const time_ms = scanTime(newest);
      scan.set(time_ms / 1000);
      scanAge.set(ageSeconds(now(), time_ms));
    };
  };
  const readFeeds = async () => {
    const states = await readFeedStates(data_root);
    return () => {
      for (const { name: feed, every_s, last_attempt_at, last_success_at, failure } of states.values()) {
        interval.set(every_s, { feed });
        if (last_attempt_at !== null) lastFailure.set(failure === null ? 0 : 1, { feed });
        if (last_success_at !== null) feedAge.set(ageSeconds(now(), Date.parse(last_success_at)), { feed });
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
    { part: 'scan', read: readScan, gone: [scan, scanAge] },
    { part: 'feeds', read: readFeeds, gone: [lastFailure, interval, feedAge] },
    { part: 'disk', read: readDisk, gone: [size, free, used] },
  ];
  return async () => {
    await Promise.all(
      parts.map(async ({ part, read, gone }) => {
        const set = await read().catch(() => null);
        for (const value of gone) value.clear();
        set?.();
        failed.set(set === null ? 1 : 0, { part });
      }),
    );
  };
}

/** Age in seconds; a clock that is behind makes it 0. */
function ageSeconds(now_ms: number, time_ms: number): number {
  return Math.max(0, (now_ms - time_ms) / 1000);
}
