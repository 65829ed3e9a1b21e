import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { acceptsGzip, type Headers, JSON_TYPE, namesTag } from '../http/reply.ts';
import type { Middleware } from './state.ts';

/** A route that needs no key: documents, pages, public files, probes. */
export interface PublicRoute {
  /** Path of the router; `/tiles{/*rest}` is `/tiles` and every path below it. */
  readonly path: string;
  readonly handler: Middleware;
}

const zip = promisify(gzip);

/** Serves one content that stays the same while the process lives; it is compressed when that is first asked for. */
export function serveDocument(type: string, content: string | Buffer, headers: Headers = {}): Middleware {
  const plain = Buffer.from(content);
  let zipped: Promise<Buffer> | null = null;
  const ETag = `W/"${hash('sha256', plain, 'base64url').slice(0, 27)}"`;
  const common = { 'Content-Type': type, 'Cache-Control': 'public, max-age=60', Vary: 'Accept-Encoding', ...headers };
  return async (ctx) => {
    const { 'if-none-match': ifNoneMatch, 'accept-encoding': acceptEncoding } = ctx.req.headers;
    ctx.set({ ETag, ...common });
    if (type !== JSON_TYPE) ctx.state.rate_headers = {}; // a page and what it loads are no calls
    ctx.status = namesTag(ifNoneMatch, ETag, 'weakly') ? 304 : 200;
    if (ctx.status === 304) return;
    ctx.body = plain;
    if (!acceptsGzip(acceptEncoding)) return;
    zipped ??= zip(plain, { level: 9 });
    ctx.body = await zipped;
    ctx.set('Content-Encoding', 'gzip');
  };
}
