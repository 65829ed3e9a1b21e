import { Readable } from 'node:stream';
import { ApiError } from '../errors.ts';
import type { Exchange } from './exchange.ts';
import { type HeaderPairs, pairs, type Reply, without } from './reply.ts';

/** What a route outside the keys answers; its headers replace the common ones of the same name. */
export interface OpenAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string | Readable | null;
}

/** A route that needs no key: documents, pages, public files, probes. */
export interface OpenRoute {
  /** Path, or with a trailing slash everything under it too. */
  readonly path: string;
  /** Methods as the Allow header lists them. */
  readonly allow: string;
  readonly answer: (exchange: Exchange) => Promise<OpenAnswer>;
}

/** The open route of a path, the first that fits; null when a key is needed. */
export function openRouteOf(routes: readonly OpenRoute[], path: string): OpenRoute | null {
  return (
    routes.find((route) =>
      route.path.endsWith('/') && route.path !== '/'
        ? path.startsWith(route.path) || path === route.path.slice(0, -1)
        : path === route.path,
    ) ?? null
  );
}

const PREFLIGHT = {
  'Access-Control-Allow-Headers':
    'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, If-Range, Range, X-Request-Id',
  'Access-Control-Max-Age': '86400',
};

/** Answer to OPTIONS. `allow`: methods of the path, null where there is none. */
export function preflight(allow: string | null): Reply {
  const methods = allow ?? 'OPTIONS';
  const headers = { Allow: methods, 'Access-Control-Allow-Methods': methods, ...PREFLIGHT };
  return { status: 204, headers: pairs(headers), body: null };
}

/** Answer of an open route; throws `method_not_allowed`. */
export async function openReply(route: OpenRoute, exchange: Exchange, common: HeaderPairs): Promise<Reply> {
  exchange.route = route.path;
  if (!route.allow.split(', ').includes(exchange.method))
    throw new ApiError('method_not_allowed', `${exchange.request.method} is not served here, expected ${route.allow}`, {
      Allow: route.allow,
    });
  const { status, headers, body } = await route.answer(exchange);
  const { 'Content-Length': _, ...own } = headers;
  const tellsLength = body === null || body instanceof Readable;
  return { status, headers: pairs(tellsLength ? headers : own), common: without(common, headers), body };
}
