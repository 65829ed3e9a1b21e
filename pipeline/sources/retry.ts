import { setTimeout as sleepFor } from 'node:timers/promises';
import { PipelineError } from '../error.ts';

/** A failure that another attempt may not meet: a busy server, a broken connection, a body that ended early. */
export class Transient extends PipelineError {
  /** Wait that the server asked for, milliseconds. */
  readonly wait_ms: number;

  constructor(subject: string, reason: string, options: ErrorOptions & { wait_ms?: number } = {}) {
    super('sources', subject, reason, options);
    this.name = 'Transient';
    this.wait_ms = options.wait_ms ?? 0;
  }
}

/** A file or listing that a server did not deliver after every retry. The next listing may have it again. */
export class Unavailable extends PipelineError {
  constructor(subject: string, reason: string, options?: ErrorOptions) {
    super('sources', subject, reason, options);
    this.name = 'Unavailable';
  }
}

export interface Patience {
  readonly retries: number;
  readonly first_ms: number;
  readonly longest_ms: number;
}

const USUAL_PATIENCE: Patience = { retries: 5, first_ms: 500, longest_ms: 30_000 };

export interface RetryOptions {
  readonly patience?: Patience | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Waits, or rejects when the signal aborts. */
  readonly sleep?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined;
  readonly onRetry?: ((failure: Transient, wait_ms: number) => void) | undefined;
}

/** Waits between attempts in milliseconds, doubling: `{retries: 5, first_ms: 500, longest_ms: 3000}` is 500, 1000, 2000, 3000, 3000. */
export function retryPlan(patience: Patience): number[] {
  return Array.from({ length: patience.retries }, (_, n) => Math.min(patience.first_ms * 2 ** n, patience.longest_ms));
}

/**
 * Result of the first attempt that succeeds. Only `Transient` failures are tried again, after the planned wait or the
 * longer one the server asked for (never over `longest_ms`); the last one is thrown as `Unavailable`.
 */
export async function withRetries<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { patience = USUAL_PATIENCE, signal, sleep = sleepUnlessAborted, onRetry } = options;
  const waits = retryPlan(patience);
  for (let attempts = 1; ; attempts++) {
    try {
      signal?.throwIfAborted();
      return await attempt();
    } catch (failure) {
      if (!(failure instanceof Transient)) throw failure;
      const planned_ms = waits.shift();
      if (planned_ms === undefined)
        throw new Unavailable(failure.subject, `${failure.reason}, after ${attempts} attempts`, { cause: failure });
      const wait_ms = Math.min(Math.max(planned_ms, failure.wait_ms), patience.longest_ms);
      onRetry?.(failure, wait_ms);
      await sleep(wait_ms, signal);
    }
  }
}

/** Waits `ms`, or until the signal aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await sleepUnlessAborted(ms, signal);
  } catch (error) {
    if (!signal?.aborted) throw error;
  }
}

async function sleepUnlessAborted(ms: number, signal?: AbortSignal): Promise<void> {
  await sleepFor(ms, undefined, signal ? { signal } : {});
}
