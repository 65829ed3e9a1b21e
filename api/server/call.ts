import { isDeepStrictEqual, promisify } from 'node:util';
import { gzip } from 'node:zlib';
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
import { GUEST } from './admit.ts';
import type { Telemetry } from './answer.ts';
import { type JsonObject, readBody } from './body.ts';
import type { Answer, Endpoint, ReadEndpoint, ReadPlan, WriteEndpoint } from './endpoint.ts';
import { idempotency } from './idempotency.ts';
import { type CallHandler, type CallState, type Context, simulatedRate } from './state.ts';
import { type Input, parseQuery, type QueryText, validator } from './validate.ts';

const NO_PLAN: ReadPlan = { dates: [] };
const GZIP_LEVEL = 5;
/** Answers that are repeated, and the length of one: 48 MB together. */
const REPEATED_MAX = 750;
const LONGEST_REPEATED = 64_000;

/** What answers the calls of each endpoint. `check_replies`: a reply that its schema does not describe throws. */
export function callHandlers(
  services: Services,
  check_replies: boolean,
  telemetry: Telemetry,
): (endpoint: Endpoint) => CallHandler {
  const check: CheckReply = check_replies ? checkReply : () => {};
  const read = reader(services, check);
  const write = writer(services, check, telemetry);
  return (endpoint) => {
    const types = acceptable(JSON_TYPE, ...Object.keys(endpoint.other_replies));
    const validate = validator(endpoint);
    return async (ctx) => {
      const is_simulated = simulatedRate(ctx.state.caller, ctx.state.variant) !== null;
      authorize(endpoint, ctx.state, is_simulated);
      checkAccept(ctx, types);
      const body = endpoint.body === null ? null : await readBody(ctx, endpoint);
      const input: InputOf = (query) => validate(ctx.captures, query, body);
      if (is_simulated && endpoint.simulate !== null) answerSimulated(ctx, endpoint, input, check);
      else if (endpoint.kind === 'read') await read(ctx, endpoint, input);
      else await write(ctx, endpoint, body, input);
    };
  };
}

type InputOf = (query: QueryText) => Input;

/** Lets those through whose key and plan open the endpoint: kind of key, then scope, then feature. */
function authorize({ test_key, scope, feature }: Endpoint, { caller }: CallState, is_simulated: boolean): void {
  const { kind, scopes, plan } = caller;
  if (kind === 'test' && !test_key && !is_simulated)
    throw new ApiError('forbidden', 'test keys open /v1/health only, use a live key (hs_live_…)');
  // Writing does not imply reading.
  if (scope !== null && ![scope, '*', `${scope.split(':', 1)}:*`].some((one) => scopes.includes(one)))
    throw new ApiError('insufficient_scope', `the key lacks the scope ${scope}`, { 'X-Required-Scope': scope });
  if (feature !== null && !plan.features.includes(feature))
    throw new ApiError('feature_not_available', `the plan has no ${feature}`);
}

const acceptable = (...types: readonly string[]) => [...types, ...types.map(mediaType)];

/** Throws `not_acceptable` when an Accept header rules out every one of some types. */
function checkAccept(ctx: Context, types: readonly string[]): void {
  const { accept } = ctx.req.headers;
  if (accept === undefined || accept === '' || accept === '*/*') return;
  if (ctx.accepts(...types) === false)
    throw new ApiError('not_acceptable', `Accept rules out ${mediaType(types[0] ?? '')}`);
}

/** Answers from the question and the day alone, for nothing. It writes nothing, so an Idempotency-Key has no effect. */
function answerSimulated(ctx: Context<CallState>, endpoint: Endpoint, input: InputOf, check: CheckReply): void {
  const { request_id, now_ms, search } = ctx.state;
  const body = endpoint.simulate?.({ ...input(parseQuery(search)), request_id, now_ms });
  check(endpoint, { body });
  ctx.status = endpoint.status;
  setHeaders(ctx.res, { 'Content-Type': JSON_TYPE, 'Cache-Control': 'no-store', 'X-Data-Source': 'simulated' });
  ctx.body = JSON.stringify(body);
}

/** Throws for a reply that differs from the schema of its type. */
function checkReply({ method, path, reply, other_replies }: Endpoint, { type, body }: Answer<unknown>): void {
  const schema = type === undefined ? reply : (other_replies[type] ?? reply);
  const { success, data, error } = schema.safeParse(body);
  const fault = error?.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)[0];
  if (!success) throw new Error(`${method} ${path} answers ${fault}`);
  if (JSON.stringify(data) !== JSON.stringify(body) && !isDeepStrictEqual(data, body))
    throw new Error(`${method} ${path} answers with members that its schema does not have`);
}
type CheckReply = typeof checkReply;

/** Refuses a call that its charge would refuse, before any work is done for it. Nothing is reserved. */
async function refuseOverCap({ records }: Services, price: Price | null, { caller, now_ms }: CallState): Promise<void> {
  const exceeded = price === null ? null : await records.wouldExceed(caller, price.credits, now_ms);
  if (exceeded !== null) throw spendCapExceeded(exceeded, now_ms);
}

function chargeOf({ caller, now_ms, request_id }: CallState, { operation, credits, count }: Price): Charge {
  const { business_id, key_id } = caller;
  return { business_id, key_id, operation, credits, count, at_ms: now_ms, request_id };
}

/** Refusal by the spend cap of a business or a key, until the next month. */
function spendCapExceeded(by: OverCap, now_ms: number): ApiError {
  const whose = by === 'over_cap' ? 'the business' : 'this key';
  const now = new Date(now_ms);
  const rest_ms = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1) - now_ms;
  const wait = { 'Retry-After': String(Math.ceil(rest_ms / 1000)) };
  return new ApiError('spend_cap_exceeded', `the call would exceed the month's spend cap of ${whose}`, wait);
}

/** Text of an answer, and the same compressed once a caller has asked for it so. */
interface Body {
  readonly text: string;
  zipped?: Buffer;
}

/** An answer to a read, the same for every caller. */
type Made = Awaited<ReturnType<typeof make>>;

/** Answers calls that read. A question that is repeated in the same second of the data clock is answered from memory, and charged as usual. */
function reader(services: Services, check: CheckReply) {
  let repeated = { edition: NOTHING_PUBLISHED, second: 0, answers: new Map<string, Made>() };
  const secondOf = (now_ms: number) => Math.floor(now_ms / 1000);
  const isNow = (edition: Edition, now_ms: number) =>
    repeated.edition === edition && repeated.second === secondOf(now_ms);
  const remember = (target: string, made: Made, now_ms: number) => {
    const { edition } = made;
    if (!isNow(edition, now_ms)) repeated = { edition, second: secondOf(now_ms), answers: new Map() };
    if (repeated.answers.size < REPEATED_MAX) repeated.answers.set(target, made);
  };

  return async (ctx: Context<CallState>, endpoint: ReadEndpoint, input: InputOf): Promise<void> => {
    const { state, req, res } = ctx;
    const { now_ms } = state;
    const target = endpoint.cacheable && req.method === 'GET' ? `${state.path}?${state.search}` : null;
    const known = target === null ? undefined : repeated.answers.get(target);
    const is_repeated = known !== undefined && isNow(services.catalog.edition(), now_ms);
    if (is_repeated) checkAccept(ctx, acceptable(known.type));
    const made = is_repeated ? known : await make(ctx, endpoint, input, services, check);
    const { price, tag } = made;
    const text = made.body?.text ?? '';
    if (target !== null && !is_repeated && text !== '' && text.length <= LONGEST_REPEATED)
      remember(target, made, now_ms);

    const is_known = tag !== null && namesTag(req.headers['if-none-match'], tag, 'weakly');
    const body = is_known || made.body === null ? null : await coded(ctx, made.body);
    // Koa sends after the handler has resolved, so no byte leaves before the charge.
    if (price !== null && state.caller !== GUEST) await charge(ctx, services, price);
    setHeaders(res, made.headers);
    ctx.status = body === null ? 304 : 200;
    if (body === null) return;
    res.setHeader('Content-Type', made.type);
    ctx.body = body;
  };
}

/**
 * Plans which data the answer will use, and makes it. `body` is null where the plan shows that the caller has it already, `tag` where
 * answers have none.
 */
async function make(
  ctx: Context<CallState>,
  endpoint: ReadEndpoint,
  inputOf: InputOf,
  services: Services,
  check: CheckReply,
) {
  const { state, req } = ctx;
  const { caller, request_id, now_ms, search } = state;
  const input = inputOf(parseQuery(search));
  const price = endpoint.price(input);
  const edition = endpoint.cacheable || endpoint.plan !== null ? services.catalog.edition() : NOTHING_PUBLISHED;
  const plan = endpoint.plan?.({ ...input, now_ms, services, edition }) ?? NO_PLAN;
  await refuseOverCap(services, price, state);

  const planned = provenanceOf(edition, plan, plan.dates);
  const has_version = endpoint.cacheable && plan.version !== undefined;
  // Answers hold addresses.
  const version = () => `${services.base_url} ${services.tiles_url} ${planned} ${plan.version}`;
  const versionTag = has_version ? tagOf(endpoint, input, version()) : null;
  const asked = req.headers['if-none-match'];
  // `*` matches any existing answer, so the answer has to be made first.
  if (versionTag !== null && asked?.trim() !== '*' && namesTag(asked, versionTag, 'weakly'))
    return { body: null, type: JSON_TYPE, headers: headersOf(versionTag, planned), tag: versionTag, price, edition };

  const answer: Answer<unknown> = await endpoint.answer({
    ...input,
    ...{ caller, request_id, now_ms, services, edition, plan },
  });
  check(endpoint, answer);
  const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
  const { type = JSON_TYPE, dates, provenance = dates ? provenanceOf(edition, plan, dates) : planned } = answer;
  checkAccept(ctx, acceptable(type));
  const content = () => `${provenance} ${answer.tag === undefined ? text : JSON.stringify(answer.tag)}`;
  const tag = endpoint.cacheable ? (versionTag ?? tagOf(endpoint, input, content())) : null;
  const body: Body = { text };
  return { body, type, headers: { ...headersOf(tag, provenance), ...answer.headers }, tag, price, edition };
}

function headersOf(tag: string | null, provenance: MixedProvenance | null): Headers {
  return {
    ...(tag === null ? { 'Cache-Control': 'no-store' } : { ETag: tag, 'Cache-Control': 'private, no-cache' }),
    ...(provenance === null ? {} : { 'X-Data-Source': provenance }),
  };
}

/** Charges a read once its answer is made. A disconnected client receives nothing and is not charged. */
async function charge(ctx: Context<CallState>, { records }: Services, price: Price): Promise<void> {
  if (isGone(ctx)) return;
  const outcome = await records.charge(chargeOf(ctx.state, price));
  if (outcome !== 'charged') throw spendCapExceeded(outcome, ctx.state.now_ms);
  ctx.state.credits_charged = price.credits;
}

const zip = promisify(gzip);

/** What to send: compressed above 1 KB for a caller that takes gzip, whose answer then says so. */
async function coded({ req, res }: Context, body: Body): Promise<string | Buffer> {
  const { text } = body;
  if (!acceptsGzip(req.headers['accept-encoding']?.toString()) || Buffer.byteLength(text) <= GZIP_FROM_BYTES)
    return text;
  body.zipped ??= await zip(text, { level: GZIP_LEVEL });
  res.setHeader('Content-Encoding', 'gzip');
  return body.zipped;
}

/** Provenance of everything that an answer uses: its storm dates and the other data of its plan; null when it uses none. */
function provenanceOf(edition: Edition, { provenance = null }: ReadPlan, dates: readonly string[]) {
  return combineProvenances([edition.provenanceOf(dates), provenance].filter((one) => one !== null));
}

/** Entity tag of an answer. Parameters whose default the clock decides are left out. */
function tagOf({ path, clocked }: ReadEndpoint, input: Input, content: string): string {
  const query = { ...(input.query as object | null) };
  for (const name of clocked) Reflect.deleteProperty(query, name);
  return entityTag(path, { params: input.params, query }, content);
}

/** Answers calls that write: one transaction commits rows, charge and idempotency record. */
function writer(services: Services, check: CheckReply, telemetry: Telemetry) {
  const { records, cipher } = services;
  const once = idempotency(services, telemetry);
  return async (
    ctx: Context<CallState>,
    endpoint: WriteEndpoint,
    body: JsonObject | null,
    inputOf: InputOf,
  ): Promise<void> => {
    const { state, res } = ctx;
    const { caller, request_id, now_ms } = state;
    const query = parseQuery(state.search);
    const request = { query: { ...query, ...Object.fromEntries(Object.entries(ctx.captures ?? [])) }, body };
    const { answer, is_replay } = await once(ctx, endpoint, request, async (call) => {
      const input = inputOf(query);
      const price = endpoint.price(input);
      await refuseOverCap(services, price, state);
      const question = { ...input, caller, request_id, now_ms, services };
      const ready = await endpoint.prepare(question);
      const charge = price === null ? null : chargeOf(state, price);
      const work = async (rows: Writer): Promise<StoredAnswer & { readonly text: string }> => {
        const made: Answer<unknown> = await endpoint.write(question, rows, ready);
        check(endpoint, made);
        const text = JSON.stringify(made.body);
        const body = endpoint.answers_secret ? cipher.encrypt(text) : text;
        return { status: endpoint.status, type: made.type ?? JSON_TYPE, body, text };
      };
      const stored = await records.write(caller.business_id, charge, call, now_ms, work);
      if (stored === 'over_cap' || stored === 'over_key_cap') throw spendCapExceeded(stored, now_ms);
      state.credits_charged = charge?.credits ?? null;
      return { ...stored, body: stored.text };
    });
    if (!is_replay) endpoint.committed(services);

    const { status, type } = answer;
    const provenance = status === endpoint.status ? endpoint.data_source?.(JSON.parse(answer.body)) : null;
    ctx.status = status;
    setHeaders(res, { 'Content-Type': type, ...headersOf(null, provenance ?? null) });
    if (is_replay) res.setHeader('Idempotent-Replay', 'true');
    // The length of a compressed answer would show guesses of a secret.
    ctx.body = endpoint.answers_secret ? answer.body : await coded(ctx, { text: answer.body });
  };
}
