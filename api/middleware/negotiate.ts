import type { Endpoint } from '../endpoint.ts';
import { ApiError } from '../errors.ts';
import { accepts, mediaType } from '../http/negotiate.ts';
import type { CallMiddleware } from '../state.ts';

/** Refuses a caller whose Accept rules out everything that the endpoint can answer with. */
export function negotiate({ other_replies }: Endpoint): CallMiddleware {
  const types = ['application/json', ...Object.keys(other_replies).map(mediaType)];
  return (ctx, next) => {
    const { accept } = ctx.req.headers;
    if (!types.some((type) => accepts(accept, type)))
      throw new ApiError('not_acceptable', 'Accept rules out application/json');
    return next();
  };
}

/** Throws `not_acceptable` when an Accept header rules out the type that an answer has. */
export function checkType(accept: string | undefined, type: string): void {
  const media = mediaType(type);
  if (!accepts(accept, media)) throw new ApiError('not_acceptable', `Accept rules out ${media}`);
}
