import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError } from '../errors.ts';
import { networkOf } from './address.ts';
import { metaOf } from './envelope.ts';
import { earlierErrorBody, errorBody } from './error-body.ts';
import { HEADERS_BYTES, LONGEST_TARGET } from './head.ts';
import { isEarlierPath } from './mount.ts';
import { type Headers, JSON_TYPE } from './reply.ts';
import { readTarget } from './target.ts';

/** How long a client may still send after its refusal. */
const LINGER_MS = 2000;
const LINE_FEED = 0x0a;
/** A line that begins like that of a request. Lines of headers do not: theirs begins with a name and a colon. */
const REQUEST_LINE = /^[^\s:]+ +((?:https?:\/)?\/\S*)/i;

/** What every answer carries. */
export interface AnswerHeaders {
  /** A new `req_…`. */
  readonly request_id: () => string;
  readonly common: Headers;
  /** Headers of the rate for an address. */
  readonly addressRate: (address: string) => Headers;
  /** Data clock, epoch milliseconds. */
  readonly now: () => number;
}

interface ClientError extends Error {
  readonly code?: string;
  /** What was read last, and how much of it had been understood when the error was found. */
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

/**
 * Answers what never becomes a request of ours in the shape of every other error, and closes the connection: heads that Node
 * cannot parse, bodies that do not arrive, and CONNECT. `requestOf` is the request that a connection is being answered. The
 * shape is that of the earlier variant where the target can be told, and is one of its paths.
 */
export function handleClientErrors(
  server: Server,
  headers: AnswerHeaders,
  requestOf: (socket: Socket) => Pick<IncomingMessage, 'url'> | null,
): void {
  server.on('clientError', (error: ClientError, socket: Duplex) => {
    if (error.code === 'ECONNRESET') socket.destroy();
    // Once it has been refused, the rest of what it sends is as unreadable and is passed over.
    else if (socket.writable) {
      const target = targetOf(error) ?? requestOf(socket as Socket)?.url ?? '';
      refuse(socket as Socket, apiErrorOf(error), isEarlierPath(readTarget(target).path), headers);
    }
  });
  server.on('connect', (_, socket: Duplex) => {
    const error = new ApiError('method_not_allowed', 'CONNECT is not served here', { Allow: 'OPTIONS' });
    refuse(socket as Socket, error, false, headers);
  });
}

/** Target of the last request that begins in what was read last, up to the line of the error; null: none does. */
function targetOf({ rawPacket, bytesParsed = 0 }: ClientError): string | null {
  if (rawPacket === undefined) return null;
  const lineEnd = rawPacket.indexOf(LINE_FEED, bytesParsed);
  const lines = rawPacket.toString('latin1', 0, lineEnd === -1 ? rawPacket.length : lineEnd).split('\n');
  for (const line of lines.toReversed()) {
    const target = REQUEST_LINE.exec(line)?.[1];
    if (target !== undefined) return target;
  }
  return null;
}

/** Closes our side only: bytes that meet a closed connection would reset it, and the answer with it. */
function refuse(socket: Socket, error: ApiError, earlier: boolean, headers: AnswerHeaders): void {
  socket.on('error', () => socket.destroy());
  socket.resume();
  socket.end(rawAnswer(error, networkOf(socket.remoteAddress ?? ''), earlier, headers));
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

function apiErrorOf({ code, rawPacket, bytesParsed }: ClientError): ApiError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return rawPacket?.subarray(0, bytesParsed).includes(LINE_FEED) === false
      ? new ApiError('uri_too_long', `target is longer than ${LONGEST_TARGET} bytes`)
      : new ApiError('headers_too_large', `headers are larger than ${HEADERS_BYTES} bytes`);
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ApiError('bad_request', 'request took too long to arrive');
  return new ApiError('bad_request', 'request is not valid HTTP');
}

function rawAnswer(
  error: ApiError,
  address: string,
  earlier: boolean,
  { request_id, common, addressRate, now }: AnswerHeaders,
): string {
  const id = request_id();
  const body = earlier
    ? earlierErrorBody(error.code, error.message, metaOf({ request_id: id, now_ms: now() }))
    : errorBody(error.code, error.message, id);
  const headers = {
    ...common,
    'X-Request-Id': id,
    ...addressRate(address),
    'Content-Type': JSON_TYPE,
    'Cache-Control': 'no-store',
    ...error.headers,
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${error.status} ${error.code}`, ...lines, '', body].join('\r\n');
}
