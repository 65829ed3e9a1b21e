import type Router from '@koa/router';
import type { Middleware } from '../state.ts';

interface LiteralRoute {
  readonly name: string;
  readonly handler: Middleware;
}

/**
 * Hands a request to the route that a router has for it. A map of literal paths stands in front: for nearly every call it saves
 * the search through all patterns, and the chain that the router builds anew each time.
 */
export function routes(router: Router): Middleware {
  // The router types what it runs by its own context, whose extra fields no middleware of ours reads: hence two casts.
  const literal = new Map<string, LiteralRoute>();
  for (const { path, methods, name = '', stack } of router.stack)
    if (typeof path === 'string' && !/[{:*]/.test(path))
      for (const method of methods)
        literal.set(`${method} ${path}`, { name, handler: stack[0] as unknown as Middleware });
  const search = router.routes() as unknown as Middleware;
  return (ctx, next) => {
    const route = literal.get(`${ctx.req.method} ${ctx.state.path}`);
    if (route !== undefined) {
      ctx.routerName = route.name;
      return route.handler(ctx, next);
    }
    return router.stack.some((layer) => layer.match(ctx.path)) ? search(ctx, next) : next();
  };
}
