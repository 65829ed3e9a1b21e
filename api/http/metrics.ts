import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';

/** What operators watch, in the words of Prometheus. No label holds a business or a key. */
export interface Metrics {
  readonly registry: Registry;
  readonly answered: (route: string | null, method: string, status: number, took_ms: number) => void;
  readonly failed: () => void;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'hail_' });
  const requests = new Counter({
    name: 'hail_requests_total',
    help: 'Requests answered, by route, method and status.',
    labelNames: ['route', 'method', 'status'],
    registers: [registry],
  });
  const took = new Histogram({
    name: 'hail_request_seconds',
    help: 'Time from the head of a request to the first byte of its answer.',
    labelNames: ['route'],
    buckets: SECONDS,
    registers: [registry],
  });
  const failures = new Counter({
    name: 'hail_failures_total',
    help: 'Answers with a status of 500 and above.',
    registers: [registry],
  });
  return {
    registry,
    answered: (route, method, status, took_ms) => {
      requests.inc({ route: route ?? 'none', method, status });
      took.observe({ route: route ?? 'none' }, took_ms / 1000);
    },
    failed: () => failures.inc(),
  };
}
