import type { ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import type { Price } from '../../billing/ledger.ts';
import { checkType } from '../../http/negotiate.ts';
import { type Headers, setHeaders } from '../../http/reply.ts';
import type { Edition } from '../../published/catalog.ts';
import type { Services } from '../../services.ts';
import type { ReadEndpoint } from '../endpoint.ts';
import type { CallMiddleware, CallState } from '../state.ts';
import { planOf } from './read.ts';

const REPLIES_MAX = 5000;
/** All cached bodies together. */
const TOTAL_BYTES_MAX = 48_000_000;
/** One body; a larger answer is made again each time. */
const REPLY_BYTES_MAX = 8_000_000;
/** Headers that a cacheable answer may have; ETag and Cache-Control are set on each reply. */
const HEADERS: readonly string[] = ['Content-Type', 'X-Data-Source'];
/** Longest time that an answer without a version is cached: within a second `age_seconds` stays the same. */
const CACHED_MS = 1000;

/** A cached answer, with the price of each call and its tag. */
export interface CachedReply {
  readonly headers: Headers;
  readonly body: Buffer;
  readonly price: Price | null;
  readonly tag: string | null;
  /** True while a new answer would be the same. */
  readonly holds: (edition: Edition, now_ms: number) => boolean;
}

/** Answers by path and query, within bounds of number and bytes. */
export function replyCache<Cached extends Pick<CachedReply, 'body'> = CachedReply>(): LRUCache<string, Cached> {
  return new LRUCache({
    max: REPLIES_MAX,
    maxSize: TOTAL_BYTES_MAX,
    maxEntrySize: REPLY_BYTES_MAX,
    sizeCalculation: ({ body }) => Math.max(1, body.length), // the library refuses a size of 0
  });
}

/** Answers a repeated request from memory while its answer would be the same; the caller is charged as usual. */
export function replyFromCache(
  endpoint: ReadEndpoint,
  cache: LRUCache<string, CachedReply>,
  services: Services,
  monotonic_ms: () => number,
): CallMiddleware {
  return async (ctx, next) => {
    const { state, res } = ctx;
    const target = state.search === '' ? state.path : `${state.path}?${state.search}`;
    const cached = cache.get(target);
    if (cached !== undefined) {
      state.edition = services.catalog.edition();
      if (cached.holds(state.edition, state.now_ms)) {
        const { headers, body, price, tag } = cached;
        checkType(ctx.req.headers.accept, headers['Content-Type'] as string);
        ctx.status = 200;
        setHeaders(res, headers);
        ctx.body = body;
        Object.assign(state, { price, tag });
        return;
      }
      cache.delete(target);
    }
    await next();
    const { body } = ctx;
    if (!Buffer.isBuffer(body)) return;
    const { price, tag } = state;
    const until_ms = monotonic_ms() + CACHED_MS;
    const holds = state.version === null ? withinSecond(state, () => monotonic_ms() < until_ms) : sameVersion(state);
    cache.set(target, { headers: headersOf(res), body, price, tag, holds });
  };

  // A function of its own: a closure over `res` in the scope of `holds` would keep the whole call in memory as long as its answer.
  function headersOf(res: ServerResponse): Headers {
    return Object.fromEntries(
      HEADERS.flatMap((name) => (res.hasHeader(name) ? [[name, String(res.getHeader(name))]] : [])),
    );
  }
  /** Weak: an answer may stay for hours after its second, and would keep the live snapshot of its edition, megabytes, as long. */
  function withinSecond({ edition, now_ms }: CallState, isYoung: () => boolean): CachedReply['holds'] {
    const own = new WeakRef(edition);
    const second = Math.floor(now_ms / 1000);
    return (now, at_ms) => now === own.deref() && Math.floor(at_ms / 1000) === second && isYoung();
  }
  function sameVersion({ input, version }: CallState): CachedReply['holds'] {
    return (edition, now_ms) => planOf(endpoint, { ...input, now_ms, services, edition }).version === version;
  }
}
