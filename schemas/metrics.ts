import type { RequestListener } from 'node:http';
import { collectDefaultMetrics, type Registry } from 'prom-client';

/** Sums of prom-client that are gauges under the names of counters; each is there by type as well. */
const MISNAMED = ['handles', 'requests', 'resources'].map((of) => `nodejs_active_${of}_total`);

/** Adds memory, processor, open files, event-loop delay and garbage collection of this process, under names with a prefix. */
export function addProcessMetrics(registry: Registry, prefix: string): void {
  collectDefaultMetrics({ register: registry, prefix });
  for (const name of MISNAMED) registry.removeSingleMetric(prefix + name);
}

/** Answers GET /metrics with what `page` returns, 500 where that fails, and any other request with 404. */
export function metricsPage(
  { contentType }: Pick<Registry, 'contentType'>,
  page: () => Promise<string>,
): RequestListener {
  return (request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    page().then(
      (text) => response.writeHead(200, { 'Content-Type': contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  };
}
