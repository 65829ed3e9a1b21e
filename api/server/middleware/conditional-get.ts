import { matches } from '../../http/entity-tag.ts';
import type { CallMiddleware } from '../state.ts';
import { provenanceOfPlan } from './read.ts';

/**
 * Answers 304 to a caller that has the answer already. Not by Koa's `ctx.fresh`, which counts every answer as new when the request
 * says `Cache-Control: no-cache`: "If-None-Match: lists, `*`, weak comparison. 304 has no body …, and is billed".
 */
export const conditionalGet: CallMiddleware = async (ctx, next) => {
  await next();
  const { tag, fresh } = ctx.state;
  if (tag === null) return;
  ctx.res.setHeader('ETag', tag);
  ctx.res.setHeader('Cache-Control', 'private, no-cache');
  if (fresh ?? matches(ctx.req.headers['if-none-match'], tag)) ctx.status = 304; // Koa drops the body
};

/** Skips the answer when the caller has its version already: such a 304 costs no query. */
export const skipUnchanged: CallMiddleware = (ctx, next) => {
  const { state } = ctx;
  const { tag, edition, plan } = state;
  const known = ctx.req.headers['if-none-match'];
  // `*` matches any existing answer, so the answer has to be made first.
  if (tag === null || known === undefined || known.trim() === '*') return next();
  state.fresh = matches(known, tag);
  if (!state.fresh) return next();
  const provenance = provenanceOfPlan(edition, plan);
  if (provenance !== null) ctx.res.setHeader('X-Data-Source', provenance);
  return undefined;
};
