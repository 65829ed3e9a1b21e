import { checkHead } from '../http/head.ts';
import type { Middleware } from '../state.ts';

/** Refuses what is too large, or not plainly one request, before anything is made of it. */
export const headLimits: Middleware = (ctx, next) => {
  checkHead(ctx.req, ctx.originalUrl);
  return next();
};
