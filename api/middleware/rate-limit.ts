import { ApiError } from '../errors.ts';
import { type Clock, RATE_WINDOW_S, rateWindows } from '../http/rate-window.ts';
import type { Caller } from '../records/records.ts';
import { isSimulated, SIMULATED_RATE_PER_MINUTE } from '../rules/simulated-caller.ts';
import type { Middleware } from '../state.ts';

/** Counts the calls of a key, and refuses those beyond its rate. The window is on every answer from here on. */
export function rateLimit(clock: Clock): Middleware {
  const windows = rateWindows(clock);
  return (ctx, next) => {
    const caller = ctx.state.caller as Caller;
    const { rate_bucket, plan, suspended } = caller;
    const limit = isSimulated(caller) ? SIMULATED_RATE_PER_MINUTE : plan.rate_per_minute;
    const { headers, retry_after_s } = windows.consume(rate_bucket, limit);
    ctx.state.rate_headers = headers;
    // Before the limit, as the order of checks has it, and after the count: the answer shows the window of the key.
    if (suspended) throw new ApiError('forbidden', 'the business is suspended');
    if (retry_after_s !== null)
      throw new ApiError('rate_limited', `more than ${limit} requests in ${RATE_WINDOW_S} seconds`, {
        'Retry-After': String(retry_after_s),
      });
    return next();
  };
}
