import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { type Socket, Server as TcpServer } from 'node:net';

/**
 * Requests that may wait on a connection while an earlier one is answered. Node reads 64 KB at a time, which may hold thousands;
 * a client that sends more than this in advance is answered so far, and the connection ends with the last of those answers.
 */
export const WAITING_MAX = 100;

/** The connections of a server. */
export interface Connections {
  /** Target of the last request that was begun on a connection; null: none was. */
  readonly lastTargetOf: (socket: Socket) => string | null;
  /** The request that is being answered on a connection; null: none is. */
  readonly currentOf: (socket: Socket) => Turn | null;
  /**
   * Takes the connections that wait in the listen queue, which would be reset with the listener, and no more: nothing is begun
   * meanwhile, so that they are taken faster than they come. Lets every connection end, and resolves when all have. Answers say `Connection: close` from now on, so that no request is sent into a
   * connection that is being closed; one that is idle is kept as long as its last answer promised (`keepAliveTimeout`). What is
   * left after `longest_ms` is cut.
   */
  readonly drain: (longest_ms: number) => Promise<void>;
}

/** A request and its answer. */
export interface Turn {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The requests of one connection. */
interface Line {
  /** What is being answered. */
  current: Turn | null;
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
  /** Turns that begin once the listener is closed; null: they begin at once. */
  let held: Turn[] | null = null;

  const begin = (socket: Socket, line: Line, turn: Turn) => {
    const { request, response } = turn;
    line.current = turn;
    line.last_target = request.url ?? null;
    if (draining && line.waiting.length === 0) response.shouldKeepAlive = false;
    response.once('close', () => next(socket, line));
    if (held === null) handle(request, response);
    else held.push(turn);
  };
  const release = () => {
    const turns = held ?? [];
    held = null;
    for (const { request, response } of turns) if (!response.closed) handle(request, response);
  };
  const next = (socket: Socket, line: Line) => {
    line.current = null;
    if (socket.destroyed || socket.writableEnded) return;
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
    const destroySoon = socket.destroySoon.bind(socket);
    // Called by Node after an answer that says that it is the last.
    socket.destroySoon = () => {
      if (line.current?.request.complete === false) closeOpenly(socket);
      else destroySoon();
    };
    return line;
  };
  const take = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    // It ended while its last bytes were being read, or is being closed: what follows is what was refused, or was sent in vain.
    if (socket.destroyed || socket.writableEnded) return;
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
    currentOf: (socket) => lines.get(socket)?.current ?? null,
    drain: async (longest_ms) => {
      draining = true;
      for (const { current, waiting } of lines.values())
        if (current !== null && waiting.length === 0) current.response.shouldKeepAlive = false;
      held = [];
      await listenQueueIsEmpty(server, Math.min(ACCEPTING_MS, longest_ms));
      // Not the method of the HTTP server: that closes connections between two requests, and one of those is often on its way.
      const closed = new Promise<void>((resolve) => {
        TcpServer.prototype.close.call(server, () => resolve());
      });
      release();
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

/** A listener whose queue never empties is closed after so long all the same. */
const ACCEPTING_MS = 5_000;
/** A longer turn of the event loop may have left new connections in the listen queue since the queue was looked at. */
const SHORT_TURN_MS = 1;

/** Resolves after a short turn of the event loop that found no connection in the listen queue: Node takes one in a turn. */
function listenQueueIsEmpty(server: Server, longest_ms: number): Promise<void> {
  const until_ms = performance.now() + longest_ms;
  let hasAccepted = true; // the present turn may be past its look at the queue
  let turned_ms = performance.now();
  const onConnection = () => {
    hasAccepted = true;
  };
  server.on('connection', onConnection);
  return new Promise((resolve) => {
    const look = () => {
      const now_ms = performance.now();
      const isEmpty = !hasAccepted && now_ms - turned_ms < SHORT_TURN_MS;
      if (isEmpty || now_ms >= until_ms) {
        server.off('connection', onConnection);
        resolve();
        return;
      }
      hasAccepted = false;
      turned_ms = now_ms;
      setImmediate(look);
    };
    setImmediate(look);
  });
}

/** How long a client may still send after its last answer. */
const LINGER_MS = 2_000;

/**
 * Closes our side of a connection, and reads what the other still sends without a use for it: bytes that meet a closed
 * connection would reset it, and the answer with it.
 */
export function closeOpenly(socket: Socket, last = ''): void {
  socket.on('error', () => socket.destroy());
  socket.resume();
  socket.end(last);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
