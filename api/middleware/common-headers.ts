import type { Headers } from '../http/reply.ts';
import type { Middleware } from '../state.ts';

const EXPOSED = [
  'ETag',
  'Retry-After',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit',
  'RateLimit-Policy',
  'Idempotent-Replay',
  'X-Request-Id',
  'X-Data-Source',
  'X-Required-Scope',
].join(', ');

/** Headers of every answer of the interface: anyone may call it from a page, nothing in it is to be run or framed. */
export function commonHeaders(base_url: string): Headers {
  return {
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': EXPOSED,
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Referrer-Policy': 'no-referrer',
    Vary: 'Accept-Encoding, Authorization',
    ...(base_url.startsWith('https:') ? { 'Strict-Transport-Security': 'max-age=31536000' } : {}),
  };
}

/**
 * Gives every answer its id, the rate and the common headers, of which a public route may bring its own. Answers to requests
 * whose key is not known show the window of their address.
 */
export function addHeaders(common: Headers, addressRate: (address: string) => Headers): Middleware {
  const entries = Object.entries(common);
  return async (ctx, next) => {
    await next();
    for (const [name, value] of entries) if (!ctx.res.hasHeader(name)) ctx.set(name, value);
    ctx.set('X-Request-Id', ctx.state.request_id);
    ctx.set(ctx.state.rate_headers ?? addressRate(ctx.state.address));
  };
}
