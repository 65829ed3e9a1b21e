import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { BlockList } from 'node:net';
import { Readable } from 'node:stream';
import Koa from 'koa';
import { newId } from '../schemas/ids.ts';
import type { Endpoint } from './endpoint.ts';
import { ApiError } from './errors.ts';
import { clientAddress } from './middleware/address.ts';
import { authenticator } from './middleware/authenticate.ts';
import { checkAccept, leavesBody, readBody } from './middleware/body.ts';
import { asApiError, errorAnswer, errorReply } from './middleware/error-body.ts';
import { type Exchange, splitTarget } from './middleware/exchange.ts';
import { executor, storedReply } from './middleware/execute.ts';
import { type IdempotencyKeys, idempotencyKeys } from './middleware/idempotency.ts';
import { checkHead, limitServer, SERVER_OPTIONS } from './middleware/limits.ts';
import { type OpenRoute, openRouteOf } from './middleware/open-route.ts';
import { checkPermission } from './middleware/permission.ts';
import { type Clock, rateLimiter } from './middleware/rate-limit.ts';
import { commonHeaders, pairs, type Reply, send, without } from './middleware/reply.ts';
import { router } from './middleware/router.ts';
import { parseQuery, validate } from './middleware/validate.ts';
import type { Watcher } from './middleware/watcher.ts';
import type { Services } from './services.ts';

export interface AppOptions {
  readonly endpoints: readonly Endpoint[];
  readonly openRoutes: readonly OpenRoute[];
  readonly services: Services;
  /** Proxies whose word on the client's address is believed; null: none. */
  readonly trusted: BlockList | null;
  readonly clock: Clock;
  readonly check_replies: 'all' | 'sample';
  readonly watcher: Watcher;
}

/** Rate of the bucket of an address, shown where there is no key; it refuses nobody. */
const ADDRESS_RATE = 60;
/** Paths that a key seen before still opens when the records are out of reach. */
const SURVIVES: readonly string[] = ['/v1/health'];
const PREFLIGHT = {
  'Access-Control-Allow-Headers':
    'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, If-Range, Range, X-Request-Id',
  'Access-Control-Max-Age': '86400',
};

/** The service as an HTTP server that does not listen yet. */
export function createApp(options: AppOptions): Server {
  const { services, clock, trusted } = options;
  const common = commonHeaders(services.base_url);
  const takeTurn = rateLimiter(clock);
  const addressHeaders = (address: string) => takeTurn(`address ${address}`, ADDRESS_RATE).headers;

  const koa = new Koa();
  const live = life(options, common, takeTurn, addressHeaders);
  koa.use(async (context) => {
    context.respond = false; // answers are whole bytes with precomputed headers
    const exchange = open(context.req, context.res, services.now(), trusted, clock);
    await answer(exchange, live, common, addressHeaders, options);
  });
  const server = createServer(SERVER_OPTIONS, koa.callback());
  limitServer(server, trusted, {
    request_id: () => newId('request', clock.unix_ms()),
    common,
    rateHeaders: addressHeaders,
  });
  return server;
}

function open(
  request: IncomingMessage,
  response: ServerResponse,
  now_ms: number,
  trusted: BlockList | null,
  clock: Clock,
): Exchange {
  return {
    request,
    response,
    request_id: newId('request', clock.unix_ms()),
    method: request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET'),
    ...splitTarget(request.url ?? '/'),
    address: clientAddress(request, trusted),
    now_ms,
    rate_headers: [],
    caller: null,
    claim: null,
    key_in_flight: null,
    charged: false,
    route: null,
  };
}

/** The life of a request up to its reply. The order of the checks is part of the interface. */
function life(
  { endpoints, openRoutes, services, clock, check_replies, watcher }: AppOptions,
  common: readonly string[],
  takeTurn: ReturnType<typeof rateLimiter>,
  addressHeaders: (address: string) => readonly string[],
): (exchange: Exchange) => Promise<Reply> {
  const { records } = services;
  const routes = router(endpoints);
  const authenticate = authenticator(records, clock.monotonic_ms, (path) => SURVIVES.includes(path));
  const runner = executor(services, {
    check_replies,
    monotonic_ms: clock.monotonic_ms,
    reportDeparture: watcher.departed,
  });

  return async (exchange) => {
    const { request, method, path, search } = exchange;
    // 1 the head of the request
    checkHead(request.url ?? '', request.rawHeaders);

    // 2 what may be asked here, and what needs no key
    const openRoute = openRouteOf(openRoutes, path);
    if (openRoute !== null || method === 'OPTIONS') {
      exchange.rate_headers = addressHeaders(exchange.address);
      if (method === 'OPTIONS') return preflight(openRoute?.allow ?? routes.allowed(path) ?? 'OPTIONS');
    }
    if (openRoute !== null) return openReply(openRoute, exchange, common);

    // 3 whose key it is, 4 a suspended business, 5 the rate
    const caller = await authenticate(exchange);
    exchange.caller = caller;
    const turn = takeTurn(caller.rate_bucket, caller.plan.rate_per_minute);
    exchange.rate_headers = turn.headers;
    if (caller.suspended) throw new ApiError('forbidden', 'the business is suspended');
    if (turn.retry_after_s !== null)
      throw new ApiError('rate_limited', `more than ${caller.plan.rate_per_minute} requests in 60 seconds`, {
        'Retry-After': String(turn.retry_after_s),
      });

    // 6 route and method
    const match = routes.match(method, path);
    if (match.kind === 'nothing') throw new ApiError('not_found', 'there is nothing at this path');
    if (match.kind === 'wrong_method')
      throw new ApiError('method_not_allowed', `${request.method} is not served here, expected ${match.allow}`, {
        Allow: match.allow,
      });
    const { endpoint, params } = match;
    exchange.route = endpoint.path;

    // 7 test keys, 8 scope, 9 feature
    checkPermission(caller, endpoint);

    // 10 what the caller takes, and what it sends
    checkAccept(request.headers.accept, endpoint);
    const kept = runner.keptFor(endpoint, exchange);
    if (kept !== null) return runner.again(kept, exchange, caller);
    const body = await readBody(request, endpoint);
    const query = parseQuery(search);

    // 11 the same request again
    const replay = await keys.claim(exchange, endpoint, query, body);
    if (replay !== null) return storedReply(replay, exchange, ['Idempotent-Replay', 'true']);

    // 12 typed values, 13 the spend cap, 14 the answer and its charge
    const input = validate(endpoint, params, query, body);
    return runner.execute(endpoint, exchange, caller, input);
  };
}

/** Sends what a request's life led to: the one place where a failure becomes an answer. */
async function answer(
  exchange: Exchange,
  live: (exchange: Exchange) => Promise<Reply>,
  common: readonly string[],
  addressHeaders: (address: string) => readonly string[],
  { services, clock, watcher }: AppOptions,
): Promise<void> {
  const started_ms = clock.monotonic_ms();
  const { response } = exchange;
  try {
    await send(exchange, common, await live(exchange));
  } catch (thrown) {
    const error = asApiError(thrown);
    if (error.status >= 500 && !response.destroyed) watcher.failed(exchange.request_id, error.cause ?? error);
    if (exchange.rate_headers.length === 0) exchange.rate_headers = addressHeaders(exchange.address);
    const stored = errorAnswer(error, exchange.request_id);
    await settleFailure(services.records, exchange, stored).catch((lost: unknown) =>
      watcher.failed(exchange.request_id, lost),
    );
    if (response.headersSent) response.destroy();
    else await send(exchange, common, errorReply(error, stored, leavesBody(exchange.request)));
  }
  const { caller } = exchange;
  if (caller !== null && !exchange.charged) services.records.countRequest(caller.key_id, exchange.now_ms);
  watcher.answered(exchange, response.statusCode, clock.monotonic_ms() - started_ms);
}

function preflight(allow: string): Reply {
  const headers = { Allow: allow, 'Access-Control-Allow-Methods': allow, ...PREFLIGHT };
  return { status: 204, headers: pairs(headers), body: null };
}

async function openReply(route: OpenRoute, exchange: Exchange, common: readonly string[]): Promise<Reply> {
  exchange.route = route.path;
  if (!route.allow.split(', ').includes(exchange.method))
    throw new ApiError('method_not_allowed', `${exchange.request.method} is not served here, expected ${route.allow}`, {
      Allow: route.allow,
    });
  const { status, headers, body } = await route.answer(exchange);
  const { 'Content-Length': _, ...own } = headers;
  return {
    status,
    headers: pairs(body instanceof Readable || exchange.request.method === 'HEAD' ? headers : own),
    common: without(common, headers),
    body,
  };
}
