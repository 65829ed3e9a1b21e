import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type RetryOptions, Transient, Unavailable } from './retry.ts';

export interface HttpOptions extends RetryOptions {
  /** Certificate authority (PEM) to trust instead of the public ones. */
  readonly ca?: string | undefined;
  /** Returns a signal that aborts after `ms`: the limit of one attempt, head and body. */
  readonly deadline?: ((ms: number) => AbortSignal) | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: IncomingMessage;
}

/** Failures of a connection that another attempt may not meet. */
const TRANSIENT_STATUSES = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'EAI_AGAIN',
  'ERR_STREAM_PREMATURE_CLOSE',
]);

/**
 * Sends a GET and gives its answer, whatever the status, to `use`, which reads the body; both within `allowed_ms`.
 * Throws Transient when the connection fails or time runs out, the reason of `network.signal` when that aborts,
 * Unavailable for lasting failures (unknown host, certificate). Redirects are not followed.
 */
export async function get<T>(
  url: string,
  headers: Readonly<Record<string, string>>,
  allowed_ms: number,
  network: HttpOptions,
  use: (answer: Answer) => Promise<T>,
): Promise<T> {
  const deadline = (network.deadline ?? AbortSignal.timeout)(allowed_ms);
  const signal = network.signal ? AbortSignal.any([network.signal, deadline]) : deadline;
  let sent: ClientRequest | undefined;
  try {
    const body = await new Promise<IncomingMessage>((resolve, reject) => {
      const send = url.startsWith('https:') ? httpsRequest : httpRequest;
      sent = send(url, { headers: { 'accept-encoding': 'identity', ...headers }, signal, ca: network.ca });
      sent.on('response', resolve).on('error', reject).end();
    });
    return await use({ status: body.statusCode ?? 0, headers: body.headers, body });
  } catch (cause) {
    network.signal?.throwIfAborted();
    if (deadline.aborted) throw new Transient(url, `no whole answer within ${allowed_ms} ms`, { cause });
    throw explained(url, cause);
  } finally {
    // No effect on a connection whose body was read to its end; any other is closed.
    sent?.destroy();
  }
}

/**
 * Body of an answer. Throws Unavailable when it announces or has more than `max_bytes`, Transient when it has another length
 * than announced. `what` names the body in errors.
 */
export async function readBody(
  url: string,
  { headers, body }: Answer,
  max_bytes: number,
  what = 'answer',
): Promise<Buffer> {
  const over = `${what} is over ${max_bytes} bytes`;
  const announced = Number(headers['content-length'] ?? 0);
  if (announced > max_bytes) throw new Unavailable(url, `announces ${announced} bytes: ${over}`);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > max_bytes) throw new Unavailable(url, over);
    chunks.push(chunk);
  }
  if (headers['content-length'] !== undefined && bytes !== announced)
    throw new Transient(url, `${bytes} bytes arrived, expected ${announced}`);
  return Buffer.concat(chunks);
}

/** Error of a status other than the expected ones: 408, 429 and 5xx may pass. */
export function refusal(url: string, { status, headers }: Answer): Transient | Unavailable {
  const to = headers.location === undefined ? '' : ` to ${headers.location}`;
  const reason = `server answers ${status}${to}, expected 200`;
  if (status === 408 || status === 429 || status >= 500)
    return new Transient(url, reason, { wait_ms: retryAfter(headers) });
  return new Unavailable(url, reason);
}

/** Milliseconds a server asks to wait, in seconds or as a date against its own clock; 0 when it does not say. */
function retryAfter(headers: IncomingMessage['headers']): number {
  const text = headers['retry-after'];
  if (text === undefined) return 0;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const wait_ms = Date.parse(text) - Date.parse(headers.date ?? '');
  return Number.isFinite(wait_ms) ? Math.max(0, wait_ms) : 0;
}

function explained(url: string, error: unknown): unknown {
  // Errors of the file system (a full disk) come from `use` and are not the server's.
  if (!(error instanceof Error) || !('code' in error) || 'path' in error || error.code === 'ENOSPC') return error;
  const reason = `connection failed: ${error.code}`;
  return TRANSIENT_STATUSES.has(String(error.code))
    ? new Transient(url, reason, { cause: error })
    : new Unavailable(url, reason, { cause: error });
}
