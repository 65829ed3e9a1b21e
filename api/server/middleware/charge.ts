import type { Caller } from '../../accounts/keyring.ts';
import type { Charge, OverCap, Price } from '../../billing/ledger.ts';
import type { Records } from '../../billing/records.ts';
import { ApiError } from '../../http/errors.ts';
import { isGone } from '../../http/reply.ts';
import type { CallMiddleware, State } from '../state.ts';

/** Charges a read once its answer is made. Koa sends after the whole chain has resolved, so no byte leaves before the charge. */
export function charge(records: Records): CallMiddleware {
  return async (ctx, next) => {
    await next();
    const { price, now_ms } = ctx.state;
    // A disconnected client receives nothing and is not charged.
    if (price === null || isGone(ctx)) return;
    const outcome = await records.charge(chargeOf(ctx.state, price));
    if (outcome !== 'charged') throw spendCapExceeded(outcome, now_ms);
    ctx.state.charged = true;
  };
}

/** Refuses a call that its charge would refuse, before any work is done for it. Nothing is reserved. */
export function spendCap(records: Records): CallMiddleware {
  return async (ctx, next) => {
    const { price, caller, now_ms } = ctx.state;
    const exceeded = price === null ? null : await records.wouldExceed(caller, price.credits, now_ms);
    if (exceeded !== null) throw spendCapExceeded(exceeded, now_ms);
    await next();
  };
}

type ChargedCall = Pick<State, 'now_ms' | 'request_id'> & { readonly caller: Caller };

/** Ledger row of a call. */
export function chargeOf({ caller, now_ms, request_id }: ChargedCall, price: Price): Charge {
  return {
    business_id: caller.business_id,
    key_id: caller.key_id,
    operation: price.operation,
    credits: price.credits,
    count: price.count,
    at_ms: now_ms,
    request_id,
  };
}

const MESSAGES: Readonly<Record<OverCap, string>> = {
  over_cap: "the call would exceed the month's spend cap of the business",
  over_key_cap: "the call would exceed the month's spend cap of this key",
};

/** Refusal by the spend cap of a business or a key, until the next month. */
export function spendCapExceeded(by: OverCap, now_ms: number): ApiError {
  const now = new Date(now_ms);
  const nextMonth_ms = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
  return new ApiError('spend_cap_exceeded', MESSAGES[by], {
    'Retry-After': String(Math.ceil((nextMonth_ms - now_ms) / 1000)),
  });
}
