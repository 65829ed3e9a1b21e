import { allowOf, atPath, noRouteError } from '../http/routes.ts';
import type { CallMiddleware, Middleware } from '../state.ts';

/** Refuses a method where the routes so far have the path but not the method: 405 with those that there are. */
export const methodNotAllowed: Middleware = (ctx, next) => {
  const allow = allowOf(atPath(ctx.matched ?? []));
  if (allow !== null) throw noRouteError(ctx.method, allow);
  return next();
};

/**
 * The chain of a path with parameters, which leaves alone what is a literal path too, whatever the method: "GET
 * /v1/alerts/subscribe is 405 with Allow, not a subscription called subscribe".
 */
export function unlessLiteral(chain: CallMiddleware): CallMiddleware {
  return (ctx, next) => (ctx.matched?.some(({ path }) => typeof path === 'string') ? next() : chain(ctx, next));
}

/** Refuses what no route has. */
export const notFound: Middleware = (ctx) => {
  throw noRouteError(ctx.method, null);
};
