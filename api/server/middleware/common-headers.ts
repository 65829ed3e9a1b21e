import { type Headers, setHeaders } from '../../http/reply.ts';
import type { Middleware } from '../state.ts';
import { hasUnreadBody } from './body.ts';

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
  'X-Credits-Charged',
].join(', ');

/** Headers of every answer: any page may call the interface, no answer may be run or framed, and what is not charged costs nothing. */
export function commonHeaders(base_url: string): Headers {
  return {
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': EXPOSED,
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Referrer-Policy': 'no-referrer',
    'X-Credits-Charged': '0',
    Vary: 'Accept-Encoding, Authorization',
    ...(base_url.startsWith('https:') ? { 'Strict-Transport-Security': 'max-age=31536000' } : {}),
  };
}

/**
 * Sets request id, charge, rate and common headers on every answer; a public route may set its own instead of a common one. Answers
 * without a valid key show the rate window of the address. An answer before the end of the request body closes the connection.
 */
export function addHeaders(common: Headers, addressRate: (address: string) => Promise<Headers>): Middleware {
  const entries = Object.entries(common);
  return async (ctx, next) => {
    await next();
    const { req, res, state } = ctx;
    if (state.charged && state.price !== null) res.setHeader('X-Credits-Charged', String(state.price.credits));
    for (const [name, value] of entries) if (!res.hasHeader(name)) res.setHeader(name, value);
    res.setHeader('X-Request-Id', state.request_id);
    if (hasUnreadBody(req)) res.setHeader('Connection', 'close');
    setHeaders(res, state.rate_headers ?? (await addressRate(state.address)));
  };
}
