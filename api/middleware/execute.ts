import { isDeepStrictEqual, promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Edition, NOTHING_PUBLISHED } from '../catalog.ts';
import type { Answer, Asked, Endpoint, Price } from '../endpoint.ts';
import { ApiError } from '../errors.ts';
import type { Caller, StoredAnswer } from '../records/records.ts';
import type { Services } from '../services.ts';
import { mediaType } from './body.ts';
import type { Exchange } from './exchange.ts';
import { entityTag, matches } from './freshness.ts';
import { type KeptAnswers, keptAnswers, type Prepared } from './kept-answers.ts';
import { chargeOf, checkSpendCap, spendCapExceeded } from './metering.ts';
import { acceptsGzip, admits } from './negotiate.ts';
import { JSON_TYPE, pairs, type Reply } from './reply.ts';
import type { Input } from './validate.ts';

/** Smallest answer that is worth compressing, bytes. */
const GZIP_FROM = 1024;
const GZIP_LEVEL = 5;
/** How long an answer that no version stands for is kept at most: within a second `age_seconds` stays the same. */
const KEPT_MS = 1000;
/** One reply in so many is checked against its schema where not all are. */
const SAMPLE = 256;

const compress = promisify(gzip);

type AnyRead = Extract<Endpoint, { kind: 'read' }>;
type AnyWrite = Extract<Endpoint, { kind: 'write' }>;
type AnyAsked = Asked<unknown, unknown, unknown>;

export interface ExecutorOptions {
  /** Every reply is checked against its schema and a departure is an error; else a sample is, and departures are reported. */
  readonly check_replies: 'all' | 'sample';
  readonly monotonic_ms: () => number;
  readonly reportDeparture: (route: string, faults: string) => void;
}

export interface Executor {
  /** An answer that is kept for this target, or null. */
  readonly keptFor: (endpoint: Endpoint, exchange: Exchange) => Prepared | null;
  /** Charges a kept answer and makes the reply. */
  readonly again: (prepared: Prepared, exchange: Exchange, caller: Caller) => Promise<Reply>;
  /** Answers and charges. */
  readonly execute: (endpoint: Endpoint, exchange: Exchange, caller: Caller, input: Input) => Promise<Reply>;
}

/** Runs endpoints: looks at the balance, makes the answer or takes a kept one, charges, and only then lets it go. */
export function executor(services: Services, options: ExecutorOptions): Executor {
  const kept: KeptAnswers = keptAnswers();
  const { records, base_url } = services;
  let checks = 0;

  const charge = async (price: Price | null, exchange: Exchange, caller: Caller): Promise<void> => {
    // A client that is gone has received nothing, and pays nothing.
    if (price === null || exchange.response.destroyed) return;
    const outcome = await records.charge(chargeOf(caller, price, exchange.now_ms));
    if (outcome === 'over_cap') throw spendCapExceeded(exchange.now_ms);
    exchange.charged = true;
  };

  const checkReply = (endpoint: Endpoint, answer: Answer<unknown>): void => {
    checks += 1;
    if (options.check_replies === 'sample' && checks % SAMPLE !== 1) return;
    const faults = departures(endpoint, answer);
    if (faults === null) return;
    if (options.check_replies === 'all') throw new Error(`${endpoint.method} ${endpoint.path} answers ${faults}`);
    options.reportDeparture(`${endpoint.method} ${endpoint.path}`, faults);
  };

  const again = async (prepared: Prepared, exchange: Exchange, caller: Caller): Promise<Reply> => {
    const { accept, 'accept-encoding': acceptEncoding, 'if-none-match': ifNoneMatch } = exchange.request.headers;
    if (!admits(accept, mediaType(prepared.type)))
      throw new ApiError('not_acceptable', `Accept rules out ${mediaType(prepared.type)}`);
    await charge(prepared.price, exchange, caller);
    if (prepared.tag !== null && matches(ifNoneMatch, prepared.tag)) return notModified(prepared.tag, prepared.headers);
    const zip = prepared.bytes.length > GZIP_FROM && acceptsGzip(acceptEncoding);
    if (zip) prepared.gzipped ??= await compress(prepared.bytes, { level: GZIP_LEVEL });
    return {
      status: 200,
      headers: [
        'Content-Type',
        prepared.type,
        'Cache-Control',
        prepared.tag === null ? 'no-store' : 'private, no-cache',
        ...(prepared.tag === null ? [] : ['ETag', prepared.tag]),
        ...(zip ? ['Content-Encoding', 'gzip'] : []),
        ...prepared.headers,
      ],
      body: zip ? prepared.gzipped : prepared.bytes,
    };
  };

  const prepare = async (endpoint: AnyRead, asked: AnyAsked, input: Input, tag: string | null): Promise<Prepared> => {
    const answer: Answer<unknown> = await endpoint.answer(asked);
    checkReply(endpoint, answer);
    const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
    const source = asked.edition.sourceOf(answer.dates ?? asked.dates);
    const content = `${source} ${answer.tag === undefined ? text : JSON.stringify(answer.tag)}`;
    return {
      price: endpoint.price(asked),
      tag: endpoint.cacheable ? (tag ?? entityTag(endpoint.path, taggedInput(endpoint, input), content)) : null,
      type: answer.type ?? JSON_TYPE,
      headers: [...sourceHeader(source), ...pairs(answer.headers ?? {})],
      bytes: Buffer.from(text),
      gzipped: null,
    };
  };

  const read = async (endpoint: AnyRead, exchange: Exchange, caller: Caller, input: Input): Promise<Reply> => {
    // First of all: where there is no edition nothing is answered, and nothing charged.
    const asked = askedOf(endpoint, input, exchange.now_ms, caller, services);
    const price = endpoint.price(asked);
    await checkSpendCap(records, caller, price, exchange.now_ms);
    const version = versionOf(endpoint, asked);
    const tag =
      version === null ? null : entityTag(endpoint.path, taggedInput(endpoint, input), `${base_url} ${version}`);
    const asksFor = exchange.request.headers['if-none-match'];
    if (tag !== null && asksFor?.trim() !== '*' && matches(asksFor, tag)) {
      await charge(price, exchange, caller);
      return notModified(tag, sourceHeader(asked.edition.sourceOf(asked.dates)));
    }
    const prepared = await prepare(endpoint, asked, input, tag);
    if (endpoint.cacheable && endpoint.method === 'GET') {
      const second = Math.floor(exchange.now_ms / 1000);
      const until_ms = options.monotonic_ms() + KEPT_MS;
      kept.keep(
        targetOf(exchange),
        prepared,
        version === null
          ? () =>
              Math.floor(services.now() / 1000) === second &&
              options.monotonic_ms() < until_ms &&
              services.catalog.edition() === asked.edition
          : () =>
              services.catalog.failure() === null &&
              versionOf(endpoint, askedOf(endpoint, input, services.now(), caller, services)) === version,
      );
    }
    return again(prepared, exchange, caller);
  };

  const write = async (endpoint: AnyWrite, exchange: Exchange, caller: Caller, input: Input): Promise<Reply> => {
    const { now_ms } = exchange;
    const asked = askedOf(endpoint, input, now_ms, caller, services);
    const price = endpoint.price(asked);
    await checkSpendCap(records, caller, price, now_ms);
    const ready = await endpoint.prepare(asked as never);
    const work = async (writer: Parameters<typeof endpoint.write>[1]): Promise<StoredAnswer> => {
      const answer: Answer<unknown> = await endpoint.write(asked as never, writer, ready);
      checkReply(endpoint, answer);
      return { status: endpoint.status, type: answer.type ?? JSON_TYPE, body: JSON.stringify(answer.body) };
    };
    const charged = price === null ? null : chargeOf(caller, price, now_ms);
    const stored = await records.write(caller.business_id, charged, exchange.claim, now_ms, work);
    if (stored === 'over_cap') throw spendCapExceeded(now_ms);
    exchange.claim = null;
    exchange.charged = price !== null;
    return storedReply(stored, exchange);
  };

  return {
    keptFor: (endpoint, exchange) =>
      endpoint.kind === 'read' && endpoint.cacheable ? kept.find(targetOf(exchange)) : null,
    again,
    execute: (endpoint, exchange, caller, input) =>
      endpoint.kind === 'read' ? read(endpoint, exchange, caller, input) : write(endpoint, exchange, caller, input),
  };
}

/** An answer that was stored, as it goes out: first or again. */
export async function storedReply(
  stored: StoredAnswer,
  exchange: Exchange,
  more: readonly string[] = [],
): Promise<Reply> {
  const bytes = Buffer.from(stored.body);
  const zip = bytes.length > GZIP_FROM && acceptsGzip(exchange.request.headers['accept-encoding']);
  return {
    status: stored.status,
    headers: [
      'Content-Type',
      stored.type,
      'Cache-Control',
      'no-store',
      ...(zip ? ['Content-Encoding', 'gzip'] : []),
      ...more,
    ],
    body: zip ? await compress(bytes, { level: GZIP_LEVEL }) : bytes,
  };
}

function notModified(tag: string, headers: readonly string[]): Reply {
  return { status: 304, headers: ['ETag', tag, 'Cache-Control', 'private, no-cache', ...headers], body: null };
}

/** The question with what it will be answered from: one edition, and the storm dates that are read of it. */
function askedOf(endpoint: Endpoint, input: Input, now_ms: number, caller: Caller, services: Services): AnyAsked {
  const readsData = endpoint.kind === 'read' && (endpoint.cacheable || endpoint.dates !== null);
  const edition = readsData ? services.catalog.edition() : NOTHING_PUBLISHED;
  const { params, query, body } = input;
  const asked = { params, query, body, caller, now_ms, services, edition };
  return { ...asked, dates: endpoint.kind === 'read' ? (endpoint.dates?.(asked) ?? []) : [] };
}

/** What stands for an answer that follows from the data and the question alone; null for any other. */
function versionOf(endpoint: AnyRead, asked: AnyAsked): string | null {
  const version = endpoint.cacheable ? (endpoint.version?.(asked) ?? null) : null;
  return version === null ? null : `${asked.edition.sourceOf(asked.dates)} ${version}`;
}

/** What of a question goes into its tag. */
function taggedInput({ clocked }: AnyRead, input: Input): Input {
  const query = Object.entries(input.query ?? {}).filter(([name]) => !clocked.includes(name));
  return { ...input, query: Object.fromEntries(query) };
}

function targetOf({ path, search }: Exchange): string {
  return search === '' ? path : `${path}?${search}`;
}

/** Answers made of published data say in a header whether the dates they read were observed. */
function sourceHeader(source: ReturnType<Edition['sourceOf']>): string[] {
  return source === null ? [] : ['X-Data-Source', source];
}

/** In what a reply departs from the schema of its type, or null. */
function departures(endpoint: Endpoint, answer: Answer<unknown>): string | null {
  const schema = answer.type === undefined ? endpoint.reply : (endpoint.other_replies[answer.type] ?? endpoint.reply);
  const parsed = schema.safeParse(answer.body);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return `${issue?.path.join('.')}: ${issue?.message}`;
  }
  const whole =
    JSON.stringify(parsed.data) === JSON.stringify(answer.body) || isDeepStrictEqual(parsed.data, answer.body);
  return whole ? null : 'with members that its schema does not have';
}
