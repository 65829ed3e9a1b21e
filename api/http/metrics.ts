import { Counter, Histogram, Registry } from 'prom-client';
import { ERRORS, type ErrorCode } from '../../schemas/errors.ts';
import { addProcessMetrics } from '../../schemas/metrics.ts';
import { REFUSAL_REASONS, type RefusalReason } from './errors.ts';
import HELP from './metrics-help.json' with { type: 'json' };

/**
 * What operators watch, in the words of Prometheus. No label holds a business, a key or a receiver. Counts are those of this
 * process: add them up over processes.
 */
export type Metrics = ReturnType<typeof createMetrics>;

/** What workers report as they go. */
export type Meter = Pick<Metrics, 'attempted' | 'matched'>;

/** Counts nothing. */
export const NO_METER: Meter = { attempted: () => {}, matched: () => {} };

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** An attempt at a delivery ends after 15 s at most. */
const ATTEMPT_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];
const OUTCOMES = ['delivered', 'retried', 'dropped'] as const;
/** Why an attempt at a delivery failed. */
const ERROR_CLASSES = ['http_status', 'timeout', 'connect', 'tls', 'dns', 'blocked'] as const;
const CHANGES = ['opened', 'resolved', 'closed'] as const;

type Name = keyof typeof HELP;

/** Creates the counts of one process, with those of the process itself. */
export function createMetrics() {
  const registry = new Registry();
  addProcessMetrics(registry, 'hail_');
  const registers = [registry];
  const counter = <Label extends string>(name: Name, ...labelNames: Label[]) =>
    new Counter<Label>({ name: `hail_${name}_total`, help: HELP[name], labelNames, registers });
  const histogram = <Label extends string>(name: Name, buckets: number[], ...labelNames: Label[]) =>
    new Histogram<Label>({ name: `hail_${name}_seconds`, help: HELP[name], buckets, labelNames, registers });
  /** Counts by a label, from 0 for each of its values: a series that begins with its first event hides that event from rate(). */
  const counterBy = <Value extends string>(name: Name, label: string, values: readonly Value[]) => {
    const counted = counter(name, label);
    for (const value of values) counted.inc({ [label]: value }, 0);
    return (value: Value, by = 1) => counted.inc({ [label]: value }, by);
  };
  const requests = counter('requests', 'route', 'method', 'status');
  const took = histogram('request', SECONDS, 'route');
  const failures = counter('failures');
  const refusals = counterBy('refusals', 'code', Object.keys(ERRORS) as ErrorCode[]);
  const overloads = counterBy<RefusalReason>('overload_refusals', 'reason', REFUSAL_REASONS.overloaded);
  const rates = counterBy<RefusalReason>('rate_refusals', 'reason', REFUSAL_REASONS.rate_limited);
  const attempts = counterBy('delivery_attempts', 'outcome', OUTCOMES);
  const faults = counterBy('delivery_failures', 'error_class', ERROR_CLASSES);
  const attempt_seconds = histogram('delivery_attempt', ATTEMPT_SECONDS);
  const scans = counterBy('alert_scans', 'timing', ['live', 'late']);
  const changes = counterBy('alert_changes', 'change', CHANGES);
  const match_seconds = histogram('alert_match', SECONDS);
  return {
    registry,
    answered: (name: string | null, method: string, status: number, took_ms: number): void => {
      const route = name ?? 'none';
      requests.inc({ route, method, status });
      took.observe({ route }, took_ms / 1000);
    },
    refused: (code: ErrorCode, reason: RefusalReason | null): void => {
      refusals(code);
      if (reason !== null) (code === 'overloaded' ? overloads : rates)(reason);
    },
    failed: (): void => failures.inc(),
    /** An attempt at a delivery ended and was recorded. `error_class`: null where the receiver acknowledged it. */
    attempted: (
      outcome: (typeof OUTCOMES)[number],
      error_class: (typeof ERROR_CLASSES)[number] | null,
      took_ms: number,
    ): void => {
      attempts(outcome);
      if (error_class !== null) faults(error_class);
      attempt_seconds.observe(took_ms / 1000);
    },
    /** A scan was laid over the watched places; `alerts` counts the alerts that it changed. */
    matched: (on_time: boolean, alerts: Readonly<Record<(typeof CHANGES)[number], number>>, took_ms: number): void => {
      scans(on_time ? 'live' : 'late');
      for (const change of CHANGES) changes(change, alerts[change]);
      match_seconds.observe(took_ms / 1000);
    },
  };
}
