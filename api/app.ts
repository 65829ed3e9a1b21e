import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { BlockList } from 'node:net';
import Koa from 'koa';
import { newId } from '../schemas/ids.ts';
import type { Endpoint } from './endpoint.ts';
import { ApiError } from './errors.ts';
import { clientAddress } from './middleware/address.ts';
import { authenticator } from './middleware/authenticate.ts';
import { checkAccept, leavesBody, readBody } from './middleware/body.ts';
import { type Connections, serveInTurn } from './middleware/connections.ts';
import { asApiError, errorAnswer, errorReply } from './middleware/error-body.ts';
import { type Exchange, splitTarget } from './middleware/exchange.ts';
import { type Executor, executor, storedReply } from './middleware/execute.ts';
import { checkHead } from './middleware/head.ts';
import { type IdempotencyKeys, idempotencyKeys } from './middleware/idempotency.ts';
import { limitServer, SERVER_OPTIONS } from './middleware/limits.ts';
import { type OpenRoute, openReply, openRouteOf, preflight } from './middleware/open-route.ts';
import { checkPermission } from './middleware/permission.ts';
import { ADDRESS_WINDOWS, type Clock, type RateLimiter, rateLimited, rateLimiter } from './middleware/rate-limit.ts';
import { answerStrays } from './middleware/raw-answers.ts';
import { commonHeaders, type HeaderPairs, type Reply, send } from './middleware/reply.ts';
import { nowhere, type Router, router } from './middleware/router.ts';
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

/** What the steps of a request's life are made of; one of each for all requests. */
interface Steps {
  readonly routes: Router;
  readonly authenticate: ReturnType<typeof authenticator>;
  readonly admit: RateLimiter;
  readonly keys: IdempotencyKeys;
  readonly runner: Executor;
  /** Headers of every answer. */
  readonly common: HeaderPairs;
  /** Headers of the rate where there is no key. */
  readonly addressRate: (address: string) => HeaderPairs;
}

/** The service as an HTTP server that does not listen yet. */
export function createApp(options: AppOptions): Server {
  const server = createServer(SERVER_OPTIONS);
  attachApp(server, options);
  return server;
}

/** Puts the service behind a server made with SERVER_OPTIONS. */
export function attachApp(server: Server, options: AppOptions): Connections {
  const { clock, trusted } = options;
  const steps = prepareSteps(options);
  const koa = new Koa();
  koa.use(async (context) => {
    context.respond = false; // answers are whole bytes under headers made once
    await answer(arrive(context.req, context.res, options), steps, options);
  });
  limitServer(server, trusted);
  const handle = koa.callback();
  const connections = serveInTurn(server, (request, response) => void handle(request, response));
  answerStrays(server, {
    request_id: () => newId('request', clock.unix_ms()),
    common: steps.common,
    rateHeaders: steps.addressRate,
  });
  return connections;
}

function prepareSteps({ endpoints, services, clock, check_replies, watcher }: AppOptions): Steps {
  const { records, base_url } = services;
  // Apart from those of keys: whoever has many addresses must not push windows of keys out of memory.
  const admitAddress = rateLimiter(clock, ADDRESS_WINDOWS);
  return {
    routes: router(endpoints),
    authenticate: authenticator(records, clock.monotonic_ms, (path) => SURVIVES.includes(path)),
    admit: rateLimiter(clock),
    keys: idempotencyKeys(records),
    runner: executor(services, {
      check_replies,
      monotonic_ms: clock.monotonic_ms,
      reportDeparture: watcher.departed,
    }),
    common: commonHeaders(base_url),
    addressRate: (address) => admitAddress(address, ADDRESS_RATE).headers,
  };
}

function arrive(
  request: IncomingMessage,
  response: ServerResponse,
  { services, clock, trusted }: AppOptions,
): Exchange {
  return {
    request,
    response,
    request_id: newId('request', clock.unix_ms()),
    method: request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET'),
    ...splitTarget(request.url ?? '/'),
    address: clientAddress(request, trusted),
    now_ms: services.now(),
    rate_headers: [],
    caller: null,
    claim: null,
    key_in_flight: null,
    charged: false,
    route: null,
  };
}

/** The life of a request up to its reply. The order of the checks is part of the interface. */
async function live(exchange: Exchange, steps: Steps, openRoutes: readonly OpenRoute[]): Promise<Reply> {
  const { request, method, path, search } = exchange;
  // 1 the head of the request
  checkHead(request);

  // 2 what may be asked here, and what needs no key
  const openRoute = openRouteOf(openRoutes, path);
  if (method === 'OPTIONS') return preflight(openRoute?.allow ?? steps.routes.allowed(path));
  if (openRoute !== null) return openReply(openRoute, exchange, steps.common);

  // 3 whose key it is, 4 a suspended business, 5 the rate
  const caller = await steps.authenticate(exchange);
  const admission = steps.admit(caller.rate_bucket, caller.plan.rate_per_minute);
  exchange.caller = caller;
  exchange.rate_headers = admission.headers;
  if (caller.suspended) throw new ApiError('forbidden', 'the business is suspended');
  if (!admission.admitted) throw rateLimited(caller.plan.rate_per_minute, admission);

  // 6 route and method
  const match = steps.routes.match(method, path);
  if (match.kind !== 'found') throw nowhere(match, request.method ?? '');
  const { endpoint, params } = match;
  exchange.route = endpoint.path;

  // 7 test keys, 8 scope, 9 feature
  checkPermission(caller, endpoint);

  // 10 what the caller takes, and what it sends; an answer that is kept needs nothing more
  checkAccept(request.headers.accept, endpoint);
  const kept = steps.runner.keptFor(endpoint, exchange);
  if (kept !== null) return steps.runner.again(kept, exchange, caller);
  const body = await readBody(exchange, endpoint);
  const query = parseQuery(search);

  // 11 the same request again
  const replay = await steps.keys.claim(exchange, endpoint, query, body);
  if (replay !== null) return storedReply(replay, exchange, ['Idempotent-Replay', 'true']);

  // 12 typed values, 13 the spend cap, 14 the answer and its charge
  const input = validate(endpoint, params, query, body);
  return steps.runner.execute(endpoint, exchange, caller, input);
}

/** Sends what a request's life led to: the one place where a failure becomes an answer. */
async function answer(exchange: Exchange, steps: Steps, options: AppOptions): Promise<void> {
  const { services, clock, watcher } = options;
  const started_ms = clock.monotonic_ms();
  try {
    const reply = await live(exchange, steps, options.openRoutes);
    await send(withRate(exchange, steps), steps.common, reply);
  } catch (thrown) {
    await fail(withRate(exchange, steps), asApiError(thrown), steps, watcher);
  } finally {
    steps.keys.finish(exchange);
  }
  const { caller, charged, now_ms } = exchange;
  if (caller !== null && !charged) services.records.countRequest(caller.key_id, now_ms);
  watcher.answered(exchange, exchange.response.statusCode, clock.monotonic_ms() - started_ms);
}

async function fail(exchange: Exchange, error: ApiError, { keys, common }: Steps, watcher: Watcher): Promise<void> {
  const { request, response, request_id } = exchange;
  if (error.status >= 500 && !response.destroyed) watcher.failed(request_id, error.cause ?? error);
  const stored = errorAnswer(error, request_id);
  // A claim that cannot be settled now runs out by itself.
  await keys.settleFailure(exchange, stored).catch((lost: unknown) => watcher.failed(request_id, lost));
  if (response.headersSent) response.destroy();
  else await send(exchange, common, errorReply(error, stored, leavesBody(request)));
}

/** Answers to requests whose key is not known show the window of their address. */
function withRate(exchange: Exchange, { addressRate }: Steps): Exchange {
  if (exchange.rate_headers.length === 0) exchange.rate_headers = addressRate(exchange.address);
  return exchange;
}
