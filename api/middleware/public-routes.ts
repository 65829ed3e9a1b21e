import type Router from '@koa/router';
import { strictRouter } from '../http/routes.ts';
import type { Middleware } from '../state.ts';

/** A route that needs no key: documents, pages, public files, probes. */
export interface PublicRoute {
  /** In the words of the router; `/tiles{/*rest}` is everything under /tiles too. */
  readonly path: string;
  /** GET when left out; HEAD goes with it. */
  readonly methods?: readonly string[];
  readonly handler: Middleware;
}

/** Router of the routes that need no key. */
export function publicRouter(routes: readonly PublicRoute[]): Router {
  const router = strictRouter();
  for (const { path, methods = ['GET'], handler } of routes)
    router.register(path, [...methods], handler as never, { name: path.replace('{/*rest}', '/') });
  return router;
}
