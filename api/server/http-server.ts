import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import { type BlockList, type Socket, Server as TcpServer } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type Koa from 'koa';
import { ApiError } from '../http/errors.ts';
import { HEADERS_BYTES, isTrusted, LONGEST_TARGET, UnreadableRequest } from './head.ts';

/** Longest time from the first byte of a request to the end of its head, and to that of its body. */
const ARRIVAL_MS = 60_000;
/** How long nothing may move on a connection: a client that does not read its answer is disconnected. */
const STANDSTILL_MS = 120_000;
const CHECKS_MS = 1000;
const CONNECTIONS_PER_ADDRESS = 200;
/** How long a client may still send after its last answer. */
const LINGER_MS = 2000;
/** How long a stopping server still reads connections between two requests: a request may be on its way. */
const LAST_REQUEST_MS = 1000;
/** A longer turn of the event loop may have left new connections in the listen queue since the queue was looked at. */
const SHORT_TURN_MS = 1;
const LINE_FEED = 0x0a;

/** A server with the limits of the service. A connection is kept for `keep_alive_s` after an answer; each answer says so. */
export function createHttpServer(keep_alive_s: number): Server {
  const server = createServer({
    // Beyond both of our own limits: a head a little too large is still read, and refused by name.
    maxHeaderSize: HEADERS_BYTES + 2 * LONGEST_TARGET,
    headersTimeout: ARRIVAL_MS,
    requestTimeout: ARRIVAL_MS,
    connectionsCheckingInterval: CHECKS_MS,
    keepAliveTimeout: keep_alive_s * 1000,
    // Node would refuse a request without Host with an empty answer; `checkHead` does it with a body.
    requireHostHeader: false,
  });
  server.maxHeadersCount = 0;
  server.timeout = STANDSTILL_MS;
  return server;
}

interface ClientError extends Error {
  readonly code?: string;
  /** The bytes read last, and how many of them were parsed before the error. */
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

/**
 * Has the requests of a server answered by an application, at most 200 connections at once from an address that is no trusted
 * proxy. What Node cannot read is refused by the application too, in the shape of every other error, and its connection closed; a
 * connection that has sent nothing is closed without an answer. The function that it returns stops the server: it takes no more
 * connections, ends those that it has with the answer under way or the next one, and cuts those that are left after `longest_ms`.
 */
export function serveApp(server: Server, app: Koa, trusted: BlockList | null) {
  const handle = app.callback();
  /** The last answer that was begun on each connection, until it is out. */
  const connections = new Map<Socket, ServerResponse | null>();
  const perAddress = new Map<string, number>();
  let isStopping = false;

  const begin = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    connections.set(socket, response);
    if (isStopping) response.shouldKeepAlive = false;
    response.once('close', () => {
      if (connections.get(socket) === response) connections.set(socket, null);
      if (isStopping) socket.destroySoon();
    });
    handle(request, response);
  };
  const refuse = (socket: Socket, target: string, error: ApiError) => {
    const request = new UnreadableRequest(socket, target, error);
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => closeOpenly(socket));
    begin(request, response);
  };

  server.on('connection', (socket) => {
    const { remoteAddress = '' } = socket;
    const open = perAddress.get(remoteAddress) ?? 0;
    if (open >= CONNECTIONS_PER_ADDRESS && !isTrusted(remoteAddress, trusted)) {
      socket.destroy();
      return;
    }
    connections.set(socket, null);
    const destroySoon = socket.destroySoon.bind(socket);
    // Called by Node after the last answer of a connection.
    socket.destroySoon = () => {
      if (connections.get(socket)?.req.complete === false) closeOpenly(socket);
      else destroySoon();
    };
    perAddress.set(remoteAddress, open + 1);
    socket.once('close', () => {
      connections.delete(socket);
      const left = (perAddress.get(remoteAddress) ?? 1) - 1;
      if (left === 0) perAddress.delete(remoteAddress);
      else perAddress.set(remoteAddress, left);
    });
  });
  // The 100 Continue that a client may wait for is sent by what reads the body. Other expectations are not met, and
  // ignored (RFC 9110 section 10.1.1).
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, begin);
  const noConnect = new ApiError('method_not_allowed', 'CONNECT is not served here', { Allow: 'OPTIONS' });
  server.on('connect', (_, socket) => refuse(socket as Socket, '', noConnect));
  server.on('clientError', (error: ClientError, duplex) => {
    const socket = duplex as Socket;
    const current = connections.get(socket) ?? null;
    if (current?.req instanceof UnreadableRequest) return; // the rest is as unreadable
    if (!socket.writable || error.code === 'ECONNRESET' || socket.bytesRead === 0) socket.destroy();
    else if (current === null) refuse(socket, targetOf(error), refusalOf(error));
    // The body that its handler is reading ends here, and with it the handler.
    else if (!current.req.complete && current.req.listenerCount('error') > 0) {
      current.shouldKeepAlive = false;
      current.req.emit('error', refusalOf(error));
    } else current.once('close', () => socket.destroySoon());
  });

  return async (longest_ms: number): Promise<void> => {
    isStopping = true;
    for (const response of connections.values()) if (response !== null) response.shouldKeepAlive = false;
    await listenQueueIsEmpty(server, longest_ms);
    // Not the method of the HTTP server, which cuts off answers that are made and not yet sent.
    const closed = new Promise<void>((resolve) => {
      TcpServer.prototype.close.call(server, () => resolve());
    });
    const closeIdle = () => {
      for (const [socket, response] of connections) if (response === null) socket.destroy();
    };
    const idle = setTimeout(closeIdle, Math.min(LAST_REQUEST_MS, longest_ms));
    const late = setTimeout(() => server.closeAllConnections(), longest_ms);
    await closed;
    clearTimeout(idle);
    clearTimeout(late);
  };
}

/** Resolves after a turn of the event loop that took no connection: those that wait would be reset with the listener. */
async function listenQueueIsEmpty(server: Server, longest_ms: number): Promise<void> {
  const until_ms = performance.now() + longest_ms;
  let isEmpty = false;
  const taken = () => {
    isEmpty = false;
  };
  server.on('connection', taken);
  await nextTurn();
  while (!isEmpty && performance.now() < until_ms) {
    const begun_ms = performance.now();
    isEmpty = true;
    await nextTurn();
    if (performance.now() - begun_ms > SHORT_TURN_MS) isEmpty = false;
  }
  server.off('connection', taken);
}

/**
 * Closes our side of a connection, and drops what the other still sends: bytes that meet a closed connection would reset it, and
 * the answer with it.
 */
function closeOpenly(socket: Socket): void {
  socket.on('error', () => socket.destroy());
  socket.resume();
  socket.end();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/** Target of the request that begins in the bytes read last; empty: no request begins there. */
function targetOf({ rawPacket }: ClientError): string {
  return /^[^\s:]+ +(\S+)/.exec(rawPacket?.toString('latin1') ?? '')?.[1] ?? '';
}

function refusalOf({ code, rawPacket, bytesParsed }: ClientError): ApiError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ApiError('request_timeout', 'request took too long to arrive');
  if (code !== 'HPE_HEADER_OVERFLOW') return new ApiError('bad_request', 'request is not valid HTTP');
  return rawPacket?.subarray(0, bytesParsed).includes(LINE_FEED) === false
    ? new ApiError('uri_too_long', `target is longer than ${LONGEST_TARGET} bytes`)
    : new ApiError('headers_too_large', `headers are larger than ${HEADERS_BYTES} bytes`);
}
