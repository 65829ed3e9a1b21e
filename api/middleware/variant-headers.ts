import { setHeaders } from '../http/reply.ts';
import type { Middleware } from '../state.ts';

/** Sets the headers that every answer of a variant carries. */
export const variantHeaders: Middleware = async (ctx, next) => {
  await next();
  const { headers } = ctx.state.variant;
  if (headers !== null) setHeaders(ctx.res, await headers());
};
