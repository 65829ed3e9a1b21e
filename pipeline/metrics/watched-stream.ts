import { RELEASE } from '../../schemas/release.ts';
import type { ClusterStatus } from '../cluster/status.ts';
import type { Config } from '../config.ts';
import type { Log } from '../log.ts';
import { watchCluster } from './cluster-state.ts';
import { createPipelineMetrics, observedLog } from './registry.ts';
import { watchRoot } from './root-state.ts';
import { serveMetrics } from './serve-metrics.ts';

/**
 * Result of `work`, whose events are counted and served at `/metrics` meanwhile, with the state of the process among others that
 * share a store, where a port is set. Throws UsageError as `serveMetrics` does.
 */
export async function watchedStream<T>(
  config: Config,
  log: Log,
  cluster: ClusterStatus | null,
  work: (log: Log) => Promise<T>,
): Promise<T> {
  const { host, port } = config.metrics;
  if (port === null) return work(log);
  const metrics = createPipelineMetrics(RELEASE);
  const refreshCluster = watchCluster(metrics, cluster);
  const refreshRoot = watchRoot(metrics, config);
  const server = await serveMetrics(metrics, { host, port }, async () => {
    refreshCluster();
    await refreshRoot();
  });
  log.info('Metrics:Listen:Ready', { host, port: server.port });
  try {
    return await work(observedLog(log, metrics));
  } finally {
    server.close();
  }
}
