import type { Caller } from '../../accounts/keyring.ts';
import type { Records } from '../../billing/records.ts';
import { ApiError } from '../../http/errors.ts';
import { type Clock, type Consumed, RATE_WINDOW_S, rateWindows } from '../../http/rate-window.ts';
import type { Headers } from '../../http/reply.ts';
import type { Context, Middleware } from '../state.ts';
import { simulatedRate } from '../variant.ts';

const DAY_S = 86_400;

/**
 * Counts the calls of a key, and refuses those beyond its rate, and those beyond what the plan allows its business in a UTC day,
 * where it does. The window is on every answer from here on. Windows are those of the records where processes share them.
 */
export function rateLimit(clock: Clock, records: Pick<Records, 'admitToday' | 'rateWindows'>): Middleware {
  const windows = records.rateWindows ?? rateWindows(clock);

  const admit = (ctx: Context, next: () => Promise<void>, limit: number, { headers, retry_after_s }: Consumed) => {
    const { business_id, kind, plan, suspended } = ctx.state.caller as Caller;
    ctx.state.rate_headers = headers;
    // Before the limit, as the order of checks has it, and after the count: the answer shows the window of the key.
    if (suspended) throw new ApiError('forbidden', 'the business is suspended');
    if (retry_after_s !== null)
      throw new ApiError(
        'rate_limited',
        `more than ${limit} requests in ${RATE_WINDOW_S} seconds`,
        { 'Retry-After': String(retry_after_s) },
        { reason: 'key' },
      );
    const { requests_per_day } = plan.quotas;
    // Test keys are for trying, and open nothing that costs.
    if (requests_per_day === null || kind === 'test') return next();
    const admitted = records.admitToday(business_id, requests_per_day, ctx.state.now_ms);
    if (admitted === true) return next();
    return Promise.resolve(admitted).then((isAdmitted) =>
      isAdmitted ? next() : refuseToday(ctx, requests_per_day, clock.unix_ms()),
    );
  };

  return (ctx, next) => {
    const caller = ctx.state.caller as Caller;
    const limit = simulatedRate(caller, ctx.state.variant) ?? caller.plan.rate_per_minute;
    const consumed = windows.consume(caller.rate_bucket, limit);
    return consumed instanceof Promise
      ? consumed.then((late) => admit(ctx, next, limit, late))
      : admit(ctx, next, limit, consumed);
  };
}

/** Throws `rate_limited` until the next UTC midnight. */
function refuseToday(ctx: Context, requests_per_day: number, unix_ms: number): never {
  const rest_s = DAY_S - (Math.floor(ctx.state.now_ms / 1000) % DAY_S);
  ctx.state.rate_headers = dayHeaders(requests_per_day, rest_s, unix_ms);
  throw new ApiError(
    'rate_limited',
    `more than ${requests_per_day} requests on this UTC day`,
    { 'Retry-After': String(rest_s) },
    { reason: 'day' },
  );
}

function dayHeaders(limit: number, rest_s: number, unix_ms: number): Headers {
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': '0',
    'X-RateLimit-Reset': String(Math.floor(unix_ms / 1000) + rest_s),
    'RateLimit-Policy': `"day";q=${limit};w=${DAY_S}`,
    RateLimit: `"day";r=0;t=${rest_s}`,
  };
}
