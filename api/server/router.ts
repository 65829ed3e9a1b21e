import Router, { type Layer } from '@koa/router';
import { PATH_ID } from '../../schemas/ids.ts';
import { ApiError } from '../http/errors.ts';
import type { Endpoint } from './endpoint.ts';
import type { PublicRoute } from './public.ts';
import type { CallHandler, Context, Middleware, State } from './state.ts';

/** How long a client may cache the answer to OPTIONS: the methods of a path change with a release only. */
const PREFLIGHT_S = 86_400;
const PREFLIGHT_HEADERS = {
  // The star stands for every header but the one that it never does.
  'Access-Control-Allow-Headers': '*, Authorization',
  'Access-Control-Max-Age': String(PREFLIGHT_S),
  // Not by shared caches: the answer carries a request id and the window of an address.
  'Cache-Control': `private, max-age=${PREFLIGHT_S}`,
};

/** Letter case counts, and the trailing slash has been removed already. */
const STRICT = { sensitive: true, strict: true };

export function publicRouter(routes: readonly PublicRoute[]): Router<State> {
  const router = new Router(STRICT);
  for (const { path, handler } of routes)
    router.register(path, ['GET'], handler as never, { name: path.replace('{/*rest}', '/') });
  return router;
}

/** Router of endpoints, each at one or more paths. */
export function endpointRouter(
  endpoints: readonly Endpoint[],
  handlerOf: (endpoint: Endpoint) => CallHandler,
  pathsOf: (endpoint: Endpoint) => readonly string[],
): Router<State> {
  const router = new Router(STRICT);
  for (const endpoint of endpoints) {
    const { method, path: name } = endpoint;
    if (router.stack.some((layer) => layer.name === name && layer.methods.includes(method)))
      throw new Error(`${method} ${name} is declared twice`);
    const handler = handlerOf(endpoint);
    for (const path of pathsOf(endpoint))
      if (paramNames(path).length === 0) router.register(path, [method], handler as never, { name });
      else router.register(pathPattern(path), [method], handler as never, { name, pathAsRegExp: true });
  }
  return router;
}

/**
 * Pattern of a path with parameters. Not `:track_id` of the router, which matches and decodes any text: "Path ids not matching
 * `^[A-Za-z0-9_-]{1,64}$`: 404, not 400 (an id that cannot exist does not exist)".
 */
function pathPattern(template: string): RegExp {
  return new RegExp(`^${template.replace(/\{\w+\}/g, `(${PATH_ID})`)}$`);
}

/** Names of the parameters of a path, in order. */
export function paramNames(template: string): readonly string[] {
  return [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
}

/** Finds the routes of a path, whatever their methods: "Literal path segments win over parameters". */
function finderOf({ stack }: Router<State>): (path: string) => readonly Layer[] {
  const literal = Map.groupBy(stack, ({ path }) => path);
  const patterns = stack.filter(({ path }) => path instanceof RegExp || path.includes('{'));
  return (path) => literal.get(path) ?? patterns.filter((layer) => layer.match(path));
}

/**
 * Runs the route of a call; refuses with 405 when the path has routes for other methods only. Not `router.routes()`, which composes
 * the middleware of a route anew for each call, a tenth of the time of a repeated read.
 */
export function routes(router: Router<State>): Middleware {
  const find = finderOf(router);
  return (ctx, next) => {
    const { path } = ctx.state;
    const layers = find(path);
    const layer = layers.find(({ methods }) => methods.includes(ctx.req.method as string));
    if (layer !== undefined) {
      ctx.routerName = layer.name ?? '';
      if (layer.path instanceof RegExp) ctx.captures = layer.captures(path);
      return (layer.stack[0] as unknown as (ctx: Context) => Promise<void>)(ctx);
    }
    if (layers.length === 0) return next();
    const Allow = allowHeader(layers);
    throw new ApiError('method_not_allowed', `${ctx.method} is not served here, expected ${Allow}`, { Allow });
  };
}

/** Answers OPTIONS, without a key and free of charge: 204 with the methods of the path, which may be none. */
export function preflight(routers: readonly Router<State>[]): Middleware {
  const finders = routers.map(finderOf);
  return (ctx, next) => {
    if (ctx.method !== 'OPTIONS') return next();
    const layers = finders.map((find) => find(ctx.state.path)).find(({ length }) => length > 0) ?? [];
    const methods = allowHeader(layers);
    ctx.set({ Allow: methods, 'Access-Control-Allow-Methods': methods, ...PREFLIGHT_HEADERS });
    ctx.status = 204;
    return undefined;
  };
}

/** Refuses a path that no route has. */
export const notFound: Middleware = () => {
  throw new ApiError('not_found', 'there is nothing at this path');
};

/** Value of the header Allow of a path with some routes. */
function allowHeader(layers: readonly Layer[]): string {
  const methods = layers.flatMap((layer) => layer.methods);
  return ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
    .filter((method) => method === 'OPTIONS' || methods.includes(method === 'HEAD' ? 'GET' : method))
    .join(', ');
}
