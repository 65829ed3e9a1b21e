import type Router from '@koa/router';
import type { Variant } from '../http/variant.ts';
import type { Middleware } from '../state.ts';

interface LiteralRoute {
  readonly name: string;
  readonly handler: Middleware;
}

/** The same for calls of one variant of the interface alone: those of the other go on. */
export function ofVariant(variant: Variant, served: Middleware): Middleware {
  return (ctx, next) => (ctx.state.variant === variant ? served(ctx, next) : next());
}

/**
 * Hands a request to the route that a router has for it. A map of literal paths stands in front: for nearly every call it saves
 * the search through all patterns, and the chain that the router builds anew each time.
 */
export function routes(router: Router): Middleware {
  // The router types what it runs by its own context, whose extra fields no middleware of ours reads: hence two casts.
  const byPath = new Map<string, Map<string, LiteralRoute>>();
  const isLiteral = ({ path }: Router['stack'][number]) => typeof path === 'string' && !/[{:*]/.test(path);
  for (const { path, methods, name = '', stack } of router.stack.filter(isLiteral)) {
    const byMethod = byPath.get(String(path)) ?? new Map<string, LiteralRoute>();
    for (const method of methods) byMethod.set(method, { name, handler: stack[0] as unknown as Middleware });
    byPath.set(String(path), byMethod);
  }
  const patterns = router.stack.filter((layer) => !isLiteral(layer));
  const search = router.routes() as unknown as Middleware;
  return (ctx, next) => {
    const byMethod = byPath.get(ctx.state.path);
    const route = byMethod?.get(ctx.req.method ?? '');
    if (route !== undefined) {
      ctx.routerName = route.name;
      return route.handler(ctx, next);
    }
    // A literal path with another method goes to the router too, which finds the methods that it takes.
    const leadsSomewhere = byMethod !== undefined || patterns.some((layer) => layer.match(ctx.path));
    return leadsSomewhere ? search(ctx, next) : next();
  };
}
