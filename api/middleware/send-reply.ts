import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Endpoint } from '../endpoint.ts';
import { acceptsGzip, GZIP_FROM_BYTES } from '../http/negotiate.ts';
import { type Reply, setHeaders } from '../http/reply.ts';
import type { CallMiddleware } from '../state.ts';

const GZIP_LEVEL = 5;

const compressed = promisify(gzip);

/**
 * Makes the reply of the chain what Koa will send, once everything within has agreed to it: compressed where it is larger and the
 * caller takes gzip, which is done once for what the reply cache keeps; never where it carries a secret, whose guesses would show in
 * the length. A 304 has its headers, and no body.
 */
export function sendReply(endpoint: Endpoint): CallMiddleware {
  const compressible = endpoint.kind === 'read' || !endpoint.answers_secret;
  return async (ctx, next) => {
    await next();
    const { reply } = ctx.state;
    if (reply === null) return;
    setHeaders(ctx.res, reply.headers);
    if (ctx.status === 304) return;
    ctx.status = reply.status;
    ctx.res.setHeader('Content-Type', reply.type); // not `ctx.type`, which rewrites known types
    if (compressible && reply.bytes.length > GZIP_FROM_BYTES && acceptsGzip(ctx.req.headers['accept-encoding'])) {
      ctx.res.setHeader('Content-Encoding', 'gzip');
      ctx.body = await gzipped(reply);
    } else ctx.body = reply.bytes;
  };
}

async function gzipped(reply: Reply): Promise<Buffer> {
  reply.gzipped ??= await compressed(reply.bytes, { level: GZIP_LEVEL });
  return reply.gzipped;
}
