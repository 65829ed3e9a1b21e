import type { BlockList } from 'node:net';
import { newId } from '../../../schemas/ids.ts';
import { clientAddress } from '../../http/address.ts';
import { readTarget } from '../../http/target.ts';
import type { Services } from '../../services.ts';
import type { Middleware } from '../state.ts';
import type { Variant } from '../variant.ts';

/** Clocks of requests, milliseconds. */
export interface Clock {
  readonly monotonic_ms: () => number;
  readonly unix_ms: () => number;
}

/** What a request is known by from its first moment: id, path, address, data clock. */
export function createContext(
  services: Services,
  clock: Clock,
  trusted: BlockList | null,
  variantOf: (path: string) => Variant,
): Middleware {
  return (ctx, next) => {
    const { path, search, url } = readTarget(ctx.originalUrl);
    ctx.url = url;
    ctx.state = {
      request_id: newId('request', clock.unix_ms()),
      path,
      search,
      address: clientAddress(ctx.req, trusted),
      now_ms: services.now(),
      variant: variantOf(path),
      caller: null,
      rate_headers: null,
      charged: false,
      query: null,
      body: null,
      claim: null,
      input: null,
      price: null,
      edition: null,
      plan: null,
      version: null,
      tag: null,
      fresh: null,
    };
    return next();
  };
}
