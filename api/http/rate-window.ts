import type { Headers } from './reply.ts';

/** The window of the rate, seconds. */
export const RATE_WINDOW_S = 60;
export const WINDOW_MS = RATE_WINDOW_S * 1000;
/** Windows of addresses that are kept: a client can choose its address, so their number is bounded and the oldest are dropped. */
export const ADDRESS_WINDOWS = 20_000;
const FIRST_CAPACITY = 64;

/** Clocks of waiting: the monotonic one decides, the other is only shown. */
export interface Clock {
  readonly monotonic_ms: () => number;
  readonly unix_ms: () => number;
}

/** Times of the requests admitted in the last minute, as a ring: the oldest at `first`. */
interface Bucket {
  times_ms: Float64Array;
  first: number;
  length: number;
}

/** Outcome of one request in its window. */
export interface Consumed {
  /** Both header families. */
  readonly headers: Headers;
  /** Seconds until the next request is admitted, at least 1; null when this one was. */
  readonly retry_after_s: number | null;
}

export interface RateWindows {
  /** Counts a request in the window of its bucket, or returns how long it has to wait. */
  readonly consume: (bucket: string, limit: number) => Consumed | Promise<Consumed>;
}

/** Windows in the memory of this process. */
export interface OwnRateWindows extends RateWindows {
  readonly consume: (bucket: string, limit: number) => Consumed;
}

/** A window after a request was counted in it or refused. */
export interface Window {
  readonly limit: number;
  /** Requests that count in it. */
  readonly length: number;
  /** Until it is empty. */
  readonly full_in_ms: number;
  /** Until it admits another; null: the request was admitted. */
  readonly next_in_ms: number | null;
  readonly unix_ms: number;
}

/** State of its window that a request is answered with. */
export function consumed({ limit, length, full_in_ms, next_in_ms, unix_ms }: Window): Consumed {
  return {
    headers: headersOf(limit, Math.max(0, limit - length), full_in_ms, unix_ms),
    retry_after_s: next_in_ms === null ? null : Math.max(1, Math.ceil(next_in_ms / 1000)),
  };
}

/**
 * Counts requests in a rolling window of 60 s per bucket: at any moment at most `limit` were admitted in the minute before,
 * where a fixed window would let twice as many through at its edge. A refused request does not extend the wait.
 *
 * A window is dropped when nothing counts in it any more, not before: there are as many as callers of the last minute.
 * Where any client can choose the buckets, `max` bounds them, and the one that admitted nothing for longest goes first.
 */
export function rateWindows(clock: Clock, max = Number.POSITIVE_INFINITY): OwnRateWindows {
  // In the order of their newest requests.
  const buckets = new Map<string, Bucket>();

  function dropUnused(limit_ms: number): void {
    for (const [name, bucket] of buckets) {
      if (buckets.size <= max && timeAt(bucket, bucket.length - 1) > limit_ms) return;
      buckets.delete(name);
    }
  }

  const consume = (name: string, limit: number): Consumed => {
    const now_ms = clock.monotonic_ms();
    const bucket = buckets.get(name) ?? { times_ms: new Float64Array(FIRST_CAPACITY), first: 0, length: 0 };
    dropOlder(bucket, now_ms - WINDOW_MS);
    const admitted = bucket.length < limit;
    if (admitted) {
      append(bucket, now_ms);
      buckets.delete(name);
      buckets.set(name, bucket);
      dropUnused(now_ms - WINDOW_MS);
    }
    const full_in_ms = bucket.length === 0 ? 0 : leavesIn_ms(timeAt(bucket, bucket.length - 1), now_ms);
    const next_in_ms = admitted ? null : leavesIn_ms(timeAt(bucket, bucket.length - Math.max(1, limit)), now_ms);
    return consumed({ limit, length: bucket.length, full_in_ms, next_in_ms, unix_ms: clock.unix_ms() });
  };
  return { consume };
}

function headersOf(limit: number, remaining: number, full_in_ms: number, unix_ms: number): Headers {
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(Math.ceil((unix_ms + full_in_ms) / 1000)),
    'RateLimit-Policy': `"key";q=${limit};w=${RATE_WINDOW_S}`,
    RateLimit: `"key";r=${remaining};t=${Math.ceil(full_in_ms / 1000)}`,
  };
}

/**
 * Until a request leaves the window. In this order, because the clock counts in fractions: `time + window - now` may be rounded
 * to a little more than the window.
 */
function leavesIn_ms(time_ms: number, now_ms: number): number {
  return WINDOW_MS - (now_ms - time_ms);
}

function dropOlder(bucket: Bucket, limit_ms: number): void {
  while (bucket.length > 0 && bucket.times_ms[bucket.first] <= limit_ms) {
    bucket.first = (bucket.first + 1) % bucket.times_ms.length;
    bucket.length -= 1;
  }
}

function append(bucket: Bucket, time_ms: number): void {
  if (bucket.length === bucket.times_ms.length) grow(bucket);
  bucket.times_ms[(bucket.first + bucket.length) % bucket.times_ms.length] = time_ms;
  bucket.length += 1;
}

function grow(bucket: Bucket): void {
  const larger = new Float64Array(bucket.times_ms.length * 2);
  for (let at = 0; at < bucket.length; at++) larger[at] = timeAt(bucket, at);
  bucket.times_ms = larger;
  bucket.first = 0;
}

function timeAt(bucket: Bucket, at: number): number {
  return bucket.times_ms[(bucket.first + at) % bucket.times_ms.length];
}
