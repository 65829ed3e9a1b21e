import { ApiError } from '../../http/errors.ts';
import { accepts, mediaType } from '../../http/negotiate.ts';
import type { Endpoint } from '../endpoint.ts';
import type { CallMiddleware } from '../state.ts';

/** Refuses a caller whose Accept rules out every type of the endpoint. */
export function negotiate({ other_replies }: Endpoint): CallMiddleware {
  const types = ['application/json', ...Object.keys(other_replies).map(mediaType)];
  return (ctx, next) => {
    const { accept } = ctx.req.headers;
    if (!types.some((type) => accepts(accept, type)))
      throw new ApiError('not_acceptable', 'Accept rules out application/json');
    return next();
  };
}
