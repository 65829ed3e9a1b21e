import type { Endpoint } from '../endpoint.ts';
import { yieldToEventLoop } from '../event-loop.ts';
import { checkContentType, hasBody, readBytes } from '../http/body.ts';
import { parseJson } from '../http/json.ts';
import type { CallMiddleware } from '../state.ts';

/** Bodies above this are parsed in chunks, with other requests in between, bytes. */
const LARGE = 65_536;

/**
 * Reads the JSON body of a request, where there is one. Throws what its type (415), its size (413) or its syntax (400) call for.
 */
export function readBody({ method, body_limit_bytes }: Endpoint): CallMiddleware {
  const nullIsAbsent = method !== 'PATCH';
  return async (ctx, next) => {
    const { req, res } = ctx;
    if (hasBody(req)) {
      checkContentType(req);
      const bytes = await readBytes(req, res, body_limit_bytes);
      if (bytes.length > LARGE) await yieldToEventLoop();
      if (bytes.length > 0) ctx.state.body = parseJson(bytes, nullIsAbsent);
      if (bytes.length > LARGE) await yieldToEventLoop();
    }
    await next();
  };
}
