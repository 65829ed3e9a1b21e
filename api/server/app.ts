import { createServer, type Server } from 'node:http';
import type { BlockList } from 'node:net';
import Koa from 'koa';
import { newId } from '../../schemas/ids.ts';
import { countByAddress } from '../http/call-limits.ts';
import { type Connections, serveInTurn } from '../http/connections.ts';
import { limitServer, SERVER_OPTIONS } from '../http/limits.ts';
import type { Services } from '../services.ts';
import { handleClientErrors } from './client-errors.ts';
import type { Endpoint } from './endpoint.ts';
import { authenticate } from './middleware/authenticate.ts';
import { authorize } from './middleware/authorize.ts';
import { readBody } from './middleware/body.ts';
import { charge, spendCap } from './middleware/charge.ts';
import { checkReply } from './middleware/check-reply.ts';
import { addHeaders, commonHeaders } from './middleware/common-headers.ts';
import { compress } from './middleware/compress.ts';
import { conditionalGet, skipUnchanged } from './middleware/conditional-get.ts';
import { type Clock, createContext } from './middleware/context.ts';
import { errors } from './middleware/errors.ts';
import { guests } from './middleware/guests.ts';
import { headLimits } from './middleware/head-limits.ts';
import { idempotency } from './middleware/idempotency.ts';
import { negotiate } from './middleware/negotiate.ts';
import type { PublicRoute } from './middleware/public-routes.ts';
import { rateLimit } from './middleware/rate-limit.ts';
import { plan, read } from './middleware/read.ts';
import { replyCache, replyFromCache } from './middleware/reply-cache.ts';
import {
  endpointRouter,
  methodNotAllowed,
  notFound,
  ofVariant,
  preflight,
  publicRouter,
  routes,
} from './middleware/routes.ts';
import { simulated } from './middleware/simulated.ts';
import { logAndMeasure, reportInterruptedAnswers, type Telemetry } from './middleware/telemetry.ts';
import { validate } from './middleware/validate.ts';
import { write } from './middleware/write.ts';
import type { CallMiddleware, State } from './state.ts';
import { CURRENT_VARIANT, type Variant } from './variant.ts';

export interface AppOptions {
  readonly endpoints: readonly Endpoint[];
  /** Variants of the interface in addition to the current one. */
  readonly variants?: readonly OtherVariant[];
  readonly publicRoutes: readonly PublicRoute[];
  /** Endpoints that are also answered without a key, uncharged; none when left out. */
  readonly guestEndpoints?: readonly Endpoint[];
  readonly services: Services;
  /** Proxies whose header for the client's address is trusted; null: none. */
  readonly trusted: BlockList | null;
  readonly clock: Clock;
  /** Which replies are checked against their schema: all, and a mismatch is an error, or a sample, and a mismatch is logged. */
  readonly check_replies: 'all' | 'sample';
  readonly telemetry: Telemetry;
}

/** A variant of the interface that is served together with the current one. */
export interface OtherVariant {
  readonly endpoints: readonly Endpoint[];
  readonly variant: Variant;
}

/** Requests per minute shown for an address when a call has no key; it refuses no call. */
const ADDRESS_RATE = 60;

/** The service as an HTTP server that does not listen yet. */
export function createApp(options: AppOptions): Server {
  const server = createServer(SERVER_OPTIONS);
  attachApp(server, options);
  return server;
}

/** Puts the service behind a server made with SERVER_OPTIONS. */
export function attachApp(server: Server, options: AppOptions): Connections {
  const { services, clock, trusted, telemetry } = options;
  // Separate from the windows of keys: calls from many addresses must not evict those.
  const countAddress = countByAddress();
  const addressRate = async (address: string) => (await countAddress(address, ADDRESS_RATE)).headers;
  const common = commonHeaders(services.base_url);
  const publicRoutes = publicRouter(options.publicRoutes);
  const chainOf = chains(options);
  const others = options.variants ?? [];
  const otherVariants = others.map(({ variant }) => variant);
  const variantOf = (path: string) => otherVariants.find(({ hasPath }) => hasPath(path)) ?? CURRENT_VARIANT;
  const served = [{ variant: CURRENT_VARIANT, endpoints: options.endpoints }, ...others].map(
    ({ variant, endpoints }) => ({ variant, router: endpointRouter(endpoints, chainOf, variant.pathsOf) }),
  );

  // The life of a request. The order of these lines is part of the interface.
  const app = new Koa<State, object>();
  app.use(createContext(services, clock, trusted, variantOf));
  app.use(logAndMeasure(telemetry, clock.monotonic_ms));
  app.use(addHeaders(common, addressRate));
  app.use(errors(telemetry));
  app.use(headLimits);
  app.use(preflight([publicRoutes, ...served.map(({ router }) => router)]));
  app.use(routes(publicRoutes));
  app.use(methodNotAllowed);
  app.use(guests(options.guestEndpoints ?? [], chains(options)));
  app.use(authenticate(services, otherVariants));
  app.use(rateLimit(services));
  for (const { variant, router } of served) app.use(ofVariant(variant, routes(router)));
  app.use(methodNotAllowed);
  app.use(notFound);

  app.on('error', reportInterruptedAnswers(telemetry));
  limitServer(server, trusted);
  const connections = serveInTurn(server, app.callback());
  handleClientErrors(
    server,
    {
      request_id: () => newId('request', clock.unix_ms()),
      common,
      addressRate,
      variantOf,
      now: services.now,
    },
    connections,
  );
  return connections;
}

/** Middleware of an endpoint, in order. */
function chains(options: AppOptions): (endpoint: Endpoint) => CallMiddleware[] {
  const { services, clock, telemetry } = options;
  const { records } = services;
  const check = checkReply(options.check_replies, telemetry);
  const cache = replyCache();
  const repeatable = idempotency(services, telemetry);
  return (endpoint) => {
    const reads = endpoint.kind === 'read';
    const cached = reads && endpoint.cacheable && endpoint.method === 'GET';
    return [
      authorize(endpoint),
      negotiate(endpoint),
      ...(reads || !endpoint.answers_secret ? [compress] : []), // the length would show guesses of a secret
      ...(reads && endpoint.cacheable ? [conditionalGet] : []),
      ...(reads ? [charge(records)] : []),
      ...(cached ? [replyFromCache(endpoint, cache, services, clock.monotonic_ms)] : []),
      ...(endpoint.body === null ? [] : [readBody(endpoint)]),
      ...(endpoint.simulate === null ? [] : [simulated(endpoint, endpoint.simulate, check)]),
      ...(!reads && endpoint.idempotent ? [repeatable(endpoint)] : []),
      validate(endpoint),
      ...(reads ? [plan(endpoint, services)] : []),
      spendCap(records),
      ...(reads && endpoint.cacheable ? [skipUnchanged] : []),
      reads ? read(endpoint, services, check) : write(endpoint, services, check),
    ];
  };
}
