import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../errors.ts';
import { mediaType } from './negotiate.ts';

const JSON_TYPE = /^application\/(?:[a-z0-9!#$&^_.-]+\+)?json$/;
const CHARSETS: readonly string[] = ['utf-8', 'utf8', 'us-ascii'];
/** Expect of a client that sends its body only after a 100 Continue, which a call that was refused never gets. */
const WAITS = /\b100-continue\b/i;
const NO_BYTES = new Uint8Array(0);

/** A body is announced; whether it is empty shows when it is read. */
export function hasBody(request: IncomingMessage): boolean {
  const { headers } = request;
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/** A body is still on its way: the next request on the connection could not be distinguished from its remainder. */
export function leavesBody(request: IncomingMessage): boolean {
  return hasBody(request) && !request.complete;
}

/** Throws `unsupported_media_type` unless a body is plain JSON. */
export function checkContentType({ headers }: IncomingMessage): void {
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

/** The bytes of a body; throws `payload_too_large` as soon as it is known. A client that waits for it gets its 100 Continue. */
export async function readBytes(
  request: IncomingMessage,
  response: ServerResponse,
  limit_bytes: number,
): Promise<Uint8Array> {
  const tooLarge = () => new ApiError('payload_too_large', `body is larger than ${limit_bytes} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > limit_bytes) throw tooLarge();
  if (WAITS.test(request.headers.expect ?? '')) response.writeContinue();
  const chunks: Buffer[] = [];
  let length = 0;
  // Leaving the loop early must not destroy the connection: the refusal still has to go out on it.
  for await (const chunk of piecesOf(request)) {
    length += chunk.length;
    if (length > limit_bytes) throw tooLarge();
    chunks.push(chunk);
  }
  return length === 0 ? NO_BYTES : Buffer.concat(chunks, length);
}

/** A body as it comes; throws `bad_request` when it breaks off, which nobody is left to read, but is no failure of ours. */
async function* piecesOf(request: IncomingMessage): AsyncIterable<Buffer> {
  try {
    yield* request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  } catch (cause) {
    throw new ApiError('bad_request', 'the connection ended within the body', {}, { cause });
  }
}
