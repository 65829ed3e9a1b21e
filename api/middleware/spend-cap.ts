import type { Records } from '../metering/records.ts';
import type { CallMiddleware } from '../state.ts';
import { spendCapExceeded } from './charge.ts';

/** Refuses a call that its charge would refuse anyway, before any work is done for it. Nothing is reserved. */
export function spendCap(records: Records): CallMiddleware {
  return async (ctx, next) => {
    const { price, caller, now_ms } = ctx.state;
    const exceeded = price === null ? null : await records.wouldExceed(caller, price.credits, now_ms);
    if (exceeded !== null) throw spendCapExceeded(exceeded, now_ms);
    await next();
  };
}
