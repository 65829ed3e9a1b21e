import { createMetrics } from '../../../api/http/metrics.ts';
import { createGauges } from '../../../api/metrics/service-metrics.ts';
import { createPipelineMetrics } from '../../../pipeline/metrics/registry.ts';
import { watchRoot } from '../../../pipeline/metrics/watched-stream.ts';

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

/** Every metric of the pipeline. */
export function pipelineMetrics(): KnownMetric[] {
  const metrics = createPipelineMetrics('1');
  watchRoot(metrics, { data_root: '.', now: Date.now });
  return knownIn(metrics.registry.getMetricsAsArray());
}

/** Every metric of the service. */
export function serviceMetrics(): KnownMetric[] {
  const { registry } = createMetrics();
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
