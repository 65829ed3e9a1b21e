import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { type Socket, Server as TcpServer } from 'node:net';

/**
 * Requests that may wait on a connection while an earlier one is answered. Node reads 64 KB at a time, which may hold thousands;
 * whoever sends more than this in advance is answered so far, and the connection ends with the last of those answers.
 */
export const WAITING_MAX = 100;

/** The connections of a server. */
export interface Connections {
  /** Target of the last request that was begun on a connection; null: none was. */
  readonly lastTargetOf: (socket: Socket) => string | null;
  /**
   * Takes no more connections, lets every connection end, and resolves when all have. Answers say `Connection: close` from now
   * on, so that no request is sent into a connection that is being closed; one that is idle is kept as long as its last
   * answer promised (`keepAliveTimeout`). What is left after `longest_ms` is cut.
   */
  readonly drain: (longest_ms: number) => Promise<void>;
}

interface Turn {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The requests of one connection. */
interface Line {
  /** The answer that is being made or sent. */
  current: ServerResponse | null;
  /** Target of the last request that was begun. */
  last_target: string | null;
  readonly waiting: Turn[];
}

/**
 * Has a server's requests handled one at a time on each connection: the next begins when the answer before it is out, and
 * while one waits nothing more is read. Node alone would begin all that a client sends in advance, as many as there are.
 */
export function serveInTurn(server: Server, handle: RequestListener): Connections {
  const lines = new Map<Socket, Line>();
  let draining = false;

  const begin = (socket: Socket, line: Line, { request, response }: Turn) => {
    line.current = response;
    line.last_target = request.url ?? null;
    if (draining && line.waiting.length === 0) response.shouldKeepAlive = false;
    response.once('close', () => next(socket, line));
    handle(request, response);
  };
  const next = (socket: Socket, line: Line) => {
    line.current = null;
    if (socket.destroyed) return;
    const turn = line.waiting.shift();
    if (line.waiting.length === 0) socket.resume();
    if (turn !== undefined) begin(socket, line, turn);
  };
  const lineOf = (socket: Socket): Line => {
    const known = lines.get(socket);
    if (known !== undefined) return known;
    const line: Line = { current: null, last_target: null, waiting: [] };
    lines.set(socket, line);
    socket.once('close', () => lines.delete(socket));
    return line;
  };
  const take = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    if (socket.destroyed) return; // it ended while its last bytes were being read
    const line = lineOf(socket);
    if (line.current === null) {
      begin(socket, line, { request, response });
      return;
    }
    const last = line.waiting.at(-1);
    if (line.waiting.length < WAITING_MAX) line.waiting.push({ request, response });
    else if (last !== undefined) last.response.shouldKeepAlive = false;
    // Not now: Node resumes reading after each request of the bytes at hand.
    process.nextTick(() => {
      if (line.waiting.length > 0 && !socket.destroyed) socket.pause();
    });
  };

  server.on('connection', lineOf);
  // The 100 Continue that a client may wait for is sent by what reads the body. Other expectations are not met, and
  // ignored (RFC 9110 section 10.1.1).
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, take);

  return {
    lastTargetOf: (socket) => lines.get(socket)?.last_target ?? null,
    drain: async (longest_ms) => {
      draining = true;
      // Not the method of the HTTP server: that closes connections between two requests, and one of those is often on its way.
      const closed = new Promise<void>((resolve) => {
        TcpServer.prototype.close.call(server, () => resolve());
      });
      for (const { current, waiting } of lines.values())
        if (current !== null && waiting.length === 0) current.shouldKeepAlive = false;
      // No answer promised anything to connections without a request so far; they are kept as long as the others.
      const unused = setTimeout(() => {
        for (const socket of lines.keys()) if (socket.bytesRead === 0) socket.destroy();
      }, server.keepAliveTimeout);
      const late = setTimeout(() => server.closeAllConnections(), longest_ms);
      await closed;
      clearTimeout(unused);
      clearTimeout(late);
    },
  };
}
