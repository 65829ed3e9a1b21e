import { matches } from '../http/entity-tag.ts';
import type { CallMiddleware } from '../state.ts';
import { provenanceOfPlan } from './plan.ts';

/**
 * Answers 304 to a caller that has the answer already. Not Koa's `ctx.fresh`, for which `Cache-Control: no-cache` of a request
 * makes every answer new: "If-None-Match: lists, `*`, weak comparison. 304 has no body …, and is billed".
 */
export const conditionalGet: CallMiddleware = async (ctx, next) => {
  await next();
  const { tag, fresh } = ctx.state;
  if (tag === null) return;
  ctx.res.setHeader('ETag', tag);
  ctx.res.setHeader('Cache-Control', 'private, no-cache');
  if (fresh ?? matches(ctx.req.headers['if-none-match'], tag)) ctx.status = 304;
};

/** Makes no answer where a version stands for it and the caller has that version: its 304 costs no query. */
export const skipUnchanged: CallMiddleware = (ctx, next) => {
  const { state } = ctx;
  const { tag, edition, plan } = state;
  const known = ctx.req.headers['if-none-match'];
  // `*` names whatever there is, so there has to be something.
  if (tag === null || known === undefined || known.trim() === '*') return next();
  state.fresh = matches(known, tag);
  if (!state.fresh) return next();
  const provenance = provenanceOfPlan(edition, plan);
  if (provenance !== null) ctx.set('X-Data-Source', provenance);
  return undefined;
};
