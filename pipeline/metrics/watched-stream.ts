import { RELEASE } from '../../schemas/release.ts';
import type { Config } from '../config.ts';
import type { Log } from '../log.ts';
import { createPipelineMetrics, observedLog } from './registry.ts';
import { watchRoot } from './root-state.ts';
import { serveMetrics } from './serve-metrics.ts';

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
