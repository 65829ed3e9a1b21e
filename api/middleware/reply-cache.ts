import type { Edition } from '../catalog.ts';
import type { Price, ReadEndpoint } from '../endpoint.ts';
import type { Reply } from '../http/reply.ts';
import type { ReplyCache } from '../http/reply-cache.ts';
import type { Services } from '../services.ts';
import type { CallMiddleware, CallState } from '../state.ts';
import { checkType } from './negotiate.ts';
import { planOf } from './plan.ts';

/** How long an answer that no version stands for is kept at most: within a second `age_seconds` stays the same. */
const KEPT_MS = 1000;

/** An answer that is kept, with what it costs each time, and its tag. */
export interface CachedReply {
  readonly reply: Reply;
  readonly price: Price | null;
  readonly tag: string | null;
  /** Whether it is still what would be answered now. */
  readonly holds: (edition: Edition, now_ms: number) => boolean;
}

/** Answers a repeated request from memory as long as its answer would be the same; the caller is charged all the same. */
export function replyFromCache(
  endpoint: ReadEndpoint,
  cache: ReplyCache<CachedReply>,
  services: Services,
  monotonic_ms: () => number,
): CallMiddleware {
  return async (ctx, next) => {
    const { state } = ctx;
    const target = state.search === '' ? state.path : `${state.path}?${state.search}`;
    const cached = cache.find(target);
    if (cached !== null) {
      state.edition = services.catalog.edition();
      if (cached.holds(state.edition, state.now_ms)) {
        const { reply, price, tag } = cached;
        checkType(ctx.req.headers.accept, reply.type);
        state.reply = reply;
        state.price = price;
        state.tag = tag;
        return;
      }
      cache.drop(target);
    }
    await next();
    const { reply, price, tag } = state;
    if (reply === null) return;
    const until_ms = monotonic_ms() + KEPT_MS;
    const holds = state.version === null ? withinSecond(state, () => monotonic_ms() < until_ms) : sameVersion(state);
    cache.keep(target, { reply, price, tag, holds });
  };

  function withinSecond({ edition, now_ms }: CallState, isYoung: () => boolean): CachedReply['holds'] {
    const second = Math.floor(now_ms / 1000);
    return (now, at_ms) => now === edition && Math.floor(at_ms / 1000) === second && isYoung();
  }
  function sameVersion({ input, version }: CallState): CachedReply['holds'] {
    return (edition, now_ms) => planOf(endpoint, { ...input, now_ms, services, edition }).version === version;
  }
}
