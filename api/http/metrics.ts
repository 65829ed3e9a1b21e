import { Counter, Histogram, Registry } from 'prom-client';
import { ERRORS, type ErrorCode } from '../../schemas/errors.ts';
import { addProcessMetrics } from '../../schemas/metrics.ts';
import { REFUSAL_REASONS, type RefusalReason } from './errors.ts';

/** What workers report as they go. */
export interface Meter {
  /** An attempt at a delivery ended and was recorded. `error_class`: null where the receiver acknowledged it. */
  readonly attempted: (
    outcome: 'delivered' | 'retried' | 'dropped',
    error_class: AttemptErrorClass | null,
    took_ms: number,
  ) => void;
  /** A scan was laid over the places that are watched. */
  readonly matched: (on_time: boolean, changes: AlertChanges, took_ms: number) => void;
}

/** Why an attempt at a delivery failed. */
const ERROR_CLASSES = ['http_status', 'timeout', 'connect', 'tls', 'dns', 'blocked'] as const;
type AttemptErrorClass = (typeof ERROR_CLASSES)[number];

/** Numbers of alerts that a scan changed. */
interface AlertChanges {
  readonly opened: number;
  readonly resolved: number;
  readonly closed: number;
}

/** Counts nothing. */
export const NO_METER: Meter = { attempted: () => {}, matched: () => {} };

/**
 * What operators watch, in the words of Prometheus. No label holds a business, a key or a receiver. Counts are those of this
 * process: add them up over processes.
 */
export interface Metrics extends Meter {
  readonly registry: Registry;
  readonly answered: (route: string | null, method: string, status: number, took_ms: number) => void;
  readonly refused: (code: ErrorCode, reason: RefusalReason | null) => void;
  readonly failed: () => void;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** An attempt at a delivery ends after 10 s at most. */
const ATTEMPT_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const OUTCOMES = ['delivered', 'retried', 'dropped'] as const;

/** Creates the counts of one process, with those of the process itself. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  addProcessMetrics(registry, 'hail_');
  const counter = <Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter<Label>({ name: `hail_${name}_total`, help, labelNames, registers: [registry] });
  const histogram = <Label extends string = never>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: readonly Label[] = [],
  ) => new Histogram<Label>({ name: `hail_${name}_seconds`, help, buckets, labelNames, registers: [registry] });
  const requests = counter('requests', 'Requests that this process answered, by route, method and status.', [
    'route',
    'method',
    'status',
  ]);
  const took = histogram('request', 'Time from the head of a request to the first byte of its answer.', SECONDS, [
    'route',
  ]);
  const failures = counter('failures', 'Answers with a status of 500 and above that are failures of this process.');
  const refusals = counter('refusals', 'Answers of this process that are no success, by the code of their error.', [
    'code',
  ]);
  const overloads = counter(
    'overload_refusals',
    'Answers 503 overloaded of this process, by what was too busy: query engine, a thread, calls without a key, open files.',
    ['reason'],
  );
  const rates = counter(
    'rate_refusals',
    'Answers 429 rate_limited of this process, by the limit: of a key per minute, of a business per day, of an address without a key.',
    ['reason'],
  );
  const attempts = counter(
    'delivery_attempts',
    'Attempts at deliveries that this process ended: delivered, retried (failed, and tried again), dropped (failed for good).',
    ['outcome'],
  );
  const faults = counter(
    'delivery_failures',
    'Attempts at deliveries of this process that failed, by class of the error.',
    ['error_class'],
  );
  const attempt_seconds = histogram(
    'delivery_attempt',
    'Duration of the attempts at deliveries of this process.',
    ATTEMPT_SECONDS,
  );
  const scans = counter(
    'alert_scans',
    'Scans that this process matched with the places that are watched: live, or late and without new alerts.',
    ['timing'],
  );
  const changes = counter('alert_changes', 'Alerts that this process opened, resolved, or closed without an event.', [
    'change',
  ]);
  const match_seconds = histogram(
    'alert_match',
    'Time in which this process matched a scan and wrote its alerts.',
    SECONDS,
  );
  // A series that begins with its first event hides that event from rate().
  for (const code of Object.keys(ERRORS)) refusals.inc({ code }, 0);
  for (const reason of REFUSAL_REASONS.overloaded) overloads.inc({ reason }, 0);
  for (const reason of REFUSAL_REASONS.rate_limited) rates.inc({ reason }, 0);
  for (const outcome of OUTCOMES) attempts.inc({ outcome }, 0);
  for (const error_class of ERROR_CLASSES) faults.inc({ error_class }, 0);
  for (const timing of ['live', 'late']) scans.inc({ timing }, 0);
  for (const change of ['opened', 'resolved', 'closed']) changes.inc({ change }, 0);
  return {
    registry,
    answered: (route, method, status, took_ms) => {
      requests.inc({ route: route ?? 'none', method, status });
      took.observe({ route: route ?? 'none' }, took_ms / 1000);
    },
    refused: (code, reason) => {
      refusals.inc({ code });
      if (reason === null) return;
      if (code === 'overloaded') overloads.inc({ reason });
      else rates.inc({ reason });
    },
    failed: () => failures.inc(),
    attempted: (outcome, error_class, took_ms) => {
      attempts.inc({ outcome });
      if (error_class !== null) faults.inc({ error_class });
      attempt_seconds.observe(took_ms / 1000);
    },
    matched: (on_time, { opened, resolved, closed }, took_ms) => {
      scans.inc({ timing: on_time ? 'live' : 'late' });
      changes.inc({ change: 'opened' }, opened);
      changes.inc({ change: 'resolved' }, resolved);
      changes.inc({ change: 'closed' }, closed);
      match_seconds.observe(took_ms / 1000);
    },
  };
}
