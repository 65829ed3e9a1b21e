import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { acceptsGzip } from '../http/negotiate.ts';
import { type Reply, setHeaders } from '../http/reply.ts';
import type { CallMiddleware } from '../state.ts';

/** Smallest answer that is worth compressing, bytes. */
const GZIP_FROM = 1024;
const GZIP_LEVEL = 5;

const compressed = promisify(gzip);

/**
 * Makes the reply of the chain what Koa will send, once everything within has agreed to it: compressed where it is larger and the
 * caller takes gzip, which is done once for what the reply cache keeps. A 304 has its headers, and no body.
 */
export const sendReply: CallMiddleware = async (ctx, next) => {
  await next();
  const { reply } = ctx.state;
  if (reply === null) return;
  setHeaders(ctx.res, reply.headers);
  if (ctx.status === 304) return;
  ctx.status = reply.status;
  ctx.res.setHeader('Content-Type', reply.type); // not `ctx.type`, which rewrites known types
  if (reply.bytes.length > GZIP_FROM && acceptsGzip(ctx.req.headers['accept-encoding'])) {
    ctx.res.setHeader('Content-Encoding', 'gzip');
    ctx.body = await gzipped(reply);
  } else ctx.body = reply.bytes;
};

async function gzipped(reply: Reply): Promise<Buffer> {
  reply.gzipped ??= await compressed(reply.bytes, { level: GZIP_LEVEL });
  return reply.gzipped;
}
