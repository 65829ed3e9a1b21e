import type { Caller } from '../accounts/keyring.ts';
import { SELF_HOSTED } from '../accounts/plans.ts';
import { countByAddress, RATE_WINDOW_S, rateHeaders } from '../http/call-limits.ts';
import { ApiError } from '../http/errors.ts';
import { isGone } from '../http/reply.ts';
import { ANSWERS } from '../published/duckdb.ts';
import { RecordsUnavailable } from '../records/errors.ts';
import type { Services } from '../services.ts';
import type { Endpoint } from './endpoint.ts';
import { countOf } from './head.ts';
import { type Context, CURRENT_VARIANT, type Middleware, type State, simulatedRate, type Variant } from './state.ts';

/** Requests per minute of one address without a key. */
export const GUEST_RATE_PER_MINUTE = 120;
/** Answers without a key that are made at once: half of the statements that run at once, however many addresses ask. */
export const GUESTS_AT_ONCE = ANSWERS.connections / 2;
/** Requests without a key that may wait for their turn. */
const GUESTS_WAITING = 256;
const RETRY_GUEST_S = 5;

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

const KEY_INVALID = 'the key is not valid';
const CHALLENGE = { 'WWW-Authenticate': 'Bearer realm="hail"' } as const;
const DAY_S = 86_400;

/**
 * Lets a call pass whose key is valid and within its rate. Throws `unauthorized`, or `too_many_failed_attempts` when the address or
 * the guessed key is locked. A charge counts its call in the key's total; calls without a charge are counted here.
 * Without a key only calls of endpoints pass that the operator has `opened` (HAIL_VIEWER).
 */
export function admit(
  { records, limits }: Pick<Services, 'records' | 'limits'>,
  others: readonly Variant[],
  opened: readonly Endpoint[],
): Middleware {
  const admitGuest = guests();
  return async (ctx, next) => {
    const { req, state } = ctx;
    if (req.headers.authorization === undefined && state.variant === CURRENT_VARIANT) {
      const method = req.method === 'HEAD' ? 'GET' : req.method;
      const open = opened.find((one) => one.path === state.path && one.method === method);
      if (open !== undefined) {
        ctx.routerName = open.path; // the metrics count a refusal of a guest for its route
        return await admitGuest(ctx, open, next);
      }
    }
    const { keyText, fault } = bearerOf(ctx);
    const caller = keyText === null ? null : await lookUp(records, keyText, state);
    if (caller === null) {
      const locked_s = Math.ceil((await limits.countFailure(state.address, keyText)) / 1000);
      if (locked_s === 0) throw new ApiError('unauthorized', fault, CHALLENGE);
      const wait = { 'Retry-After': String(locked_s) };
      throw new ApiError('too_many_failed_attempts', 'too many failed attempts, wait before the next', wait);
    }
    state.caller = caller;
    state.variant = others.find(({ name }) => name === caller.variant) ?? state.variant;
    try {
      await countCall(limits, state, caller);
      await countToday(records, state, caller);
      await next();
    } finally {
      if (state.credits_charged === null) records.countRequest(caller.key_id, state.now_ms);
    }
  };
}

/**
 * The caller of a key; null: there is none. With the records out of reach it throws RecordsUnavailable, except on the health path for
 * a key seen before, which waits no longer than the check of the records takes.
 */
async function lookUp(records: Services['records'], keyText: string, { path, variant, now_ms }: State) {
  const remembered = path === variant.health_path ? records.remembered(keyText, now_ms) : null;
  const found = records.authenticate(keyText, now_ms);
  if (remembered === null) return await found;
  const given = records.health().then((well) => (well ? found : remembered));
  return await Promise.race([found, given]).catch((error: unknown) => {
    if (error instanceof RecordsUnavailable) return remembered;
    throw error;
  });
}

export function keyInvalid(options: ErrorOptions): ApiError {
  return new ApiError('unauthorized', KEY_INVALID, CHALLENGE, options);
}

/** The text of the key, null in a malformed header, and the fault if the key is unknown. Throws when there is no header. */
function bearerOf({ req }: Context) {
  const header = req.headers.authorization;
  if (header === undefined)
    throw new ApiError('unauthorized', 'Authorization is missing, expected Bearer and a key', CHALLENGE);
  if (countOf(req.rawHeaders, 'authorization') > 1)
    return { keyText: null, fault: 'Authorization is given more than once' };
  const [, keyText = null] = /^bearer +(\S+) *$/i.exec(header) ?? [];
  return { keyText, fault: keyText === null ? 'Authorization is not of the form Bearer and a key' : KEY_INVALID };
}

/** Counts a call of a key in its window, which is on every answer from here on. Throws `rate_limited`, and `forbidden` to a suspended business. */
async function countCall(limits: Services['limits'], state: State, caller: Caller): Promise<void> {
  const limit = simulatedRate(caller, state.variant) ?? caller.plan.rate_per_minute;
  const { headers, retry_after_s } = await limits.countCall(caller.rate_bucket, limit);
  state.rate_headers = headers;
  // Before the limit, as the order of checks has it, and after the count: the answer shows the window of the key.
  if (caller.suspended) throw new ApiError('forbidden', 'the business is suspended');
  if (retry_after_s !== null) throw rateLimited(`${limit} requests in ${RATE_WINDOW_S} seconds`, retry_after_s, 'key');
}

/** Counts a call in the UTC day of its business. Throws `rate_limited` until midnight beyond what the plan allows. */
async function countToday(records: Services['records'], state: State, { business_id, kind, plan }: Caller) {
  const limit = plan.quotas.requests_per_day;
  // Test keys are for trying, and open nothing that costs.
  if (limit === null || kind === 'test' || (await records.admitToday(business_id, limit, state.now_ms))) return;
  const rest_s = DAY_S - (Math.floor(state.now_ms / 1000) % DAY_S);
  state.rate_headers = rateHeaders('day', limit, 0, DAY_S, rest_s, Math.floor(Date.now() / 1000) + rest_s);
  throw rateLimited(`${limit} requests on this UTC day`, rest_s, 'day');
}

function rateLimited(what: string, retry_after_s: number, reason: 'key' | 'day' | 'guest'): ApiError {
  return new ApiError('rate_limited', `more than ${what}`, { 'Retry-After': String(retry_after_s) }, { reason });
}

/**
 * Admits calls without a key within a rate by address and in turns, so that callers with a key do not wait for them. A call that reads
 * no published data needs no turn: it may wait for another server, and guests must not wait with it.
 */
function guests() {
  const countCall = countByAddress();
  const inTurn = turns();
  return async (ctx: Context, open: Endpoint, next: () => Promise<unknown>) => {
    const { state } = ctx;
    const { headers, retry_after_s } = await countCall(state.address, GUEST_RATE_PER_MINUTE);
    state.caller = GUEST;
    state.rate_headers = headers;
    const asked = `${GUEST_RATE_PER_MINUTE} requests without a key in ${RATE_WINDOW_S} seconds from this address`;
    if (retry_after_s !== null) throw rateLimited(asked, retry_after_s, 'guest');
    const answer = async () => {
      if (!isGone(ctx)) await next();
    };
    await (open.kind === 'read' && open.plan === null ? answer() : inTurn(answer));
  };
}

/** Makes GUESTS_AT_ONCE answers at the same time, first come, first served. Throws ApiError overloaded when GUESTS_WAITING wait. */
function turns(): (work: () => Promise<void>) => Promise<void> {
  const waiting: (() => void)[] = [];
  let running = 0;
  const tooMany = `too many requests without a key wait, at most ${GUESTS_WAITING} may`;
  return async (work) => {
    if (running < GUESTS_AT_ONCE) running += 1;
    else if (waiting.length < GUESTS_WAITING)
      await new Promise<void>((resolve) => waiting.push(resolve)); // the call that ends passes its turn on
    else throw new ApiError('overloaded', tooMany, { 'Retry-After': String(RETRY_GUEST_S) }, { reason: 'guests' });
    try {
      await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
