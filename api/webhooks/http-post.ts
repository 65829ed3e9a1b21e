import { type IncomingMessage, request } from 'node:http';
import { retryAfter } from '../rules/retry-after.ts';
import { isDelivered } from '../rules/webhook-retry.ts';
import { machineClock } from '../store/clock.ts';
import { AttemptFault, type Connection } from './tls-connection.ts';

/** Stored bytes of the body of an answer. */
const KEPT_BYTES = 2 * 1024;
/** Not below the limit of the connection, which applies first. */
const MAX_HEADER_BYTES = 64 * 1024;

/** Final answer of a receiver. */
export interface ReceiverAnswer {
  readonly status_code: number;
  /** The first bytes of the body, as text. */
  readonly answer: string;
  /** Wait that its Retry-After asks for; null without one. */
  readonly retry_after_ms: number | null;
}

export interface Post {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as UTF-8. */
  readonly body: string;
}

/**
 * Posts over an open connection, destroys it, and returns the final answer. Follows no redirect and skips 1xx answers; a 101 is
 * final (RFC 9110, section 15.2). Of a 2xx answer only the part of the body in the same read is kept, without a wait. Of any
 * other answer waits for the first 2 KB of the body, until `signal` aborts. Throws AttemptFault without a final answer.
 */
export async function postOver(
  { socket, checkReceived }: Connection,
  { url, headers, body }: Post,
  signal: AbortSignal,
): Promise<ReceiverAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ReceiverAnswer>();
  const abort = () => socket.destroy(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    const posted = request({
      method: 'POST',
      path: `${url.pathname}${url.search}`,
      headers: { Host: url.host, 'Content-Length': Buffer.byteLength(body), ...headers },
      createConnection: () => socket,
      maxHeaderSize: MAX_HEADER_BYTES,
    });
    // Added after the listener of the parser: an answer that this read completes is valid.
    posted.once('socket', () => socket.on('data', checkReceived));
    let answered = false;
    const fail = (error: Error) => {
      // After the head of the final answer a failure only truncates the body.
      if (!answered) reject(requestFault(error));
    };
    posted.once('response', (response) => {
      answered = true;
      void readAnswer(response).then(resolve, reject);
    });
    posted.once('upgrade', (response) => resolve(toAnswer(response, Buffer.alloc(0))));
    posted.on('error', fail);
    posted.once('close', () => fail(new Error('connection was closed')));
    posted.end(body);
    if (signal.aborted) abort();
    return await promise;
  } finally {
    signal.removeEventListener('abort', abort);
    socket.destroy();
  }
}

function requestFault(error: Error): AttemptFault {
  return error instanceof AttemptFault ? error : new AttemptFault('connect', error.message, { cause: error });
}

/** Reads the stored part of the body, or less when the connection ends. */
async function readAnswer(response: IncomingMessage): Promise<ReceiverAnswer> {
  const kept: Buffer[] = [];
  let kept_bytes = 0;
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  response.on('data', (chunk: Buffer) => {
    const first = chunk.subarray(0, KEPT_BYTES - kept_bytes);
    kept.push(first);
    kept_bytes += first.length;
    if (kept_bytes === KEPT_BYTES) end();
  });
  // A truncated body is no failure: the status alone decides about delivery.
  for (const event of ['end', 'error', 'close']) response.once(event, end);
  if (isDelivered(response.statusCode ?? null)) setImmediate(end);
  await ended;
  return toAnswer(response, Buffer.concat(kept));
}

function toAnswer({ statusCode = 0, headers }: IncomingMessage, body: Buffer): ReceiverAnswer {
  return {
    status_code: statusCode,
    // The decoder omits an incomplete last character; PostgreSQL stores no NUL.
    answer: new TextDecoder().decode(body, { stream: true }).replaceAll('\0', '\uFFFD'),
    retry_after_ms: retryAfter(headers['retry-after'], machineClock()),
  };
}
