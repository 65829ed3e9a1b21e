import type { RequestListener } from 'node:http';
import { collectDefaultMetrics, type Registry } from 'prom-client';

/** Sums of prom-client that are gauges under the names of counters; each is there by type as well. */
const MISNAMED = ['handles', 'requests', 'resources'].map((of) => `nodejs_active_${of}_total`);

/** Adds memory, processor, open files, event-loop delay and garbage collection of this process, under names with a prefix. */
export function addProcessMetrics(registry: Registry, prefix: string): void {
  collectDefaultMetrics({ register: registry, prefix });
  for (const name of MISNAMED) registry.removeSingleMetric(prefix + name);
}

/**
 * Answers GET /metrics with what `page` returns, 500 where that fails, and any other request with 404. Requests that come while it
 * is being written share it: a crowd of them costs no more than one.
 */
export function metricsPage(
  { contentType }: Pick<Registry, 'contentType'>,
  page: () => Promise<string>,
): RequestListener {
  let writing: Promise<string> | null = null;
  const read = () => {
    writing ??= page().finally(() => {
      writing = null;
    });
    return writing;
  };
  return (request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    read().then(
      (text) => response.writeHead(200, { 'Content-Type': contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  };
}
