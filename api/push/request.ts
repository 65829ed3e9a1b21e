import type { TLSSocket } from 'node:tls';
import { Client, type Dispatcher } from 'undici';
import { AttemptFault } from './connector.ts';

/** So much of an answer is read. */
const READ_BYTES = 64 * 1024;
/** So much of it is kept. */
const KEPT_BYTES = 2 * 1024;

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
 * Posts over an open connection, which ends with it, and follows no redirect. The status decides: of the body as much is read
 * as comes before the signal. Throws AttemptFault without a status.
 */
export async function postOver(socket: TLSSocket, { url, headers, body }: Post, signal: AbortSignal): Promise<Answer> {
  const client = new Client(url.origin, {
    connect: (_, callback) => queueMicrotask(() => callback(null, socket)),
    // One request: the connection is closed after it.
    pipelining: 0,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  try {
    const path = `${url.pathname}${url.search}`;
    const response = await client.request({ method: 'POST', path, headers, body, signal });
    const { statusCode: status_code } = response;
    const answer = await firstBytes(response.body);
    return { status_code, answer, retry_after_ms: retryAfter(response.headers['retry-after'], Date.now()) };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new AttemptFault('connect', (error as Error).message, { cause: error });
  } finally {
    socket.destroy();
    await client.destroy();
  }
}

/** The beginning of a body, as far as it comes. */
async function firstBytes(body: Dispatcher.ResponseData['body']): Promise<string> {
  const kept: Buffer[] = [];
  let [read, kept_bytes] = [0, 0];
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      const first = chunk.subarray(0, KEPT_BYTES - kept_bytes);
      kept.push(first);
      kept_bytes += first.length;
      read += chunk.length;
      if (read >= READ_BYTES) break;
    }
  } catch {
    // It broke off, or took too long: the receiver has said by its status what became of the event.
  }
  // A character that was cut in two is left out; databases take no NUL.
  return new TextDecoder().decode(Buffer.concat(kept), { stream: true }).replaceAll('\0', '\uFFFD');
}

/** How long a `Retry-After` asks to wait from now on, seconds or a date; null for anything else. */
export function retryAfter(header: string | string[] | undefined, now_ms: number): number | null {
  const text = [header].flat()[0]?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const until_ms = /^\w{3,9}, .* GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(until_ms) ? null : Math.max(0, until_ms - now_ms);
}
