import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '../accounts/keyring.ts';
import type { Charge, OverCap, Price } from '../billing/ledger.ts';
import type { Records } from '../billing/records.ts';
import { ApiError } from '../http/errors.ts';
import { JSON_TYPE, mediaType, setHeaders } from '../http/reply.ts';
import { parseQuery } from '../http/target.ts';
import type { Services } from '../services.ts';
import type { JsonObject } from './body.ts';
import type { Answer, Endpoint } from './endpoint.ts';
import type { Telemetry } from './middleware/telemetry.ts';
import type { CallState, Context } from './state.ts';
import { paramsOf, validInput } from './validate.ts';
import { simulatedRate } from './variant.ts';

/** What the handlers of endpoints work with. */
export interface Tools {
  readonly services: Services;
  readonly monotonic_ms: () => number;
  readonly check: CheckReply;
}

/** Lets those through whose key and plan open the endpoint: kind of key, then scope, then feature. */
export function authorize({ test_key, scope, feature }: Endpoint, { caller, variant }: CallState): void {
  const { kind, scopes, plan } = caller;
  if (kind === 'test' && !test_key && simulatedRate(caller, variant) === null)
    throw new ApiError('forbidden', 'test keys open /v1/health only, use a live key (hs_live_…)');
  if (scope !== null && !hasScope(scopes, scope))
    throw new ApiError('insufficient_scope', `the key lacks the scope ${scope}`, { 'X-Required-Scope': scope });
  if (feature !== null && !plan.features.includes(feature))
    throw new ApiError('feature_not_available', `the plan has no ${feature}`);
}

/** `*`, `resource:*` or the scope itself; writing does not imply reading. */
function hasScope(scopes: readonly string[], scope: string): boolean {
  return scopes.includes(scope) || scopes.includes('*') || scopes.includes(`${scope.slice(0, scope.indexOf(':'))}:*`);
}

/** Throws `not_acceptable` when an Accept header rules out every one of some types, with and without their parameters. */
export function checkAccept(ctx: Context, types: readonly string[]): void {
  const { accept } = ctx.req.headers;
  if (accept === undefined || accept === '' || accept === '*/*') return;
  if (ctx.accepts(...types, ...types.map(mediaType)) === false)
    throw new ApiError('not_acceptable', `Accept rules out ${mediaType(types[0] ?? '')}`);
}

/** Types of the answers of an endpoint. */
export function typesOf({ other_replies }: Endpoint): readonly string[] {
  return [JSON_TYPE, ...Object.keys(other_replies)];
}

/**
 * Answers a caller who gets simulated data, from the question and the day alone, and is charged nothing; false for any other call.
 * It writes nothing, so an Idempotency-Key has no effect.
 */
export function answerSimulated(
  ctx: Context<CallState>,
  endpoint: Endpoint,
  body: JsonObject | null,
  check: CheckReply,
): boolean {
  const { caller, variant, request_id, now_ms, search } = ctx.state;
  if (endpoint.simulate === null || simulatedRate(caller, variant) === null) return false;
  const input = validInput(endpoint, paramsOf(endpoint, ctx), parseQuery(search), body);
  const answer = { body: endpoint.simulate({ ...input, request_id, now_ms }) };
  check(endpoint, answer);
  ctx.status = endpoint.status;
  setHeaders(ctx.res, { 'Content-Type': JSON_TYPE, 'Cache-Control': 'no-store', 'X-Data-Source': 'simulated' });
  ctx.body = Buffer.from(JSON.stringify(answer.body));
  return true;
}

/** One reply in this number is checked against its schema where not all are. */
const SAMPLE = 256;

/** Checks a reply against its schema. `all`: a mismatch throws; `sample`: one in 256 is checked, a mismatch is logged. */
type CheckReply = (endpoint: Endpoint, answer: Answer<unknown>) => void;

export function checkReply(which: 'all' | 'sample', telemetry: Telemetry): CheckReply {
  let checks = 0;
  return (endpoint, answer) => {
    checks += 1;
    if (which === 'sample' && checks % SAMPLE !== 1) return;
    const faults = faultsOf(endpoint, answer);
    if (faults === null) return;
    if (which === 'all') throw new Error(`${endpoint.method} ${endpoint.path} answers ${faults}`);
    telemetry.schemaMismatch(`${endpoint.method} ${endpoint.path}`, faults);
  };
}

/** In what a reply differs from the schema of its type, or null. */
function faultsOf(endpoint: Endpoint, answer: Answer<unknown>): string | null {
  const schema = answer.type === undefined ? endpoint.reply : (endpoint.other_replies[answer.type] ?? endpoint.reply);
  const parsed = schema.safeParse(answer.body);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return `${issue?.path.join('.')}: ${issue?.message}`;
  }
  const is_whole =
    JSON.stringify(parsed.data) === JSON.stringify(answer.body) || isDeepStrictEqual(parsed.data, answer.body);
  return is_whole ? null : 'with members that its schema does not have';
}

/** Refuses a call that its charge would refuse, before any work is done for it. Nothing is reserved. */
export async function refuseOverCap(
  records: Pick<Records, 'wouldExceed'>,
  price: Price | null,
  { caller, now_ms }: CallState,
): Promise<void> {
  const exceeded = price === null ? null : await records.wouldExceed(caller, price.credits, now_ms);
  if (exceeded !== null) throw spendCapExceeded(exceeded, now_ms);
}

/** Ledger row of a call. */
export function chargeOf(
  { caller, now_ms, request_id }: Pick<CallState, 'now_ms' | 'request_id'> & { readonly caller: Caller },
  { operation, credits, count }: Price,
): Charge {
  const { business_id, key_id } = caller;
  return { business_id, key_id, operation, credits, count, at_ms: now_ms, request_id };
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
