import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
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

const zip = promisify(gzip);

/** Serves one content that stays the same while the process lives; it is compressed when that is first asked for. */
export function serveDocument(
  type: string,
  content: string | Buffer,
  headers: Headers = {},
): (ctx: Answering) => Promise<void> {
  const plain = Buffer.from(content);
  let zipped: Promise<Buffer> | null = null;
  const tag = `W/"${hash('sha256', plain, 'base64url').slice(0, 27)}"`;
  const common = {
    'Content-Type': type,
    'Cache-Control': 'public, max-age=60',
    ETag: tag,
    Vary: 'Accept-Encoding',
    ...headers,
  };
  return async (ctx) => {
    const { 'if-none-match': ifNoneMatch, 'accept-encoding': acceptEncoding } = ctx.req.headers;
    ctx.set(common);
    if (matches(ifNoneMatch, tag)) {
      ctx.status = 304;
      return;
    }
    ctx.status = 200;
    ctx.body = plain;
    if (!acceptsGzip(acceptEncoding)) return;
    zipped ??= zip(plain, { level: 9 });
    ctx.body = await zipped;
    ctx.set({ 'Content-Encoding': 'gzip' });
  };
}
