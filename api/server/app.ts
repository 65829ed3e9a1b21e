import type { BlockList } from 'node:net';
import Koa from 'koa';
import { countByAddress } from '../http/call-limits.ts';
import type { Services } from '../services.ts';
import { admit } from './admit.ts';
import { answerWhole, reportInterruptedAnswers, type Telemetry } from './answer.ts';
import { callHandlers } from './call.ts';
import type { Endpoint } from './endpoint.ts';
import { createContext, headLimits } from './head.ts';
import type { PublicRoute } from './public.ts';
import { endpointRouter, notFound, preflight, publicRouter, routes } from './router.ts';
import { CURRENT_VARIANT, type State, type Variant } from './state.ts';

interface AppOptions {
  readonly endpoints: readonly Endpoint[];
  /** Variants of the interface in addition to the current one. */
  readonly variants?: readonly OtherVariant[];
  readonly publicRoutes: readonly PublicRoute[];
  /** Endpoints that are also answered without a key, uncharged; none when left out. */
  readonly guestEndpoints?: readonly Endpoint[];
  readonly services: Services;
  /** Proxies whose header for the client's address is trusted; null: none. */
  readonly trusted: BlockList | null;
  /** Every reply is checked against its schema, and a mismatch is a failure: for tests. */
  readonly check_replies?: boolean;
  readonly telemetry: Telemetry;
}

export type OtherVariant = Readonly<{ endpoints: readonly Endpoint[]; variant: Variant }>;

/** Requests per minute shown for an address when a call has no key; it refuses no call. */
const ADDRESS_RATE = 60;

/** The service as a Koa application. The order of its steps, and of those of an endpoint's handler, is part of the interface. */
export function createApp(options: AppOptions): Koa<State, object> {
  const { services, trusted, telemetry, variants: others = [], guestEndpoints = [] } = options;
  // Separate from the windows of keys: calls from many addresses must not evict those.
  const countAddress = countByAddress();
  const addressRate = async (address: string) => (await countAddress(address, ADDRESS_RATE)).headers;
  const otherVariants = others.map(({ variant }) => variant);
  const publicRoutes = publicRouter(options.publicRoutes);
  const handlerOf = callHandlers(services, options.check_replies ?? false, telemetry);
  const served = [{ variant: CURRENT_VARIANT, endpoints: options.endpoints }, ...others].map(
    ({ variant, endpoints }) => ({ variant, router: endpointRouter(endpoints, handlerOf, variant.pathsOf) }),
  );
  const routesOf = new Map(served.map(({ variant, router }) => [variant, routes(router)]));

  const app = new Koa<State, object>();
  app.use(createContext(services.now, trusted, otherVariants));
  app.use(answerWhole(telemetry, services.base_url, addressRate));
  app.use(headLimits);
  app.use(preflight([publicRoutes, ...served.map(({ router }) => router)]));
  app.use(routes(publicRoutes));
  app.use(admit(services, otherVariants, guestEndpoints));
  app.use((ctx, next) => routesOf.get(ctx.state.variant)?.(ctx, next));
  app.use(notFound);

  app.on('error', reportInterruptedAnswers(telemetry));
  return app;
}
