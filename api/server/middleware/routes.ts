import Router, { type Layer } from '@koa/router';
import compose from 'koa-compose';
import { allowHeader, hasParams, noRouteError, pathPattern } from '../../http/routes.ts';
import type { Endpoint } from '../endpoint.ts';
import type { CallMiddleware, Middleware, State } from '../state.ts';
import type { Variant } from '../variant.ts';
import type { PublicRoute } from './public-routes.ts';

/** How long a client may cache the answer to OPTIONS: the methods of a path change with a release only. */
const PREFLIGHT_S = 86_400;
const PREFLIGHT_HEADERS = {
  'Access-Control-Allow-Headers':
    'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, If-Range, Range, X-Request-Id',
  'Access-Control-Max-Age': String(PREFLIGHT_S),
  // Not by shared caches: the answer carries a request id and the window of an address.
  'Cache-Control': `private, max-age=${PREFLIGHT_S}`,
};

/** Router of the routes that need no key. */
export function publicRouter(routes: readonly PublicRoute[]): Router<State> {
  const router = strictRouter();
  for (const { path, methods = ['GET'], handler } of routes)
    router.register(path, [...methods], handler as never, { name: path.replace('{/*rest}', '/') });
  return router;
}

/** Router of endpoints, each at one or more paths; the middleware of an endpoint is composed once. */
export function endpointRouter(
  endpoints: readonly Endpoint[],
  chainOf: (endpoint: Endpoint) => CallMiddleware[],
  pathsOf: (endpoint: Endpoint) => readonly string[],
): Router<State> {
  const router = strictRouter();
  const literals = endpoints.flatMap(pathsOf).filter((path) => !hasParams(path));
  for (const endpoint of endpoints) {
    const { method, path: name } = endpoint;
    if (router.stack.some((layer) => layer.name === name && layer.methods.includes(method)))
      throw new Error(`${method} ${name} is declared twice`);
    const chain = compose(chainOf(endpoint));
    for (const path of pathsOf(endpoint))
      if (hasParams(path))
        router.register(pathPattern(path, literals), [method], chain as never, { name, pathAsRegExp: true });
      else router.register(path, [method], chain as never, { name });
  }
  return router;
}

/** A router for paths as they are sent: letter case counts, and the trailing slash has been removed already. */
function strictRouter(): Router<State> {
  return new Router({ sensitive: true, strict: true });
}

/**
 * Runs the routes of a router. A route with a literal path is found in a map, and a path that no route has goes on at once: the
 * router logs each search, and composes the middleware of a route anew for each call, which costs a tenth of a repeated read.
 */
export function routes(router: Router<State>): Middleware {
  const search = router.routes() as unknown as Middleware; // typed for contexts that the router itself extends
  const isLiteral = ({ path }: Layer) => typeof path === 'string' && !/[{:*]/.test(path);
  const literals = router.stack.filter(isLiteral);
  const patterns = router.stack.filter((layer) => !isLiteral(layer));
  const paths = new Set(literals.map(({ path }) => String(path)));
  const routeOf = new Map(
    literals.flatMap((layer) => layer.methods.map((method) => [`${method} ${layer.path}`, layer] as const)),
  );
  return (ctx, next) => {
    const { path } = ctx.state;
    const layer = routeOf.get(`${ctx.req.method} ${path}`);
    if (layer !== undefined) {
      ctx.routerName = layer.name ?? '';
      return (layer.stack[0] as unknown as Middleware)(ctx, next);
    }
    return paths.has(path) || patterns.some((pattern) => pattern.match(ctx.path)) ? search(ctx, next) : next();
  };
}

/** Runs a middleware for calls of one variant only. */
export function ofVariant(variant: Variant, served: Middleware): Middleware {
  return (ctx, next) => (ctx.state.variant === variant ? served(ctx, next) : next());
}

/** Answers OPTIONS, without a key and free of charge: 204 with the methods of the path, which may be none. */
export function preflight(routers: readonly Router<State>[]): Middleware {
  return (ctx, next) => {
    if (ctx.method !== 'OPTIONS') return next();
    const matched = routers.map((router) => router.match(ctx.path, ctx.method).path);
    const methods = allowHeader((matched.find((layers) => layers.length > 0) ?? []).flatMap(({ methods }) => methods));
    ctx.set({ Allow: methods, 'Access-Control-Allow-Methods': methods, ...PREFLIGHT_HEADERS });
    ctx.status = 204;
    return undefined;
  };
}

/**
 * Refuses with 405 when a route so far has the path but not the method. Not `router.allowedMethods()`, which runs the middleware
 * behind it first: a public path would then be refused for its missing key.
 */
export const methodNotAllowed: Middleware = (ctx, next) => {
  const { matched = [] } = ctx;
  if (matched.length === 0) return next();
  throw noRouteError(ctx.method, allowHeader(matched.flatMap(({ methods }) => methods)));
};

/** Refuses a path that no route has. */
export const notFound: Middleware = (ctx) => {
  throw noRouteError(ctx.method, null);
};
