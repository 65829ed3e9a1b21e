import { existsSync } from 'node:fs';
import { createMetrics } from '../../../api/http/metrics.ts';
import { addRunGauges } from '../../../pipeline/metrics/leave-metrics.ts';
import { createPipelineMetrics } from '../../../pipeline/metrics/registry.ts';
import { watchRoot } from '../../../pipeline/metrics/root-state.ts';

/** A metric as a registry has it. */
export interface KnownMetric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

interface Registered {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

/** Every metric of the pipeline, of the stream and of the files that commands leave. */
export function pipelineMetrics(): KnownMetric[] {
  const metrics = createPipelineMetrics('1');
  watchRoot(metrics, { data_root: '.', catalogues: [], now: Date.now });
  addRunGauges(metrics.registry);
  return knownIn(metrics.registry.getMetricsAsArray());
}

/** Gauges of the service are made by this file, which names them all. */
const GAUGES = new URL('../../../api/metrics/service-metrics.ts', import.meta.url);

/** Every metric of the service. */
export async function serviceMetrics(): Promise<KnownMetric[]> {
  const { registry } = createMetrics();
  if (!existsSync(GAUGES)) return [...knownIn(registry.getMetricsAsArray()), ...PLANNED];
  const { createGauges } = await import(GAUGES.href);
  createGauges(registry);
  return knownIn(registry.getMetricsAsArray());
}

function knownIn(metrics: readonly object[]): KnownMetric[] {
  return (metrics as readonly Registered[]).map((metric) => ({
    name: metric.name,
    type: metric.constructor.name.toLowerCase(),
    help: metric.help,
    labels: metric.labelNames,
  }));
}

/** ONLY UNTIL api/metrics/service-metrics.ts IS HERE, then delete this list and the line that reads it. */
const PLANNED: readonly KnownMetric[] = `
hail_build_info gauge version,node,records
hail_ready gauge part
hail_data_missing gauge folder
hail_scan_newest_timestamp_seconds gauge
hail_scan_age_seconds gauge
hail_feed_newest_timestamp_seconds gauge feed
hail_feed_age_seconds gauge feed
hail_feed_stale gauge feed
hail_feed_failed gauge feed
hail_storm_dates gauge
hail_delivery_attempts_total counter outcome
hail_delivery_failures_total counter error_class
hail_delivery_attempt_seconds histogram
hail_delivery_attempts_running gauge share
hail_delivery_slots gauge
hail_delivery_businesses_running gauge
hail_delivery_largest_share gauge
hail_deliveries_pending gauge
hail_delivery_oldest_due_age_seconds gauge
hail_deliveries_paused gauge
hail_jobs gauge kind,state
hail_job_oldest_waiting_age_seconds gauge
hail_engine_statements gauge engine,state
hail_engine_statements_max gauge engine,state
hail_refusals_total counter code
hail_overload_refusals_total counter reason
hail_rate_refusals_total counter reason
hail_alert_scans_total counter timing
hail_alert_changes_total counter change
hail_alert_match_seconds histogram
hail_alerts_open gauge
hail_open_files gauge folder
hail_ledger_difference_credits gauge against
hail_scrape_failed gauge part
hail_scrape_age_seconds gauge part`
  .trim()
  .split('\n')
  .map((line) => {
    const [name = '', type = '', labels = ''] = line.split(' ');
    return { name, type, help: '', labels: labels.split(',').filter((label) => label !== '') };
  });
