import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { acceptsGzip } from '../http/negotiate.ts';
import type { CallMiddleware } from '../state.ts';

/** Smallest answer that is worth compressing, bytes. */
const GZIP_FROM = 1024;
const GZIP_LEVEL = 5;

const compressed = promisify(gzip);

/** Compresses a larger answer where the caller takes gzip; what the reply cache keeps is compressed once. */
export const compress: CallMiddleware = async (ctx, next) => {
  await next();
  const { reply } = ctx.state;
  if (reply === null || ctx.body !== reply.bytes || reply.bytes.length <= GZIP_FROM) return;
  if (!acceptsGzip(ctx.req.headers['accept-encoding'])) return;
  reply.gzipped ??= await compressed(reply.bytes, { level: GZIP_LEVEL });
  ctx.set('Content-Encoding', 'gzip');
  ctx.body = reply.gzipped;
};
