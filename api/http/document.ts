import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import { matches } from './entity-tag.ts';
import { acceptsGzip } from './negotiate.ts';
import type { Headers } from './reply.ts';

/** What of Koa's context a document is put into. */
interface Answering {
  readonly req: IncomingMessage;
  status: number;
  body: unknown;
  set(headers: Record<string, string>): void;
}

/** Serves one text that stays the same while the process lives. */
export function serveDocument(type: string, text: string, headers: Headers = {}): (ctx: Answering) => void {
  const plain = Buffer.from(text);
  const zipped = gzipSync(plain, { level: 9 });
  const tag = `W/"${hash('sha256', plain, 'base64url').slice(0, 27)}"`;
  const common = {
    'Content-Type': type,
    'Cache-Control': 'public, max-age=60',
    ETag: tag,
    Vary: 'Accept-Encoding',
    ...headers,
  };
  return (ctx) => {
    const { 'if-none-match': ifNoneMatch, 'accept-encoding': acceptEncoding } = ctx.req.headers;
    const zip = acceptsGzip(acceptEncoding);
    ctx.set(common);
    if (matches(ifNoneMatch, tag)) {
      ctx.status = 304;
      return;
    }
    if (zip) ctx.set({ 'Content-Encoding': 'gzip' });
    ctx.status = 200;
    ctx.body = zip ? zipped : plain;
  };
}
