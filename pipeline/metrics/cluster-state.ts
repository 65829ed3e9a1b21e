import { Counter } from 'prom-client';
import { LEASE_MS } from '../cluster/lease.ts';
import type { ClusterStatus } from '../cluster/status.ts';
import { addGauge } from './gauge.ts';
import { type PipelineMetrics, PREFIX } from './registry.ts';

/**
 * Adds what a process does among others that share a store. Call the result before each answer. `status`: null without a store,
 * where all of it is absent.
 */
export function watchCluster({ registry }: PipelineMetrics, status: ClusterStatus | null): () => void {
  const gauge = (name: string, help: string) => addGauge(registry, PREFIX + name, help);
  const leader = gauge('leader', '1 while this process holds the lease of the live feed, 0 while it waits for it.');
  const fence = gauge('lease_fence', 'Number of the lease that this process holds: larger for each new holder.');
  const heartbeat = gauge(
    'lease_heartbeat_age_seconds',
    `Time since the database confirmed the lease; it counts as lost at ${LEASE_MS / 1000} s.`,
  );
  const lags = {
    partitions: gauge(
      'replica_lag_partitions',
      'Storm dates and other partitions that are committed and not yet stored.',
    ),
    files: gauge('replica_lag_files', 'Files of the push under way that are not yet stored.'),
    bytes: gauge('replica_lag_bytes', 'Bytes of the push under way that are not yet stored.'),
  };
  const requests = new Counter({
    name: `${PREFIX}store_requests_total`,
    help: 'Requests to the store by outcome; any outcome but done and refused is tried again.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  return () => {
    if (status === null) return;
    const { lease } = status;
    const heartbeat_ms = lease?.heartbeat_ms() ?? null;
    leader.set(heartbeat_ms !== null && heartbeat_ms < LEASE_MS ? 1 : 0);
    fence.clear();
    heartbeat.clear();
    if (lease !== null && heartbeat_ms !== null) {
      fence.set(lease.fence);
      heartbeat.set(heartbeat_ms / 1000);
    }
    const lag = status.lag?.() ?? null;
    for (const part of ['partitions', 'files', 'bytes'] as const)
      if (lag === null) lags[part].clear();
      else lags[part].set(lag[part]);
    requests.reset();
    for (const [outcome, count] of Object.entries(status.requests)) requests.inc({ outcome }, count);
  };
}
