import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { networkOf } from '../http/address.ts';
import { type Connections, closeOpenly } from '../http/connections.ts';
import { ApiError } from '../http/errors.ts';
import { HEADERS_BYTES, LONGEST_TARGET } from '../http/limits.ts';
import { type Headers, JSON_TYPE } from '../http/reply.ts';
import { readTarget } from '../http/target.ts';
import { CURRENT_VARIANT, type Variant } from './variant.ts';

const LINE_FEED = 0x0a;
/** A line that begins like that of a request. Lines of headers do not: theirs begins with a name and a colon. */
const REQUEST_LINE = /^[^\s:]+ +((?:https?:\/)?\/\S*)/i;

/** What every answer carries. */
export interface AnswerHeaders {
  /** A new `req_…`. */
  readonly request_id: () => string;
  readonly common: Headers;
  /** Headers of the rate for an address. */
  readonly addressRate: (address: string) => Promise<Headers>;
  /** The variant that a path belongs to. */
  readonly variantOf: (path: string) => Variant;
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
 * cannot parse, bodies that do not arrive, and CONNECT. The shape is that of the variant of the target, where one is
 * known. Of a head in several pieces Node keeps the last, and of one that stalls none: it is refused like the last
 * request of its connection, and in the current shape where there was none.
 */
export function handleClientErrors(
  server: Server,
  headers: AnswerHeaders,
  { lastTargetOf, currentOf }: Pick<Connections, 'lastTargetOf' | 'currentOf'>,
): void {
  const refused = new WeakSet<Duplex>();
  const answer = (error: ClientError, socket: Socket) => {
    if (!socket.writable) return;
    const target = targetOf(error) ?? lastTargetOf(socket) ?? '';
    void refuse(socket, apiErrorOf(error), headers.variantOf(readTarget(target).path), headers);
  };
  server.on('clientError', (error: ClientError, duplex: Duplex) => {
    const socket = duplex as Socket;
    if (error.code === 'ECONNRESET') socket.destroy();
    // Once it has been refused, the rest of what it sends is as unreadable and is passed over.
    else if (socket.writable && !refused.has(socket)) {
      refused.add(socket);
      const current = currentOf(socket);
      // What is unreadable came behind a request that is being answered, or is the rest of one that has been: that answer is out first.
      if (current !== null && (current.request.complete || current.response.headersSent))
        current.response.once('close', () => answer(error, socket));
      else answer(error, socket);
    }
  });
  server.on('connect', (_, socket: Duplex) => {
    const error = new ApiError('method_not_allowed', 'CONNECT is not served here', { Allow: 'OPTIONS' });
    void refuse(socket as Socket, error, CURRENT_VARIANT, headers);
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

async function refuse(socket: Socket, error: ApiError, variant: Variant, headers: AnswerHeaders): Promise<void> {
  const request_id = headers.request_id();
  const body = variant.errorBody(error.code, error.message, { request_id, now_ms: headers.now() });
  const { common, addressRate } = headers;
  const own = { ...common, ...(await addressRate(networkOf(socket.remoteAddress ?? ''))) };
  closeOpenly(socket, rawAnswer(error, request_id, body, own));
}

function apiErrorOf({ code, rawPacket, bytesParsed }: ClientError): ApiError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return rawPacket?.subarray(0, bytesParsed).includes(LINE_FEED) === false
      ? new ApiError('uri_too_long', `target is longer than ${LONGEST_TARGET} bytes`)
      : new ApiError('headers_too_large', `headers are larger than ${HEADERS_BYTES} bytes`);
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ApiError('bad_request', 'request took too long to arrive');
  return new ApiError('bad_request', 'request is not valid HTTP');
}

function rawAnswer(error: ApiError, request_id: string, body: string, own: Headers): string {
  const headers = {
    ...own,
    'X-Request-Id': request_id,
    'Content-Type': JSON_TYPE,
    'Cache-Control': 'no-store',
    ...error.headers,
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${error.status} ${error.code}`, ...lines, '', body].join('\r\n');
}
