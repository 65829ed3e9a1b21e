import { type IncomingMessage, request } from 'node:http';
import { connect, isIP, type LookupFunction } from 'node:net';
import { type SecureContext, connect as secure, type TLSSocket } from 'node:tls';
import { isDelivered, retryAfter } from '../rules/webhook-retry.ts';
import type { ReceiverUrl } from './public-address.ts';

/** Why an attempt has no answer. Operators see `blocked`; clients see `connect` instead. */
export type FaultClass = 'dns' | 'blocked' | 'connect' | 'tls' | 'timeout';

/** Failure of an attempt without an answer. */
export class AttemptFault extends Error {
  readonly error_class: FaultClass;

  constructor(error_class: FaultClass, reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.name = 'AttemptFault';
    this.error_class = error_class;
  }
}

/** Failures of the TCP connection, also during TLS. */
const BROKEN: ReadonlySet<unknown> = new Set(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT']);
/** Most bytes that a connection may receive in all: TLS handshake and records, 1xx answers, headers, chunk framing, body. */
const RECEIVED_BYTES_MAX = 64 * 1024;
/** Time of one address before the next is tried: longer than a lost first packet takes, which is sent again after a second. */
const ADDRESS_MS = 1_500;
/** Interval of counting bytes without data events, such as bytes of a handshake. */
const COUNT_EVERY_MS = 100;
/** Stored bytes of the body of an answer. */
const KEPT_BYTES = 2 * 1024;

/** Final answer of a receiver. */
export type ReceiverAnswer = ReturnType<typeof toAnswer>;

interface Post {
  readonly receiver: ReceiverUrl;
  /** Validated addresses: the connection uses only these and no further look-up. */
  readonly addresses: readonly string[];
  /** Trusted authorities and lowest TLS version. */
  readonly secureContext: SecureContext;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as UTF-8. */
  readonly body: string;
}

/**
 * Connects to the address that answers first, verifies its certificate, posts, ends the connection, and returns the final answer.
 * Follows no redirect and skips 1xx answers; a 101 is final (RFC 9110, section 15.2). Not undici: it destroys the connection at
 * a 100 that it did not ask for and at a 101, and counts no bytes of TLS. `connecting` limits the time until the certificate is
 * verified, `attempt` the whole time; both abort with an AttemptFault. Throws AttemptFault without a final answer.
 */
export async function postTo(post: Post, connecting: AbortSignal, attempt: AbortSignal): Promise<ReceiverAnswer> {
  const { receiver, addresses, secureContext } = post;
  const { host, port } = receiver;
  const { promise, resolve, reject } = Promise.withResolvers<ReceiverAnswer>();
  // Only the plain socket counts the bytes of TLS itself.
  const lookup = answerWith(addresses);
  const raw = connect({ host, port, lookup, autoSelectFamily: true, autoSelectFamilyAttemptTimeout: ADDRESS_MS });
  let socket: TLSSocket | null = null;
  let is_verified = false;
  let answered = false;
  const end = () => {
    socket?.destroy();
    raw.destroy();
  };
  const fail = (fault: AttemptFault) => {
    // After the head of the final answer a failure only truncates the body.
    if (!answered) reject(fault);
    end();
  };
  const checkReceived = () => {
    if (raw.bytesRead <= RECEIVED_BYTES_MAX) return;
    fail(new AttemptFault('connect', `sent more than ${RECEIVED_BYTES_MAX / 1024} KB`));
  };
  const counting = setInterval(checkReceived, COUNT_EVERY_MS);
  connecting.addEventListener('abort', () => is_verified || fail(connecting.reason));
  attempt.addEventListener('abort', () => fail(attempt.reason));
  raw.on('error', (error) => fail(connectionFault(error, 'connect')));
  raw.once('close', () => fail(new AttemptFault('connect', 'connection was closed')));
  raw.once('connect', () => {
    // Servers choose their certificate by this name; an address is not a valid server name.
    const name = isIP(host) === 0 ? { servername: host } : {};
    const encrypted = secure({ socket: raw, host, ...name, secureContext, ALPNProtocols: ['http/1.1'] });
    socket = encrypted;
    encrypted.on('error', (error) => {
      if (!is_verified) fail(connectionFault(error, 'tls'));
    });
    encrypted.once('secureConnect', () => {
      is_verified = true;
      const posted = send(post, encrypted);
      // Added after the listener of the parser: an answer that this read completes is valid.
      posted.once('socket', () => encrypted.on('data', checkReceived));
      posted.once('response', (response) => {
        answered = true;
        void readAnswer(response).then(resolve, reject);
      });
      posted.once('upgrade', (response) => resolve(toAnswer(response, Buffer.alloc(0))));
      posted.on('error', (error) => fail(new AttemptFault('connect', error.message, { cause: error })));
    });
  });
  if (connecting.aborted) fail(connecting.reason);
  try {
    return await promise;
  } finally {
    clearInterval(counting);
    end();
  }
}

function send({ receiver: { url }, headers, body }: Post, socket: TLSSocket) {
  const posted = request({
    method: 'POST',
    path: `${url.pathname}${url.search}`,
    headers: { Host: url.host, 'Content-Length': Buffer.byteLength(body), ...headers },
    createConnection: () => socket,
    // Not below the limit of the connection, which applies first.
    maxHeaderSize: RECEIVED_BYTES_MAX,
  });
  posted.end(body);
  return posted;
}

/** A look-up that returns the validated addresses. Node does no look-up for a literal address, which was validated itself. */
function answerWith(addresses: readonly string[]): LookupFunction {
  const answers = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_, __, callback) => callback(null, answers);
}

function connectionFault(error: NodeJS.ErrnoException, stage: 'connect' | 'tls'): AttemptFault {
  const { code, message } = error;
  return new AttemptFault(BROKEN.has(code) ? 'connect' : stage, code ?? message, { cause: error });
}

/**
 * Reads the stored part of the body, or less when the connection ends. Of a 2xx answer only the part in the same read, without
 * a wait; of any other answer waits for the first 2 KB.
 */
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

/** An answer with the first bytes of its body as text, and the wait that its Retry-After asks for; null without one. */
function toAnswer({ statusCode = 0, headers }: IncomingMessage, body: Buffer) {
  return {
    status_code: statusCode,
    // The decoder omits an incomplete last character; PostgreSQL stores no NUL.
    answer: new TextDecoder().decode(body, { stream: true }).replaceAll('\0', '\uFFFD'),
    retry_after_ms: retryAfter(headers['retry-after'], Date.now()),
  };
}
