import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../../http/errors.ts';
import { yieldToEventLoop } from '../../http/event-loop.ts';
import { parseJson } from '../../http/json.ts';
import { mediaType } from '../../http/negotiate.ts';
import type { Endpoint } from '../endpoint.ts';
import type { CallMiddleware } from '../state.ts';

const JSON_TYPE = /^application\/(?:[a-z0-9!#$&^_.-]+\+)?json$/;
const CHARSETS: readonly string[] = ['utf-8', 'utf8', 'us-ascii'];
/** Expect of a client that sends its body only after a 100 Continue; a refused call gets none. */
const EXPECTS_CONTINUE = /\b100-continue\b/i;
const NO_BYTES = new Uint8Array(0);
/** Bodies above this are parsed in chunks, with other requests in between, bytes. */
const LARGE = 65_536;

/** Reads the JSON body of a request, where there is one. Refuses its type with 415, its size with 413, its syntax with 400. */
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

/** True when a request announces a body, which may still turn out to be empty. */
function hasBody(request: IncomingMessage): boolean {
  const { headers } = request;
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/** True when a part of the body has not been read: on the connection it would be taken for the next request. */
export function hasUnreadBody(request: IncomingMessage): boolean {
  return hasBody(request) && !request.complete;
}

/** Throws `unsupported_media_type` unless a body is plain JSON. */
function checkContentType({ headers }: IncomingMessage): void {
  const coding = headers['content-encoding'];
  if (coding !== undefined && coding.trim().toLowerCase() !== 'identity')
    throw new ApiError('unsupported_media_type', 'Content-Encoding is set, expected a plain body');
  const type = headers['content-type'];
  if (type === undefined || !JSON_TYPE.test(mediaType(type)))
    throw new ApiError('unsupported_media_type', 'Content-Type is not application/json');
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)"?/i.exec(type)?.[1];
  if (charset !== undefined && !CHARSETS.includes(charset.toLowerCase()))
    throw new ApiError('unsupported_media_type', 'Content-Type has a charset other than utf-8');
}

/** The bytes of a body; throws `payload_too_large` as early as possible. Sends 100 Continue to a client that expects it. */
async function readBytes(request: IncomingMessage, response: ServerResponse, limit_bytes: number): Promise<Uint8Array> {
  const tooLarge = () => new ApiError('payload_too_large', `body is larger than ${limit_bytes} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > limit_bytes) throw tooLarge();
  if (EXPECTS_CONTINUE.test(request.headers.expect ?? '')) response.writeContinue();
  const chunks: Buffer[] = [];
  let length = 0;
  // Leaving the loop early must not destroy the connection: the refusal still has to go out on it.
  for await (const chunk of chunksOf(request)) {
    length += chunk.length;
    if (length > limit_bytes) throw tooLarge();
    chunks.push(chunk);
  }
  return length === 0 ? NO_BYTES : Buffer.concat(chunks, length);
}

/** Chunks of a body; throws `bad_request` when the connection ends within it, so that it is not logged as a failure of the service. */
async function* chunksOf(request: IncomingMessage): AsyncIterable<Buffer> {
  try {
    yield* request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  } catch (cause) {
    throw new ApiError('bad_request', 'the connection ended within the body', {}, { cause });
  }
}
