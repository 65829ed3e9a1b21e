import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Exchange } from './exchange.ts';

export type HeaderPairs = readonly string[];

/** What is sent back. Header names and values stand by turns. */
export interface Reply {
  readonly status: number;
  /** Beside those of every answer. */
  readonly headers: HeaderPairs;
  /** Instead of the headers of every answer. */
  readonly common?: HeaderPairs;
  readonly body: Buffer | string | Readable | null;
}

export const JSON_TYPE = 'application/json; charset=utf-8';
export const NO_STORE = ['Cache-Control', 'no-store'] as const;

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
export function commonHeaders(base_url: string): HeaderPairs {
  return [
    'Access-Control-Allow-Origin',
    '*',
    'Access-Control-Expose-Headers',
    EXPOSED,
    'X-Content-Type-Options',
    'nosniff',
    'Content-Security-Policy',
    "default-src 'none'; frame-ancestors 'none'",
    'Referrer-Policy',
    'no-referrer',
    'Vary',
    'Accept-Encoding, Authorization',
    ...(base_url.startsWith('https:') ? ['Strict-Transport-Security', 'max-age=31536000'] : []),
  ];
}

/** Sends an answer; for HEAD and 304 without its body. Does nothing once the client is gone. */
export async function send(exchange: Exchange, common: HeaderPairs, reply: Reply): Promise<void> {
  const { request, response } = exchange;
  const { status, headers, body } = reply;
  if (response.destroyed || response.headersSent) {
    if (body instanceof Readable) body.destroy();
    return;
  }
  const all = [...(reply.common ?? common), 'X-Request-Id', exchange.request_id, ...exchange.rate_headers, ...headers];
  const bare = request.method === 'HEAD' || body === null;
  const length = lengthOf(reply);
  if (length !== null) all.push('Content-Length', String(length));
  response.writeHead(status, all);
  if (!bare && body instanceof Readable) await pipeline(body, response);
  else {
    if (body instanceof Readable) body.destroy();
    response.end(bare ? undefined : body);
  }
}

/** Bytes of a body that does not tell them itself; null where a header tells them or there is no body to speak of. */
function lengthOf({ status, headers, body }: Reply): number | null {
  if (status === 304 || status === 204 || body instanceof Readable) return null;
  if (body === null) return headers.includes('Content-Length') ? null : 0;
  return Buffer.byteLength(body);
}

/** The common headers without those that an answer brings itself. */
export function without(common: HeaderPairs, own: Readonly<Record<string, string>>): HeaderPairs {
  const names = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  return common.filter((_, at) => !names.has((common[at - (at % 2)] as string).toLowerCase()));
}

/** Names and values by turns. */
export function pairs(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flat();
}
