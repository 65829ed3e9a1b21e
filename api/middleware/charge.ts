import type { Price } from '../endpoint.ts';
import { ApiError } from '../errors.ts';
import { isGone } from '../http/reply.ts';
import type { Caller, Charge, Records } from '../records/records.ts';
import type { CallMiddleware } from '../state.ts';

/** Charges a read once its answer is made: Koa sends when the whole chain has resolved, so no byte leaves before. */
export function charge(records: Records): CallMiddleware {
  return async (ctx, next) => {
    await next();
    const { price, caller, now_ms } = ctx.state;
    // A client that is gone has received nothing, and pays nothing.
    if (price === null || isGone(ctx)) return;
    const outcome = await records.charge(chargeOf(caller, price, now_ms));
    if (outcome === 'over_cap') throw spendCapExceeded(now_ms);
    ctx.state.charged = true;
  };
}

/** The row that a call adds to the ledger. */
export function chargeOf(caller: Caller, price: Price, now_ms: number): Charge {
  return {
    business_id: caller.business_id,
    key_id: caller.key_id,
    operation: price.operation,
    credits: price.credits,
    count: price.count,
    at_ms: now_ms,
  };
}

export function spendCapExceeded(now_ms: number): ApiError {
  const now = new Date(now_ms);
  const nextMonth_ms = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
  return new ApiError('spend_cap_exceeded', "the call would exceed the month's spend cap", {
    'Retry-After': String(Math.ceil((nextMonth_ms - now_ms) / 1000)),
  });
}
