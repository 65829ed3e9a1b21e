import type { Middleware } from '../state.ts';

/** A route that needs no key: documents, pages, public files, probes. */
export interface PublicRoute {
  /** Path of the router; `/tiles{/*rest}` is `/tiles` and every path below it. */
  readonly path: string;
  /** GET when left out; HEAD goes with it. */
  readonly methods?: readonly string[];
  readonly handler: Middleware;
}
