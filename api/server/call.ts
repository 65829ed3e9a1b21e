import { isDeepStrictEqual, promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { combineProvenances, type MixedProvenance } from '../../schemas/provenance.ts';
import type { StoredAnswer } from '../billing/idempotency.ts';
import type { Charge, OverCap, Price } from '../billing/ledger.ts';
import { ApiError } from '../http/errors.ts';
import {
  acceptsGzip,
  entityTag,
  GZIP_FROM_BYTES,
  type Headers,
  isGone,
  JSON_TYPE,
  mediaType,
  namesTag,
  setHeaders,
} from '../http/reply.ts';
import { type Edition, NOTHING_PUBLISHED } from '../published/catalog.ts';
import type { Writer } from '../records/database.ts';
import type { Services } from '../services.ts';
import type { Telemetry } from './answer.ts';
import { type JsonObject, readBody } from './body.ts';
import type { Answer, Endpoint, PlanInput, ReadEndpoint, ReadPlan, WriteEndpoint } from './endpoint.ts';
import { idempotency } from './idempotency.ts';
import { type CallHandler, type CallState, type Context, simulatedRate } from './state.ts';
import { type Input, paramsOf, parseQuery, validInput } from './validate.ts';

const NO_PLAN: ReadPlan = { dates: [] };
const GZIP_LEVEL = 5;
const REPLIES_MAX = 5000;
/** All cached bodies together. */
const TOTAL_BYTES_MAX = 48_000_000;
/** One body; a larger answer is made again each time. */
const REPLY_BYTES_MAX = 8_000_000;
/** Longest time that an answer without a version is cached: within a second `age_seconds` stays the same. */
const CACHED_MS = 1000;
/** One reply in this number is checked against its schema where not all are. */
const SAMPLE = 256;

/** What answers the calls of each endpoint. `check_replies`: every reply is checked, and a mismatch throws; or one in 256, and it is logged. */
export function callHandlers(
  services: Services,
  check_replies: 'all' | 'sample',
  telemetry: Telemetry,
): (endpoint: Endpoint) => CallHandler {
  const check = checkReply(check_replies, telemetry);
  const read = reader(services, check);
  const write = writer(services, check, telemetry);
  return (endpoint) => {
    const types = [JSON_TYPE, ...Object.keys(endpoint.other_replies)];
    return async (ctx) => {
      const is_simulated = simulatedRate(ctx.state.caller, ctx.state.variant) !== null;
      authorize(endpoint, ctx.state, is_simulated);
      checkAccept(ctx, types);
      const body = endpoint.body === null ? null : await readBody(ctx, endpoint);
      if (is_simulated && endpoint.simulate !== null) answerSimulated(ctx, endpoint, body, check);
      else if (endpoint.kind === 'read') await read(ctx, endpoint, body);
      else await write(ctx, endpoint, body);
    };
  };
}

/** Lets those through whose key and plan open the endpoint: kind of key, then scope, then feature. */
function authorize({ test_key, scope, feature }: Endpoint, { caller }: CallState, is_simulated: boolean): void {
  const { kind, scopes, plan } = caller;
  if (kind === 'test' && !test_key && !is_simulated)
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
function checkAccept(ctx: Context, types: readonly string[]): void {
  const { accept } = ctx.req.headers;
  if (accept === undefined || accept === '' || accept === '*/*') return;
  if (ctx.accepts(...types, ...types.map(mediaType)) === false)
    throw new ApiError('not_acceptable', `Accept rules out ${mediaType(types[0] ?? '')}`);
}

/** Answers from the question and the day alone, for nothing. It writes nothing, so an Idempotency-Key has no effect. */
function answerSimulated(
  ctx: Context<CallState>,
  endpoint: Endpoint,
  sent: JsonObject | null,
  check: CheckReply,
): void {
  const { request_id, now_ms, search } = ctx.state;
  const input = validInput(endpoint, paramsOf(endpoint, ctx), parseQuery(search), sent);
  const body = endpoint.simulate?.({ ...input, request_id, now_ms });
  check(endpoint, { body });
  ctx.status = endpoint.status;
  setHeaders(ctx.res, { 'Content-Type': JSON_TYPE, 'Cache-Control': 'no-store', 'X-Data-Source': 'simulated' });
  ctx.body = Buffer.from(JSON.stringify(body));
}

/** Checks a reply against its schema. */
type CheckReply = (endpoint: Endpoint, answer: Answer<unknown>) => void;

function checkReply(which: 'all' | 'sample', telemetry: Telemetry): CheckReply {
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
function faultsOf({ reply, other_replies }: Endpoint, { type, body }: Answer<unknown>): string | null {
  const schema = type === undefined ? reply : (other_replies[type] ?? reply);
  const { success, data, error } = schema.safeParse(body);
  if (!success) return `${error.issues[0]?.path.join('.')}: ${error.issues[0]?.message}`;
  const is_whole = JSON.stringify(data) === JSON.stringify(body) || isDeepStrictEqual(data, body);
  return is_whole ? null : 'with members that its schema does not have';
}

/** Refuses a call that its charge would refuse, before any work is done for it. Nothing is reserved. */
async function refuseOverCap({ records }: Services, price: Price | null, { caller, now_ms }: CallState): Promise<void> {
  const exceeded = price === null ? null : await records.wouldExceed(caller, price.credits, now_ms);
  if (exceeded !== null) throw spendCapExceeded(exceeded, now_ms);
}

/** Ledger row of a call. */
function chargeOf({ caller, now_ms, request_id }: CallState, { operation, credits, count }: Price): Charge {
  const { business_id, key_id } = caller;
  return { business_id, key_id, operation, credits, count, at_ms: now_ms, request_id };
}

/** Refusal by the spend cap of a business or a key, until the next month. */
function spendCapExceeded(by: OverCap, now_ms: number): ApiError {
  const whose = by === 'over_cap' ? 'the business' : 'this key';
  const now = new Date(now_ms);
  const nextMonth_ms = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
  return new ApiError('spend_cap_exceeded', `the call would exceed the month's spend cap of ${whose}`, {
    'Retry-After': String(Math.ceil((nextMonth_ms - now_ms) / 1000)),
  });
}

/** An answer to a read, the same for every caller. */
interface Made {
  /** Null: the caller has the answer already, and it was not made. */
  readonly body: Buffer | null;
  readonly type: string;
  readonly headers: Headers;
  /** Null where answers have none. */
  readonly tag: string | null;
  readonly price: Price | null;
  /** True while a new answer would be the same. */
  readonly holds: (edition: Edition, now_ms: number) => boolean;
}

/** Answers calls that read. A repeated question is answered from memory, and charged as usual. */
function reader(services: Services, check: CheckReply) {
  const cache = new LRUCache<string, Made>({
    max: REPLIES_MAX,
    maxSize: TOTAL_BYTES_MAX,
    maxEntrySize: REPLY_BYTES_MAX,
    sizeCalculation: ({ body }) => Math.max(1, body?.length ?? 0), // the library refuses a size of 0
  });
  return async (ctx: Context<CallState>, endpoint: ReadEndpoint, sent: JsonObject | null): Promise<void> => {
    const { state, req, res } = ctx;
    const target = endpoint.cacheable && req.method === 'GET' ? `${state.path}?${state.search}` : null;
    const cached = target === null ? undefined : cache.get(target);
    const is_repeated = cached?.holds(services.catalog.edition(), state.now_ms) === true;
    if (is_repeated) checkAccept(ctx, [cached.type]);
    const made = is_repeated ? cached : await make(ctx, endpoint, services, check, sent);
    if (target !== null && !is_repeated && made.body !== null) cache.set(target, made);

    const is_known = made.tag !== null && namesTag(req.headers['if-none-match'], made.tag, 'weakly');
    const body = is_known || made.body === null ? null : await coded(ctx, made.body);
    // Koa sends after the handler has resolved, so no byte leaves before the charge.
    if (made.price !== null) await charge(ctx, services, made.price);
    setHeaders(res, made.headers);
    ctx.status = body === null ? 304 : 200;
    if (body === null) return;
    res.setHeader('Content-Type', made.type);
    ctx.body = body;
  };
}

/** Plans which data the answer will use, and makes it, unless the plan shows that the caller has it already. */
async function make(
  ctx: Context<CallState>,
  endpoint: ReadEndpoint,
  services: Services,
  check: CheckReply,
  sent: JsonObject | null,
): Promise<Made> {
  const { state, req } = ctx;
  const { caller, request_id, now_ms, search } = state;
  const input = validInput(endpoint, paramsOf(endpoint, ctx), parseQuery(search), sent);
  const price = endpoint.price(input);
  const edition = endpoint.cacheable || endpoint.plan !== null ? services.catalog.edition() : NOTHING_PUBLISHED;
  const { plan, version } = planOf(endpoint, { ...input, now_ms, services, edition });
  await refuseOverCap(services, price, state);

  // Answers hold addresses.
  const addresses = [services.base_url, services.tiles_url ?? []].flat().join(' ');
  const versionTag = version === null ? null : tagOf(endpoint, input, `${addresses} ${version}`);
  const asked = req.headers['if-none-match'];
  // `*` matches any existing answer, so the answer has to be made first.
  if (versionTag !== null && asked?.trim() !== '*' && namesTag(asked, versionTag, 'weakly')) {
    const headers = headersOf(versionTag, provenanceOfPlan(edition, plan));
    return { body: null, type: JSON_TYPE, headers, tag: versionTag, price, holds: () => false };
  }

  const answer: Answer<unknown> = await endpoint.answer({
    ...input,
    ...{ caller, request_id, now_ms, services, edition, plan },
  });
  check(endpoint, answer);
  const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
  const { type = JSON_TYPE, provenance = provenanceOfPlan(edition, plan, answer.dates) } = answer;
  checkAccept(ctx, [type]);
  const content = () => `${provenance} ${answer.tag === undefined ? text : JSON.stringify(answer.tag)}`;
  const tag = endpoint.cacheable ? (versionTag ?? tagOf(endpoint, input, content())) : null;
  return {
    body: Buffer.from(text),
    type,
    headers: { ...headersOf(tag, provenance), ...answer.headers },
    tag,
    price,
    holds:
      version === null
        ? withinSecond(edition, now_ms)
        : (later, at_ms) => planOf(endpoint, { ...input, now_ms: at_ms, services, edition: later }).version === version,
  };
}

function headersOf(tag: string | null, provenance: MixedProvenance | null): Headers {
  return {
    ...(tag === null ? { 'Cache-Control': 'no-store' } : { ETag: tag, 'Cache-Control': 'private, no-cache' }),
    ...(provenance === null ? {} : { 'X-Data-Source': provenance }),
  };
}

/** Weak: an answer may stay for hours after its second, and would keep the live snapshot of its edition, megabytes, as long. */
function withinSecond(edition: Edition, now_ms: number): Made['holds'] {
  const own = new WeakRef(edition);
  const second = Math.floor(now_ms / 1000);
  const until_ms = performance.now() + CACHED_MS;
  return (now, at_ms) => now === own.deref() && Math.floor(at_ms / 1000) === second && performance.now() < until_ms;
}

/** Charges a read once its answer is made. A disconnected client receives nothing and is not charged. */
async function charge(ctx: Context<CallState>, { records }: Services, price: Price): Promise<void> {
  if (isGone(ctx)) return;
  const outcome = await records.charge(chargeOf(ctx.state, price));
  if (outcome !== 'charged') throw spendCapExceeded(outcome, ctx.state.now_ms);
  ctx.state.credits_charged = price.credits;
}

const zip = promisify(gzip);
/** Compressed bodies by their plain bytes: a body in the cache is compressed once. */
const compressed = new WeakMap<Buffer, Buffer>();

/** The bytes to send: compressed above 1 KB for a caller that takes gzip, whose answer then says so. */
async function coded({ req, res }: Context, plain: Buffer): Promise<Buffer> {
  if (plain.length <= GZIP_FROM_BYTES || !acceptsGzip(req.headers['accept-encoding']?.toString())) return plain;
  const bytes = compressed.get(plain) ?? (await zip(plain, { level: GZIP_LEVEL }));
  compressed.set(plain, bytes);
  res.setHeader('Content-Encoding', 'gzip');
  return bytes;
}

/** The plan of an input, and the version that identifies its answer; null where there is none. */
function planOf(
  endpoint: ReadEndpoint,
  input: PlanInput,
): { readonly plan: ReadPlan; readonly version: string | null } {
  const plan = endpoint.plan?.(input) ?? NO_PLAN;
  const has_version = endpoint.cacheable && plan.version !== undefined;
  return { plan, version: has_version ? `${provenanceOfPlan(input.edition, plan)} ${plan.version}` : null };
}

/** Provenance of everything that an answer uses: its storm dates and the other data of its plan; null when it uses none. */
function provenanceOfPlan(
  edition: Edition,
  { dates, provenance = null }: ReadPlan,
  read: readonly string[] = dates,
): MixedProvenance | null {
  return combineProvenances([edition.provenanceOf(read), provenance].filter((one) => one !== null));
}

/** Entity tag of an answer. Parameters whose default the clock decides are left out. */
function tagOf({ path, clocked }: ReadEndpoint, input: Input, content: string): string {
  const query = Object.entries(input.query ?? {}).filter(([name]) => !clocked.includes(name));
  return entityTag(path, { params: input.params, query: Object.fromEntries(query) }, content);
}

/** Answers calls that write: one transaction commits rows, charge and idempotency record. */
function writer(services: Services, check: CheckReply, telemetry: Telemetry) {
  const { records, secrets } = services;
  const once = idempotency(services, telemetry);
  return async (ctx: Context<CallState>, endpoint: WriteEndpoint, sent: JsonObject | null): Promise<void> => {
    const { state, res } = ctx;
    const { caller, request_id, now_ms } = state;
    const query = parseQuery(state.search);
    const { answer, is_replay } = await once(ctx, endpoint, { query, body: sent }, async (call) => {
      const input = validInput(endpoint, paramsOf(endpoint, ctx), query, sent);
      const price = endpoint.price(input);
      await refuseOverCap(services, price, state);
      const question = { ...input, caller, request_id, now_ms, services };
      const ready = await endpoint.prepare(question);
      const charge = price === null ? null : chargeOf(state, price);
      const work = async (rows: Writer): Promise<StoredAnswer & { readonly text: string }> => {
        const made: Answer<unknown> = await endpoint.write(question, rows, ready);
        check(endpoint, made);
        const text = JSON.stringify(made.body);
        const body = endpoint.answers_secret ? secrets.encrypt(text) : text;
        return { status: endpoint.status, type: made.type ?? JSON_TYPE, body, text };
      };
      const stored = await records.write(caller.business_id, charge, call, now_ms, work);
      if (stored === 'over_cap' || stored === 'over_key_cap') throw spendCapExceeded(stored, now_ms);
      state.credits_charged = charge?.credits ?? null;
      return { ...stored, body: stored.text };
    });
    if (!is_replay) endpoint.committed(services);

    ctx.status = answer.status;
    setHeaders(res, {
      'Content-Type': answer.type,
      'Cache-Control': 'no-store',
      ...dataSource(endpoint, answer),
      ...(is_replay ? { 'Idempotent-Replay': 'true' } : {}),
    });
    const bytes = Buffer.from(answer.body);
    // The length of a compressed answer would show guesses of a secret.
    ctx.body = endpoint.answers_secret ? bytes : await coded(ctx, bytes);
  };
}

function dataSource({ data_source, status: success }: WriteEndpoint, { status, body }: StoredAnswer): Headers {
  if (data_source === null || status !== success) return {};
  const provenance = data_source(JSON.parse(body));
  return provenance === null ? {} : { 'X-Data-Source': provenance };
}
