import type { Server } from 'node:http';
import type { BlockList, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError } from '../errors.ts';
import { isTrusted } from './address.ts';
import { errorAnswer } from './error-body.ts';
import { pairs } from './reply.ts';

/** Limits of the server, below anything that reads a request. */
export const HEADERS_BYTES = 16_384;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const MOST_HEADERS = 64;
const LONGEST_TARGET = 8192;
const CONNECTIONS_PER_ADDRESS = 200;
const REQUESTS_PER_CHECK_MS = 1000;

/** Options of `createServer`. */
export const SERVER_OPTIONS = {
  maxHeaderSize: HEADERS_BYTES,
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: REQUESTS_PER_CHECK_MS,
  noDelay: true,
} as const;

/** Throws when a request has more than 64 headers (431) or a target longer than 8 KB (414). */
export function checkHead(target: string, rawHeaders: readonly string[]): void {
  if (target.length > LONGEST_TARGET)
    throw new ApiError('uri_too_long', `target is ${target.length} bytes, expected at most ${LONGEST_TARGET}`);
  const count = rawHeaders.length / 2;
  if (count > MOST_HEADERS)
    throw new ApiError('headers_too_large', `${count} headers, expected at most ${MOST_HEADERS}`);
}

export interface RefusedHead {
  /** A new `req_…`. */
  readonly request_id: () => string;
  readonly common: readonly string[];
  /** Headers of the rate for an address, names and values by turns. */
  readonly rateHeaders: (address: string) => readonly string[];
}

/**
 * Applies the limits: at most 200 connections per address that is no trusted proxy, and heads that Node cannot read are
 * answered in the shape of every other error before the connection is closed.
 */
export function limitServer(server: Server, trusted: BlockList | null, refused: RefusedHead): void {
  server.maxHeadersCount = 0;
  const connections = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    if (trusted !== null && isTrusted(address, trusted)) return;
    const open = (connections.get(address) ?? 0) + 1;
    if (open > CONNECTIONS_PER_ADDRESS) {
      socket.destroy();
      return;
    }
    connections.set(address, open);
    socket.once('close', () => {
      const left = (connections.get(address) ?? 1) - 1;
      if (left === 0) connections.delete(address);
      else connections.set(address, left);
    });
  });
  server.on('clientError', (error: ClientError, socket: Duplex) => {
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    socket.end(rawAnswer(judge(error), (socket as Socket).remoteAddress ?? '', refused));
  });
}

interface ClientError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
}

function judge(error: ClientError): ApiError {
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    const lineEnds = error.rawPacket?.includes(0x0a) ?? true;
    return lineEnds
      ? new ApiError('headers_too_large', `headers are larger than ${HEADERS_BYTES} bytes`)
      : new ApiError('uri_too_long', `request line is longer than ${HEADERS_BYTES} bytes`);
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ApiError('bad_request', 'request took too long to arrive');
  return new ApiError('bad_request', 'request is not valid HTTP');
}

function rawAnswer(error: ApiError, address: string, { request_id, common, rateHeaders }: RefusedHead): string {
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
      'Content-Length': String(Buffer.byteLength(body)),
      Connection: 'close',
    }),
  ];
  const lines = headers.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${headers[at + 1]}`] : []));
  return [`HTTP/1.1 ${status} ${error.code}`, ...lines, '', body].join('\r\n');
}
