import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError } from '../errors.ts';
import { networkOf } from './address.ts';
import { errorAnswer } from './error-body.ts';
import { HEADERS_BYTES, LONGEST_TARGET } from './head.ts';
import { pairs } from './reply.ts';

/** How long a client may still send after its refusal. */
const LINGER_MS = 2000;
const LINE_FEED = 0x0a;

/** What every answer carries. */
export interface AnswerHeaders {
  /** A new `req_…`. */
  readonly request_id: () => string;
  readonly common: readonly string[];
  /** Headers of the rate for an address, names and values by turns. */
  readonly rateHeaders: (address: string) => readonly string[];
}

interface ClientError extends Error {
  readonly code?: string;
  /** What was read last, and how much of it had been understood when the error was found. */
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

/**
 * Answers what never becomes a request of ours in the shape of every other error, and closes the connection: heads that Node
 * cannot read, and CONNECT, which asks for a tunnel.
 */
export function answerStrays(server: Server, headers: AnswerHeaders): void {
  server.on('clientError', (error: ClientError, socket: Duplex) => {
    if (error.code === 'ECONNRESET') socket.destroy();
    // Once it has been refused, the rest of what it sends is as unreadable and is passed over.
    else if (socket.writable) refuse(socket as Socket, judge(error), headers);
  });
  server.on('connect', (_, socket: Duplex) => {
    const error = new ApiError('method_not_allowed', 'CONNECT is not served here', { Allow: 'OPTIONS' });
    refuse(socket as Socket, error, headers);
  });
}

/** Closes our side only: bytes that meet a closed connection would reset it, and the answer with it. */
function refuse(socket: Socket, error: ApiError, headers: AnswerHeaders): void {
  socket.on('error', () => socket.destroy());
  socket.resume();
  socket.end(rawAnswer(error, networkOf(socket.remoteAddress ?? ''), headers));
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

function judge({ code, rawPacket, bytesParsed }: ClientError): ApiError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return rawPacket?.subarray(0, bytesParsed).includes(LINE_FEED) === false
      ? new ApiError('uri_too_long', `target is longer than ${LONGEST_TARGET} bytes`)
      : new ApiError('headers_too_large', `headers are larger than ${HEADERS_BYTES} bytes`);
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ApiError('bad_request', 'request took too long to arrive');
  return new ApiError('bad_request', 'request is not valid HTTP');
}

function rawAnswer(error: ApiError, address: string, { request_id, common, rateHeaders }: AnswerHeaders): string {
  const id = request_id();
  const { status, type, body } = errorAnswer(error, id);
  const headers = [
    ...common,
    'X-Request-Id',
    id,
    ...rateHeaders(address),
    ...pairs({
      'Content-Type': type,
      'Cache-Control': 'no-store',
      ...error.headers,
      'Content-Length': String(Buffer.byteLength(body)),
      Connection: 'close',
    }),
  ];
  const lines = headers.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${headers[at + 1]}`] : []));
  return [`HTTP/1.1 ${status} ${error.code}`, ...lines, '', body].join('\r\n');
}
