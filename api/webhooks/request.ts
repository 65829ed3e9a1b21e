import { type IncomingMessage, request } from 'node:http';
import { retryAfter } from '../rules/retry-after.ts';
import { isDelivered } from '../rules/webhook-retry.ts';
import { AttemptFault, type Connection } from './connector.ts';

/** Bytes of the body of an answer that are kept. */
const KEPT_BYTES = 2 * 1024;
/** The limit of the connection is the one that counts. */
const MAX_HEADER_BYTES = 64 * 1024;

/** What a receiver answered. */
export interface Answer {
  readonly status_code: number;
  /** The first bytes of the body, as text. */
  readonly answer: string;
  /** How long it wants to be left alone; null: it did not say. */
  readonly retry_after_ms: number | null;
}

export interface Post {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as UTF-8. */
  readonly body: string;
}

/**
 * Posts over an open connection, which is destroyed afterwards, and returns the final answer. Follows no redirect and skips 1xx
 * answers; a 101 is final (RFC 9110, section 15.2). The body of a 2xx answer is not waited for: what came in the same read is kept.
 * Of any other answer the first 2 KB of the body are waited for, or what came before `late` aborts. Throws AttemptFault where
 * there is no final answer.
 */
export async function postOver(
  { socket, checkReceived }: Connection,
  { url, headers, body }: Post,
  late: AbortSignal,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const abort = () => socket.destroy(late.reason);
  late.addEventListener('abort', abort, { once: true });
  try {
    const posted = request({
      method: 'POST',
      path: `${url.pathname}${url.search}`,
      headers: { Host: url.host, 'Content-Length': Buffer.byteLength(body), ...headers },
      createConnection: () => socket,
      maxHeaderSize: MAX_HEADER_BYTES,
    });
    // After the parser: an answer that is complete in this read counts.
    posted.once('socket', () => socket.on('data', checkReceived));
    let answered = false;
    const fail = (error: Error) => {
      // After the head of the final answer a failure only cuts its body short.
      if (!answered) reject(requestFault(error));
    };
    posted.once('response', (response) => {
      answered = true;
      void read(response).then(resolve, reject);
    });
    posted.once('upgrade', (response) => resolve(answerOf(response, Buffer.alloc(0))));
    posted.on('error', fail);
    posted.once('close', () => fail(new Error('connection was closed')));
    posted.end(body);
    if (late.aborted) abort();
    return await promise;
  } finally {
    late.removeEventListener('abort', abort);
    socket.destroy();
  }
}

function requestFault(error: Error): AttemptFault {
  return error instanceof AttemptFault ? error : new AttemptFault('connect', error.message, { cause: error });
}

/** The answer, with as much of its body as is kept or came before the connection ended. */
async function read(response: IncomingMessage): Promise<Answer> {
  const kept: Buffer[] = [];
  let kept_bytes = 0;
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  response.on('data', (chunk: Buffer) => {
    const first = chunk.subarray(0, KEPT_BYTES - kept_bytes);
    kept.push(first);
    kept_bytes += first.length;
    if (kept_bytes === KEPT_BYTES) end();
  });
  // A body that is cut short changes nothing: the status says whether the event was delivered.
  for (const event of ['end', 'error', 'close']) response.once(event, end);
  if (isDelivered(response.statusCode ?? null)) setImmediate(end);
  await ended;
  return answerOf(response, Buffer.concat(kept));
}

function answerOf({ statusCode = 0, headers }: IncomingMessage, body: Buffer): Answer {
  return {
    status_code: statusCode,
    // A character that was cut in two is left out; databases take no NUL.
    answer: new TextDecoder().decode(body, { stream: true }).replaceAll('\0', '\uFFFD'),
    retry_after_ms: retryAfter(headers['retry-after'], Date.now()),
  };
}
