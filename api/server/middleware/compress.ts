import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { acceptsGzip, GZIP_FROM_BYTES } from '../../http/negotiate.ts';
import type { CallMiddleware } from '../state.ts';

const GZIP_LEVEL = 5;

const zip = promisify(gzip);
/** Compressed bodies by their plain bytes: a body in the reply cache is compressed once. */
const compressed = new WeakMap<Buffer, Buffer>();

/** Compresses answers above 1 KB for callers that accept gzip. */
export const compress: CallMiddleware = async (ctx, next) => {
  await next();
  const { body } = ctx;
  if (!Buffer.isBuffer(body) || body.length <= GZIP_FROM_BYTES) return;
  if (!acceptsGzip(ctx.req.headers['accept-encoding'])) return;
  const bytes = compressed.get(body) ?? (await zip(body, { level: GZIP_LEVEL }));
  compressed.set(body, bytes);
  ctx.res.setHeader('Content-Encoding', 'gzip');
  ctx.body = bytes;
};
