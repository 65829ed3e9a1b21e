import type Router from '@koa/router';
import { allowOf, atPath } from '../http/routes.ts';
import type { Middleware } from '../state.ts';

/** How long the answer may be kept: the methods of a path change with a release only. */
const KEPT_S = 86_400;

const HEADERS = {
  'Access-Control-Allow-Headers':
    'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, If-Range, Range, X-Request-Id',
  'Access-Control-Max-Age': String(KEPT_S),
  // Not by shared caches: the answer carries a request id and the window of an address.
  'Cache-Control': `private, max-age=${KEPT_S}`,
};

/** Answers OPTIONS, without a key and for nothing: 204 with the methods of the path, which may be none. */
export function preflight(routers: readonly Router[]): Middleware {
  return (ctx, next) => {
    if (ctx.method !== 'OPTIONS') return next();
    const matched = routers.map((router) => router.match(ctx.path, ctx.method).path);
    const methods = allowOf(atPath(matched.find((layers) => layers.length > 0) ?? [])) ?? 'OPTIONS';
    ctx.set({ Allow: methods, 'Access-Control-Allow-Methods': methods, ...HEADERS });
    ctx.status = 204;
    return undefined;
  };
}
