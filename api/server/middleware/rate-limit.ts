import type { Caller } from '../../accounts/keyring.ts';
import { RATE_WINDOW_S } from '../../http/call-limits.ts';
import { ApiError } from '../../http/errors.ts';
import type { Services } from '../../services.ts';
import type { Context, Middleware } from '../state.ts';
import { simulatedRate } from '../variant.ts';

const DAY_S = 86_400;

/**
 * Counts the calls of a key, and refuses those beyond its rate, and those beyond what the plan allows its business in a UTC day,
 * where it does. The window is on every answer from here on.
 */
export function rateLimit({ records, limits }: Pick<Services, 'records' | 'limits'>): Middleware {
  return async (ctx, next) => {
    const caller = ctx.state.caller as Caller;
    const limit = simulatedRate(caller, ctx.state.variant) ?? caller.plan.rate_per_minute;
    const { headers, retry_after_s } = await limits.countCall(caller.rate_bucket, limit);
    ctx.state.rate_headers = headers;
    // Before the limit, as the order of checks has it, and after the count: the answer shows the window of the key.
    if (caller.suspended) throw new ApiError('forbidden', 'the business is suspended');
    if (retry_after_s !== null)
      throw new ApiError(
        'rate_limited',
        `more than ${limit} requests in ${RATE_WINDOW_S} seconds`,
        { 'Retry-After': String(retry_after_s) },
        { reason: 'key' },
      );
    const { requests_per_day } = caller.plan.quotas;
    // Test keys are for trying, and open nothing that costs.
    if (requests_per_day !== null && caller.kind !== 'test') {
      const isAdmitted = await records.admitToday(caller.business_id, requests_per_day, ctx.state.now_ms);
      if (!isAdmitted) refuseToday(ctx, requests_per_day);
    }
    await next();
  };
}

/** Throws `rate_limited` until the next UTC midnight. */
function refuseToday(ctx: Context, requests_per_day: number): never {
  const rest_s = DAY_S - (Math.floor(ctx.state.now_ms / 1000) % DAY_S);
  ctx.state.rate_headers = {
    'X-RateLimit-Limit': String(requests_per_day),
    'X-RateLimit-Remaining': '0',
    'X-RateLimit-Reset': String(Math.floor(Date.now() / 1000) + rest_s),
    'RateLimit-Policy': `"day";q=${requests_per_day};w=${DAY_S}`,
    RateLimit: `"day";r=0;t=${rest_s}`,
  };
  throw new ApiError(
    'rate_limited',
    `more than ${requests_per_day} requests on this UTC day`,
    { 'Retry-After': String(rest_s) },
    { reason: 'day' },
  );
}
