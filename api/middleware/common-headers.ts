import { leavesBody } from '../http/body.ts';
import { type Headers, setHeaders } from '../http/reply.ts';
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
 * whose key is not known show the window of their address. One that comes before the whole body of its request has closes the
 * connection.
 */
export function addHeaders(common: Headers, addressRate: (address: string) => Headers): Middleware {
  const entries = Object.entries(common);
  return async (ctx, next) => {
    await next();
    const { req, res, state } = ctx;
    for (const [name, value] of entries) if (!res.hasHeader(name)) res.setHeader(name, value);
    res.setHeader('X-Request-Id', state.request_id);
    if (leavesBody(req)) res.setHeader('Connection', 'close');
    setHeaders(res, state.rate_headers ?? addressRate(state.address));
  };
}
