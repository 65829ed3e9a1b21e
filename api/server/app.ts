import type { BlockList } from 'node:net';
import Koa from 'koa';
import { newId } from '../../schemas/ids.ts';
import { clientAddress } from '../http/address.ts';
import { countByAddress } from '../http/call-limits.ts';
import { type Headers, setHeaders } from '../http/reply.ts';
import { readTarget } from '../http/target.ts';
import type { Services } from '../services.ts';
import { awaitsContinue } from './body.ts';
import { checkReply } from './call.ts';
import type { Endpoint } from './endpoint.ts';
import { headLimits } from './http-server.ts';
import { idempotency } from './idempotency.ts';
import { authenticate } from './middleware/authenticate.ts';
import { errors } from './middleware/errors.ts';
import { guests } from './middleware/guests.ts';
import { rateLimit } from './middleware/rate-limit.ts';
import { logAndMeasure, reportInterruptedAnswers, type Telemetry } from './middleware/telemetry.ts';
import type { PublicRoute } from './public.ts';
import { readHandler, replyCache } from './read.ts';
import { endpointRouter, notFound, preflight, publicRouter, routes } from './router.ts';
import type { CallHandler, Middleware, State } from './state.ts';
import { CURRENT_VARIANT, type Variant } from './variant.ts';
import { writeHandler } from './write.ts';

/** Clocks of requests, milliseconds. */
interface Clock {
  readonly monotonic_ms: () => number;
  readonly unix_ms: () => number;
}

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

/** The service as a Koa application. The order of its steps, and of those of an endpoint's handler, is part of the interface. */
export function createApp(options: AppOptions): Koa<State, object> {
  const { services, clock, trusted, telemetry } = options;
  // Separate from the windows of keys: calls from many addresses must not evict those.
  const countAddress = countByAddress();
  const addressRate = async (address: string) => (await countAddress(address, ADDRESS_RATE)).headers;
  const others = options.variants ?? [];
  const otherVariants = others.map(({ variant }) => variant);
  const publicRoutes = publicRouter(options.publicRoutes);
  const handlerOf = handlers(options);
  const served = [{ variant: CURRENT_VARIANT, endpoints: options.endpoints }, ...others].map(
    ({ variant, endpoints }) => ({ variant, router: endpointRouter(endpoints, handlerOf, variant.pathsOf) }),
  );
  const routesOf = new Map(served.map(({ variant, router }) => [variant, routes(router)]));

  const app = new Koa<State, object>();
  app.use(createContext(services, clock, trusted, otherVariants));
  app.use(logAndMeasure(telemetry, clock.monotonic_ms));
  app.use(addHeaders(services.base_url, addressRate));
  app.use(errors(telemetry));
  app.use(headLimits);
  app.use(preflight([publicRoutes, ...served.map(({ router }) => router)]));
  app.use(routes(publicRoutes));
  const opened = options.guestEndpoints ?? [];
  if (opened.length > 0) app.use(guests(opened, handlers(options)));
  app.use(authenticate(services, otherVariants));
  app.use(rateLimit(services));
  app.use((ctx, next) => routesOf.get(ctx.state.variant)?.(ctx, next));
  app.use(notFound);

  app.on('error', reportInterruptedAnswers(telemetry));
  return app;
}

/** What answers the calls of each endpoint, with a cache of its own. */
function handlers({ services, clock, telemetry, check_replies }: AppOptions): (endpoint: Endpoint) => CallHandler {
  const check = checkReply(check_replies, telemetry);
  const tools = { services, monotonic_ms: clock.monotonic_ms, check };
  const cache = replyCache();
  const once = idempotency(services, telemetry);
  return (endpoint) =>
    endpoint.kind === 'read' ? readHandler(endpoint, tools, cache) : writeHandler(endpoint, tools, once);
}

/** What a request is known by from its first moment: id, path, address, data clock. */
function createContext(
  services: Pick<Services, 'now'>,
  clock: Clock,
  trusted: BlockList | null,
  others: readonly Variant[],
): Middleware {
  return (ctx, next) => {
    const { path, search } = readTarget(ctx.originalUrl);
    ctx.state = {
      request_id: newId('request', clock.unix_ms()),
      path,
      search,
      address: clientAddress(ctx.req, trusted),
      now_ms: services.now(),
      variant: others.find(({ hasPath }) => hasPath(path)) ?? CURRENT_VARIANT,
      caller: null,
      rate_headers: null,
      credits_charged: null,
    };
    return next();
  };
}

const EXPOSED = [
  'ETag',
  'Retry-After',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit',
  'RateLimit-Policy',
  'Idempotent-Replay',
  'X-Request-Id',
  'X-Data-Source',
  'X-Required-Scope',
  'X-Credits-Charged',
].join(', ');

/** Headers of every answer: any page may call the interface, no answer may be run or framed, and an uncharged answer costs 0. */
function commonHeaders(base_url: string): Headers {
  return {
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': EXPOSED,
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Referrer-Policy': 'no-referrer',
    'X-Credits-Charged': '0',
    Vary: 'Accept-Encoding, Authorization',
    ...(base_url.startsWith('https:') ? { 'Strict-Transport-Security': 'max-age=31536000' } : {}),
  };
}

/**
 * Sets request id, charge, rate and common headers on every answer; a public route may set its own instead of a common one. Answers
 * without a valid key show the rate window of the address. The connection ends with the refusal of a client that waits with its
 * body: the next bytes may be that body, or a request.
 */
function addHeaders(base_url: string, addressRate: (address: string) => Promise<Headers>): Middleware {
  const common = Object.entries(commonHeaders(base_url));
  return async (ctx, next) => {
    await next();
    const { req, res, state } = ctx;
    for (const [name, value] of common) if (!res.hasHeader(name)) res.setHeader(name, value);
    res.setHeader('X-Request-Id', state.request_id);
    if (state.credits_charged !== null) res.setHeader('X-Credits-Charged', String(state.credits_charged));
    setHeaders(res, state.rate_headers ?? (await addressRate(state.address)));
    if (!req.complete && awaitsContinue(req)) res.setHeader('Connection', 'close');
  };
}
