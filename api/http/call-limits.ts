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

/** Outcome of one call in its window. */
interface Counted {
  /** Both header families. */
  readonly headers: Headers;
  /** Seconds until the next call is admitted, at least 1; null when this one was. */
  readonly retry_after_s: number | null;
}

/** Counts a call by name, of at most `limit` in a window. */
export type CountCall = (name: string, limit: number) => Promise<Counted>;

/** Counts of calls by key, and of failed attempts to call. */
export interface CallLimits {
  readonly countCall: CountCall;
  /**
   * Counts a failed attempt by address and by the key that is guessed; null: it names none. Returns the milliseconds for which one
   * of them is locked; 0: neither was.
   */
  readonly countFailure: (address: string, keyText: string | null) => Promise<number>;
  readonly close: () => Promise<void>;
}

/** Counts of all processes of a PostgreSQL together; null: of this process. */
export async function openCallLimits(database_url: string | null): Promise<CallLimits> {
  const pool = database_url === null ? null : openPool(database_url);
  const open = async (
    options: IRateLimiterOptions,
    insuranceLimiter: RateLimiterMemory,
  ): Promise<RateLimiterAbstract> =>
    pool === null ? insuranceLimiter : await inPostgres(pool, options, insuranceLimiter);
  const calls = { keyPrefix: 'call', points: COUNT_MAX, duration: RATE_WINDOW_S };
  const countCall = countingIn(await open(calls, new RateLimiterMemory(calls)));
  const ofAddress = await open(FAILURES_OF_ADDRESS, new BoundedMemory(FAILURES_OF_ADDRESS));
  const ofKey = await open(FAILURES_OF_KEY, new BoundedMemory(FAILURES_OF_KEY));
  return {
    countCall,
    countFailure: async (address, keyText) => {
      const locked_ms = await failIn(ofAddress, address);
      return locked_ms > 0 || keyText === null ? locked_ms : await failIn(ofKey, guessedKey(keyText));
    },
    close: async () => {
      await pool?.end();
    },
  };
}

/** Counts calls by address in this process. */
export function countByAddress(): CountCall {
  return countingIn(new BoundedMemory({ points: COUNT_MAX, duration: RATE_WINDOW_S }));
}

function countingIn(limiter: RateLimiterAbstract): CountCall {
  return async (name, limit) => {
    const { consumedPoints, msBeforeNext } = await orRefused(limiter.consume(name));
    const remaining = Math.max(0, limit - consumedPoints);
    const left_s = Math.ceil(Math.min(msBeforeNext, RATE_WINDOW_S * 1000) / 1000);
    return {
      headers: {
        'X-RateLimit-Limit': String(limit),
        'X-RateLimit-Remaining': String(remaining),
        'X-RateLimit-Reset': String(Math.ceil((Date.now() + msBeforeNext) / 1000)),
        'RateLimit-Policy': `"key";q=${limit};w=${RATE_WINDOW_S}`,
        RateLimit: `"key";r=${remaining};t=${left_s}`,
      },
      retry_after_s: consumedPoints > limit ? Math.max(1, left_s) : null,
    };
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

/** The public id of a guessed key; a text without one by its digest. */
function guessedKey(keyText: string): string {
  return PUBLIC_ID.exec(keyText)?.[1] ?? hash('sha256', keyText);
}

/** Counts in memory by names that any client can choose: where there are too many, the one used longest ago is forgotten. */
class BoundedMemory extends RateLimiterMemory {
  readonly #names = new LRUCache<string, true>({
    max: NAMES_MAX,
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
    // After a crash of the server the counts of its last half second may be missing.
    onConnect: (client) => client.query('set synchronous_commit = off'),
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
