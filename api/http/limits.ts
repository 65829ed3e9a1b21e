import type { Server } from 'node:http';
import type { BlockList, Socket } from 'node:net';
import { isTrusted } from './address.ts';

/** Names and values of all headers together. */
export const HEADERS_BYTES = 16_384;
export const LONGEST_TARGET = 8192;

/**
 * So much of a head is read before Node gives up on it. With room beyond both of our own limits, so that what is a little too
 * large is still read, and refused for what it is.
 */
export const HEAD_BYTES = HEADERS_BYTES + 2 * LONGEST_TARGET;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** How long a connection is kept after an answer; each answer says so. */
const KEEP_ALIVE_MS = 5000;
/**
 * How long nothing may move while a request is answered: a client that does not read its answer is disconnected. Node counts
 * anew after a write that was taken in part, so it may be twice as long.
 */
const STANDSTILL_MS = 30_000;
const CONNECTIONS_PER_ADDRESS = 200;
const REQUESTS_PER_CHECK_MS = 1000;

/** Options of `createServer`. */
export const SERVER_OPTIONS = {
  maxHeaderSize: HEAD_BYTES,
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  keepAliveTimeout: KEEP_ALIVE_MS,
  connectionsCheckingInterval: REQUESTS_PER_CHECK_MS,
  // Node would refuse a request without Host with an empty answer; `checkHead` does it with a body.
  requireHostHeader: false,
  noDelay: true,
} as const;

/** Applies the limits beside the options: an answer that stands still, 200 connections per address that is no trusted proxy. */
export function limitServer(server: Server, trusted: BlockList | null): void {
  server.maxHeadersCount = 0;
  server.timeout = STANDSTILL_MS;
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
}
