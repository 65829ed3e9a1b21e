import { Piscina } from 'piscina';
import { ApiError } from '../http/errors.ts';

/** A function that a thread runs. */
interface ThreadTask {
  /** Module that exports the function. */
  readonly module: URL;
  readonly name: string;
  /** Noun phrase for error messages. */
  readonly subject: string;
  /** Longest time for one question, its wait included. */
  readonly limit_ms: number;
}

/** Questions that may be under way; more are refused. */
const UNDER_WAY_MAX = 256;
const RETRY_AFTER_S = 1;
/** Short-lived geometry: a small young generation keeps the thread's memory small at no cost in time. */
const RESOURCE_LIMITS = { maxYoungGenerationSizeMb: 24 };

/**
 * Runs a function on threads of its own, one and under load another, so that the event loop stays free. They start with the first
 * question and do not keep the process alive. The returned function throws ApiError overloaded when too many questions are under
 * way or one exceeds its limit; that thread is ended, and another takes its place.
 */
export function onThread<Question, Answer>({ module, name, subject, limit_ms }: ThreadTask) {
  let pool: Piscina<Question, Answer> | undefined;
  let under_way = 0;
  const overloaded = (message: string) =>
    new ApiError('overloaded', message, { 'Retry-After': String(RETRY_AFTER_S) }, { reason: 'thread' });
  return async (question: Question): Promise<Answer> => {
    if (under_way >= UNDER_WAY_MAX) throw overloaded(`too many wait for ${subject}`);
    if (pool === undefined) {
      pool = new Piscina({ minThreads: 1, maxThreads: 2, resourceLimits: RESOURCE_LIMITS });
      // A thread that ends without a question owes no answer; without a listener the event would end the process.
      pool.on('error', () => {});
    }
    const signal = AbortSignal.timeout(limit_ms);
    under_way += 1;
    try {
      return await pool.run(question, { filename: module.href, name, signal });
    } catch (cause) {
      if (signal.aborted) throw overloaded(`${subject} takes longer than ${limit_ms} ms`);
      throw new Error(`${subject} failed`, { cause });
    } finally {
      under_way -= 1;
    }
  };
}
