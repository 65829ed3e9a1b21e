import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import pg from 'pg';
import {
  type IRateLimiterOptions,
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRes,
} from 'rate-limiter-flexible';
import type { Headers } from './reply.ts';

/** The window of a rate, seconds. It begins with its first call. */
export const RATE_WINDOW_S = 60;
/** Names that any client can choose, such as addresses, in memory at most. */
export const NAMES_MAX = 20_000;
/** A call says its own limit: no count of the library reaches this one. */
const COUNT_MAX = 2 ** 31 - 1;
/** The failure that locks is number `points` + 1 of `duration` seconds; `blockDuration`: seconds. */
const FAILURES_OF_ADDRESS = { keyPrefix: 'address', points: 19, duration: 300, blockDuration: 300 };
const FAILURES_OF_KEY = { keyPrefix: 'key', points: 9, duration: 600, blockDuration: 900 };
/** `hs_live_` or `hs_test_`, then the eight characters that name a key. */
const PUBLIC_ID = /^hs_(?:live|test)_([A-Za-z0-9]{8})/;
const CONNECTIONS = 4;
/** How long a call waits for the database; then this process counts alone. */
const DATABASE_WAIT_MS = 1_000;

/** Counts of all processes of a PostgreSQL together; null: of this process. */
export async function openCallLimits(database_url: string | null) {
  const pool = database_url === null ? null : openPool(database_url);
  const open = async (options: IRateLimiterOptions, memory: RateLimiterMemory): Promise<RateLimiterAbstract> =>
    pool === null ? memory : await inPostgres(pool, options, memory);
  const calls = { keyPrefix: 'call', points: COUNT_MAX, duration: RATE_WINDOW_S };
  const countCall = countingIn(await open(calls, new RateLimiterMemory(calls)));
  const ofAddress = await open(FAILURES_OF_ADDRESS, new BoundedMemory(FAILURES_OF_ADDRESS));
  const ofKey = await open(FAILURES_OF_KEY, new BoundedMemory(FAILURES_OF_KEY));
  return {
    countCall,
    /**
     * Counts a failed attempt by address and by the key that is guessed; null: it names none. Returns the milliseconds for which one
     * of them is locked; 0: neither was.
     */
    countFailure: async (address: string, keyText: string | null): Promise<number> => {
      const locked_ms = await failIn(ofAddress, address);
      if (locked_ms > 0 || keyText === null) return locked_ms;
      return await failIn(ofKey, PUBLIC_ID.exec(keyText)?.[1] ?? hash('sha256', keyText));
    },
    close: async (): Promise<void> => {
      await pool?.end();
    },
  };
}

/** Counts calls by address in this process. */
export function countByAddress() {
  return countingIn(new BoundedMemory({ points: COUNT_MAX, duration: RATE_WINDOW_S }));
}

/** Counts a call by name, of at most `limit` in a window. */
function countingIn(limiter: RateLimiterAbstract) {
  return async (name: string, limit: number) => {
    const { consumedPoints, msBeforeNext } = await orRefused(limiter.consume(name));
    const left_s = Math.ceil(Math.min(msBeforeNext, RATE_WINDOW_S * 1000) / 1000);
    const reset_s = Math.ceil((Date.now() + msBeforeNext) / 1000);
    return {
      headers: rateHeaders('key', limit, Math.max(0, limit - consumedPoints), RATE_WINDOW_S, left_s, reset_s),
      /** Seconds until the next call is admitted, at least 1; null when this one was. */
      retry_after_s: consumedPoints > limit ? Math.max(1, left_s) : null,
    };
  };
}

/** Both families of headers of a window: its name, limit, length, remaining calls, and the Unix second at which it ends. */
export function rateHeaders(
  name: string,
  limit: number,
  remaining: number,
  window_s: number,
  left_s: number,
  reset_s: number,
): Headers {
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(reset_s),
    'RateLimit-Policy': `"${name}";q=${limit};w=${window_s}`,
    RateLimit: `"${name}";r=${remaining};t=${left_s}`,
  };
}

/** Milliseconds for which a name is locked. The failure that locks it is still answered as one. */
async function failIn(limiter: RateLimiterAbstract, name: string): Promise<number> {
  const { consumedPoints, msBeforeNext } = await orRefused(limiter.consume(name));
  return consumedPoints > limiter.points + 1 ? msBeforeNext : 0;
}

/** The state of a name after one more. The library throws it where there are more than `points`. */
async function orRefused(counted: Promise<RateLimiterRes>): Promise<RateLimiterRes> {
  try {
    return await counted;
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) return refusal;
    throw refusal;
  }
}

/** Counts in memory by names that any client can choose: where there are too many, the one used longest ago is forgotten. */
class BoundedMemory extends RateLimiterMemory {
  readonly #names = new LRUCache<string, true>({
    maxSize: NAMES_MAX, // unlike `max`, it keeps no room for names that never come
    sizeCalculation: () => 1,
    dispose: (_, name, reason) => {
      if (reason === 'evict') void this.delete(name);
    },
  });

  override consume(name: string): Promise<RateLimiterRes> {
    this.#names.set(name, true);
    return super.consume(name);
  }
}

function openPool(connectionString: string): pg.Pool {
  const pool = new pg.Pool({
    ...{ connectionString, max: CONNECTIONS, allowExitOnIdle: true },
    ...{ connectionTimeoutMillis: DATABASE_WAIT_MS, query_timeout: DATABASE_WAIT_MS },
    // After a crash of the server the counts of its last half second may be missing. A stricter isolation refuses counts that come at once.
    onConnect: (client) =>
      client.query("set synchronous_commit = off; set default_transaction_isolation = 'read committed'"),
  });
  // The pool replaces an idle connection that the server has ended.
  pool.on('error', () => {});
  return pool;
}

/** Counts in the table `call_limits`, which the library makes. */
function inPostgres(
  storeClient: pg.Pool,
  options: IRateLimiterOptions,
  insuranceLimiter: RateLimiterMemory,
): Promise<RateLimiterPostgres> {
  const { promise, resolve, reject } = Promise.withResolvers<RateLimiterPostgres>();
  const parts = { ...options, storeClient, insuranceLimiter, tableName: 'call_limits' };
  const limiter = new RateLimiterPostgres(parts, (error) => (error ? reject(error) : resolve(limiter)));
  return promise;
}
