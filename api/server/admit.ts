import type { Caller } from '../accounts/keyring.ts';
import { RATE_WINDOW_S, rateHeaders } from '../http/call-limits.ts';
import { ApiError } from '../http/errors.ts';
import { RecordsUnavailable } from '../records/errors.ts';
import type { Services } from '../services.ts';
import { countOf } from './head.ts';
import { type Context, type Middleware, type State, simulatedRate, type Variant } from './state.ts';

const KEY_INVALID = 'the key is not valid';
const CHALLENGE = { 'WWW-Authenticate': 'Bearer realm="hail"' } as const;
/** Longer text is no key, and is not worth hashing. */
const LONGEST_KEY = 200;
const DAY_S = 86_400;

/**
 * Lets a call pass whose key is valid and within its rate. Throws `unauthorized`, or `too_many_failed_attempts` when the address or
 * the guessed key is locked. A charge counts its call in the key's total; calls without a charge are counted here.
 */
export function admit(
  { records, limits }: Pick<Services, 'records' | 'limits'>,
  others: readonly Variant[],
): Middleware {
  return async (ctx, next) => {
    const { state } = ctx;
    const { keyText, fault } = bearerOf(ctx);
    const caller = keyText === null || keyText.length > LONGEST_KEY ? null : await lookUp(records, keyText, state);
    if (caller === null) throw refusal(await limits.countFailure(state.address, keyText), fault);
    state.caller = caller;
    state.variant = others.find(({ name }) => name === caller.variant) ?? state.variant;
    try {
      await countCall(limits, state, caller);
      if (caller.plan.quotas.requests_per_day !== null) await countToday(records, state, caller);
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

function refusal(locked_ms: number, fault: string): ApiError {
  if (locked_ms === 0) return new ApiError('unauthorized', fault, CHALLENGE);
  return new ApiError('too_many_failed_attempts', 'too many failed attempts, wait before the next', {
    'Retry-After': String(Math.ceil(locked_ms / 1000)),
  });
}

/** The refusal of an unknown key. */
export function keyInvalid(options: ErrorOptions): ApiError {
  return new ApiError('unauthorized', KEY_INVALID, CHALLENGE, options);
}

/** The text of the key, null in a malformed header, and the fault if the key is unknown. Throws when there is no header. */
function bearerOf({ req }: Context): { keyText: string | null; fault: string } {
  const header = req.headers.authorization;
  if (header === undefined)
    throw new ApiError('unauthorized', 'Authorization is missing, expected Bearer and a key', CHALLENGE);
  if (countOf(req.rawHeaders, 'authorization') > 1)
    return { keyText: null, fault: 'Authorization is given more than once' };
  const keyText = /^bearer +(\S+) *$/i.exec(header)?.[1];
  return keyText === undefined
    ? { keyText: null, fault: 'Authorization is not of the form Bearer and a key' }
    : { keyText, fault: KEY_INVALID };
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

function rateLimited(what: string, retry_after_s: number, reason: 'key' | 'day'): ApiError {
  return new ApiError('rate_limited', `more than ${what}`, { 'Retry-After': String(retry_after_s) }, { reason });
}
