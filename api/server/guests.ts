import type { Caller } from '../accounts/keyring.ts';
import { SELF_HOSTED } from '../accounts/plans.ts';
import { countByAddress, RATE_WINDOW_S } from '../http/call-limits.ts';
import { ApiError } from '../http/errors.ts';
import { isGone } from '../http/reply.ts';
import { ANSWERS } from '../published/duckdb.ts';
import type { Endpoint } from './endpoint.ts';
import { CURRENT_VARIANT, type Middleware } from './state.ts';

/** Requests per minute of one address without a key. */
export const GUEST_RATE_PER_MINUTE = 120;
/** Answers without a key that are made at once: half of the statements that run at once, however many addresses ask. */
export const GUESTS_AT_ONCE = ANSWERS.connections / 2;
/** Requests without a key that may wait for their turn. */
const GUESTS_WAITING = 256;
const RETRY_AFTER_S = 5;

/** In place of a caller with a key: nothing of it is in the records, and nothing is charged. */
export const GUEST: Caller = {
  business_id: 'guest',
  key_id: 'guest',
  rate_bucket: 'guest',
  kind: 'live',
  variant: 'current',
  scopes: ['*'],
  suspended: false,
  key_cap: null,
  plan: SELF_HOSTED,
};

/**
 * Admits calls without a key to the endpoints that the operator has opened (HAIL_VIEWER), within a rate by address and in turns, so that
 * callers with a key do not wait for them. Every other call is left to `keyed`.
 */
export function guests(opened: readonly Pick<Endpoint, 'method' | 'path'>[], keyed: Middleware): Middleware {
  const countCall = countByAddress();
  const inTurn = turns();
  const isOpen = (method: string | undefined, path: string) =>
    opened.some((one) => one.path === path && one.method === (method === 'HEAD' ? 'GET' : method));
  return async (ctx, next) => {
    const { req, state } = ctx;
    const is_guest = req.headers.authorization === undefined && state.variant === CURRENT_VARIANT;
    if (!is_guest || !isOpen(req.method, state.path)) return await keyed(ctx, next);
    const { headers, retry_after_s } = await countCall(state.address, GUEST_RATE_PER_MINUTE);
    state.caller = GUEST;
    state.rate_headers = headers;
    if (retry_after_s !== null)
      throw new ApiError(
        'rate_limited',
        `more than ${GUEST_RATE_PER_MINUTE} requests without a key in ${RATE_WINDOW_S} seconds from this address`,
        { 'Retry-After': String(retry_after_s) },
        { reason: 'guest' },
      );
    return await inTurn(async () => {
      if (!isGone(ctx)) await next();
    });
  };
}

/** Makes GUESTS_AT_ONCE answers at the same time, first come, first served. Throws ApiError overloaded when GUESTS_WAITING wait. */
function turns(): (work: () => Promise<void>) => Promise<void> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running < GUESTS_AT_ONCE) running += 1;
    else {
      if (waiting.length >= GUESTS_WAITING)
        throw new ApiError(
          'overloaded',
          `too many requests without a key wait, at most ${GUESTS_WAITING} may`,
          { 'Retry-After': String(RETRY_AFTER_S) },
          { reason: 'guests' },
        );
      await new Promise<void>((resolve) => waiting.push(resolve)); // the call that ends passes its turn on
    }
    try {
      await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
