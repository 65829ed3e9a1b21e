import type { IncomingMessage } from 'node:http';
import type { ErrorCode } from '../../../schemas/errors.ts';
import { ApiError } from '../../http/errors.ts';
import { HEADERS_BYTES, LONGEST_TARGET } from '../../http/limits.ts';
import type { Middleware } from '../state.ts';

const MOST_HEADERS = 64;
const VERSIONS: readonly string[] = ['1.0', '1.1'];

/** The part of a request before its body, without the target. */
export type Head = Pick<IncomingMessage, 'httpVersion' | 'headers' | 'rawHeaders'>;

/** Refuses requests that are too large or ambiguous before any other check. */
export const headLimits: Middleware = (ctx, next) => {
  checkHead(ctx.req, ctx.originalUrl);
  return next();
};

/**
 * Throws when a request has a target longer than 8 KB (414), more than 64 headers or 16 KB of them (431), a version other than
 * HTTP/1.0 and 1.1, no Host or several, or a transfer coding other than chunked (400). The connection ends with the refusal,
 * because the bytes behind such a head cannot be trusted to be a request.
 */
export function checkHead({ httpVersion, headers, rawHeaders }: Head, target: string): void {
  if (target.length > LONGEST_TARGET)
    throw refusal('uri_too_long', `target is ${target.length} bytes, expected at most ${LONGEST_TARGET}`);
  const count = rawHeaders.length / 2;
  if (count > MOST_HEADERS) throw refusal('headers_too_large', `${count} headers, expected at most ${MOST_HEADERS}`);
  let bytes = 0;
  for (const text of rawHeaders) bytes += text.length; // runs for every request: no function call per header
  if (bytes > HEADERS_BYTES)
    throw refusal('headers_too_large', `headers are ${bytes} bytes, expected at most ${HEADERS_BYTES}`);
  if (!VERSIONS.includes(httpVersion))
    throw refusal('bad_request', `request is HTTP/${httpVersion}, expected HTTP/1.1 or HTTP/1.0`);
  const hosts = countOf(rawHeaders, 'host');
  if (hosts > 1) throw refusal('bad_request', 'Host is given more than once');
  if (hosts === 0 && httpVersion === '1.1') throw refusal('bad_request', 'Host is missing');
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    throw refusal('bad_request', 'Transfer-Encoding is not chunked alone');
}

/** How often a request has a header; of some headers Node keeps only the first. */
export function countOf(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] as string;
    if (given.length === name.length && given.toLowerCase() === name) count += 1;
  }
  return count;
}

function refusal(code: ErrorCode, message: string): ApiError {
  return new ApiError(code, message, { Connection: 'close' });
}
