import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { combineProvenances, type MixedProvenance } from '../../schemas/provenance.ts';
import type { Price } from '../billing/ledger.ts';
import { entityTag, namesTag } from '../http/entity-tag.ts';
import { acceptsGzip, GZIP_FROM_BYTES, type Headers, isGone, JSON_TYPE, setHeaders } from '../http/reply.ts';
import { parseQuery } from '../http/target.ts';
import { type Edition, NOTHING_PUBLISHED } from '../published/catalog.ts';
import type { Services } from '../services.ts';
import { type JsonObject, readBody } from './body.ts';
import {
  answerSimulated,
  authorize,
  chargeOf,
  checkAccept,
  refuseOverCap,
  spendCapExceeded,
  type Tools,
  typesOf,
} from './call.ts';
import type { Answer, PlanInput, ReadEndpoint, ReadPlan } from './endpoint.ts';
import type { CallHandler, CallState, Context } from './state.ts';
import { type Input, paramsOf, validInput } from './validate.ts';

const NO_PLAN: ReadPlan = { dates: [] };
const GZIP_LEVEL = 5;
const REPLIES_MAX = 5000;
/** All cached bodies together. */
const TOTAL_BYTES_MAX = 48_000_000;
/** One body; a larger answer is made again each time. */
const REPLY_BYTES_MAX = 8_000_000;
/** Longest time that an answer without a version is cached: within a second `age_seconds` stays the same. */
const CACHED_MS = 1000;

/** An answer, the same for every caller. */
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

/** Answers by path and query, within bounds of number and bytes. */
type ReplyCache = LRUCache<string, Made>;

export function replyCache(): ReplyCache {
  return new LRUCache({
    max: REPLIES_MAX,
    maxSize: TOTAL_BYTES_MAX,
    maxEntrySize: REPLY_BYTES_MAX,
    sizeCalculation: ({ body }) => Math.max(1, body?.length ?? 0), // the library refuses a size of 0
  });
}

/** Answers the calls of an endpoint that reads. A repeated question is answered from memory, and charged as usual. */
export function readHandler(endpoint: ReadEndpoint, tools: Tools, cache: ReplyCache): CallHandler {
  const { services, check } = tools;
  const types = typesOf(endpoint);
  return async (ctx) => {
    const { state, req, res } = ctx;
    authorize(endpoint, state);
    checkAccept(ctx, types);
    const requestBody = endpoint.body === null ? null : await readBody(ctx, endpoint);
    if (answerSimulated(ctx, endpoint, requestBody, check)) return;

    const target = endpoint.cacheable && req.method === 'GET' ? `${state.path}?${state.search}` : null;
    const cached = target === null ? undefined : cache.get(target);
    const is_repeated = cached?.holds(services.catalog.edition(), state.now_ms) === true;
    if (is_repeated) checkAccept(ctx, [cached.type]);
    const made = is_repeated ? cached : await make(ctx, endpoint, tools, requestBody);
    if (target !== null && !is_repeated && made.body !== null) cache.set(target, made);

    const is_known = made.tag !== null && namesTag(req.headers['if-none-match'], made.tag, 'weakly');
    const body = is_known || made.body === null ? null : await coded(ctx, made.body);
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
  { services, check, monotonic_ms }: Tools,
  requestBody: JsonObject | null,
): Promise<Made> {
  const { state, req } = ctx;
  const { caller, request_id, now_ms, search } = state;
  const input = validInput(endpoint, paramsOf(endpoint, ctx), parseQuery(search), requestBody);
  const price = endpoint.price(input);
  const edition = endpoint.cacheable || endpoint.plan !== null ? services.catalog.edition() : NOTHING_PUBLISHED;
  const { plan, version } = planOf(endpoint, { ...input, now_ms, services, edition });
  await refuseOverCap(services.records, price, state);

  // Answers hold addresses.
  const addresses = [services.base_url, services.tiles_url].filter((one) => one !== null).join(' ');
  const versionTag = version === null ? null : tagOf(endpoint, input, `${addresses} ${version}`);
  const asked = req.headers['if-none-match'];
  // `*` matches any existing answer, so the answer has to be made first.
  if (versionTag !== null && asked?.trim() !== '*' && namesTag(asked, versionTag, 'weakly'))
    return {
      body: null,
      type: JSON_TYPE,
      headers: headersOf(versionTag, provenanceOfPlan(edition, plan)),
      tag: versionTag,
      price,
      holds: () => false,
    };

  const question = { ...input, caller, request_id, now_ms, services, edition, plan };
  const answer: Answer<unknown> = await endpoint.answer(question);
  check(endpoint, answer);
  const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
  const provenance =
    answer.provenance === undefined ? provenanceOfPlan(edition, plan, answer.dates) : answer.provenance;
  const type = answer.type ?? JSON_TYPE;
  checkAccept(ctx, [type]);
  const content = () => `${provenance} ${answer.tag === undefined ? text : JSON.stringify(answer.tag)}`;
  const tag = endpoint.cacheable ? (versionTag ?? tagOf(endpoint, input, content())) : null;
  const headers = { ...headersOf(tag, provenance), ...answer.headers };
  const holds =
    version === null ? withinSecond(edition, now_ms, monotonic_ms) : sameVersion(endpoint, services, input, version);
  return { body: Buffer.from(text), type, headers, tag, price, holds };
}

function headersOf(tag: string | null, provenance: MixedProvenance | null): Headers {
  return {
    ...(tag === null ? { 'Cache-Control': 'no-store' } : { ETag: tag, 'Cache-Control': 'private, no-cache' }),
    ...(provenance === null ? {} : { 'X-Data-Source': provenance }),
  };
}

/** Weak: an answer may stay for hours after its second, and would keep the live snapshot of its edition, megabytes, as long. */
function withinSecond(edition: Edition, now_ms: number, monotonic_ms: () => number): Made['holds'] {
  const own = new WeakRef(edition);
  const second = Math.floor(now_ms / 1000);
  const until_ms = monotonic_ms() + CACHED_MS;
  return (now, at_ms) => now === own.deref() && Math.floor(at_ms / 1000) === second && monotonic_ms() < until_ms;
}

function sameVersion(endpoint: ReadEndpoint, services: Services, input: Input, version: string): Made['holds'] {
  return (edition, now_ms) => planOf(endpoint, { ...input, now_ms, services, edition }).version === version;
}

/** Charges a read once its answer is made: Koa sends after the handler has resolved, so no byte leaves before the charge. */
async function charge(ctx: Context<CallState>, { records }: Services, price: Price): Promise<void> {
  // A disconnected client receives nothing and is not charged.
  if (isGone(ctx)) return;
  const outcome = await records.charge(chargeOf(ctx.state, price));
  if (outcome !== 'charged') throw spendCapExceeded(outcome, ctx.state.now_ms);
  ctx.state.credits_charged = price.credits;
}

const zip = promisify(gzip);
/** Compressed bodies by their plain bytes: a body in the cache is compressed once. */
const compressed = new WeakMap<Buffer, Buffer>();

/** The bytes to send: compressed above 1 KB for a caller that takes gzip, whose answer then says so. */
export async function coded({ req, res }: Context, plain: Buffer): Promise<Buffer> {
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
  const version = endpoint.cacheable ? (plan.version ?? null) : null;
  return { plan, version: version === null ? null : `${provenanceOfPlan(input.edition, plan)} ${version}` };
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
