import { type ClientRequest, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { PipelineError } from '../error.ts';

// The time of one address before the next is tried. Node's quarter of a second gives up servers that are far away, and a lost first packet.
setDefaultAutoSelectFamilyAttemptTimeout(1_500);

/** A failure that another attempt may not meet: a busy server, a broken connection, a body that ended early. */
export class Transient extends PipelineError {
  override name = 'Transient';
  /** Wait that the server asked for, milliseconds. */
  readonly wait_ms: number;

  constructor(subject: string, reason: string, options: ErrorOptions & { wait_ms?: number } = {}) {
    super('sources', subject, reason, options);
    this.wait_ms = options.wait_ms ?? 0;
  }
}

/** A file, page or listing that a server did not deliver after every retry. */
export class Unavailable extends PipelineError {
  override name = 'Unavailable';

  constructor(subject: string, reason: string, options?: ErrorOptions) {
    super('sources', subject, reason, options);
  }
}

interface Patience {
  readonly retries: number;
  readonly first_ms: number;
  readonly longest_ms: number;
}

const USUAL_PATIENCE: Patience = { retries: 5, first_ms: 500, longest_ms: 30_000 };

export interface HttpOptions {
  readonly patience?: Patience | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A GET with its bounds. */
interface HttpRequest {
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses beside 200 that are returned; any other throws. */
  readonly statuses?: readonly number[];
  /** Bound on the body. */
  readonly max_bytes: number;
  /** Bound on one attempt, head and body. */
  readonly allowed_ms: number;
}

interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

/** Answer to a GET after as many attempts as `network.patience` allows; see `fetchOnce`. */
export function fetchBytes(url: string, request: HttpRequest, network: HttpOptions = {}): Promise<HttpAnswer> {
  return withRetries(() => fetchOnce(url, request, network), network);
}

/**
 * Answer to one GET. Throws Transient when the connection fails, time runs out, the body ends early or the status may pass (408,
 * 429, 5xx); Unavailable for another status, a body over its bound and lasting failures (unknown host, certificate); the reason of
 * `network.signal` when that aborts. Redirects are not followed.
 */
export async function fetchOnce(url: string, request: HttpRequest, network: HttpOptions): Promise<HttpAnswer> {
  const { headers = {}, statuses = [], max_bytes, allowed_ms } = request;
  const deadline = AbortSignal.timeout(allowed_ms);
  const signal = network.signal ? AbortSignal.any([network.signal, deadline]) : deadline;
  let sent: ClientRequest | undefined;
  try {
    const message = await new Promise<IncomingMessage>((resolve, reject) => {
      const send = url.startsWith('https:') ? httpsRequest : httpRequest;
      sent = send(url, { headers: { 'accept-encoding': 'identity', ...headers }, signal });
      sent.on('response', resolve).on('error', reject).end();
    });
    const status = message.statusCode ?? 0;
    if (status !== 200 && !statuses.includes(status)) throw refusal(url, status, message.headers);
    return { status, headers: message.headers, bytes: await readBody(url, message, max_bytes) };
  } catch (cause) {
    network.signal?.throwIfAborted();
    if (deadline.aborted) throw new Transient(url, `no whole answer within ${allowed_ms} ms`, { cause });
    throw explained(url, cause);
  } finally {
    // No effect on a connection whose body was read to its end; any other is closed.
    sent?.destroy();
  }
}

async function readBody(url: string, message: IncomingMessage, max_bytes: number): Promise<Buffer> {
  const over = `answer is over ${max_bytes} bytes`;
  const length = message.headers['content-length'];
  const hasBody = message.statusCode !== 304;
  if (hasBody && Number(length ?? 0) > max_bytes) throw new Unavailable(url, `announces ${length} bytes: ${over}`);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > max_bytes) throw new Unavailable(url, over);
    chunks.push(chunk);
  }
  if (hasBody && length !== undefined && bytes !== Number(length))
    throw new Transient(url, `${bytes} bytes arrived, expected ${length}`);
  return Buffer.concat(chunks);
}

function refusal(url: string, status: number, headers: IncomingHttpHeaders): Transient | Unavailable {
  const to = headers.location === undefined ? '' : ` to ${headers.location}`;
  const reason = `server answers ${status}${to}, expected 200`;
  if (status === 408 || status === 429 || status >= 500)
    return new Transient(url, reason, { wait_ms: 1000 * (Number(headers['retry-after']) || 0) });
  return new Unavailable(url, reason);
}

/** Failures of a connection that another attempt may not meet. */
const TRANSIENT_CODES = new Set([
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

function explained(url: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  const Failure = TRANSIENT_CODES.has(String(error.code)) ? Transient : Unavailable;
  return new Failure(url, `connection failed: ${error.code}`, { cause: error });
}

/**
 * Result of the first attempt that succeeds. Only `Transient` failures are tried again, after a wait that doubles or the longer one
 * the server asked for (never over `longest_ms`); the last one is thrown as `Unavailable`.
 */
export async function withRetries<T>(attempt: () => Promise<T>, options: HttpOptions): Promise<T> {
  const { patience = USUAL_PATIENCE, signal } = options;
  for (let attempts = 1; ; attempts++) {
    try {
      signal?.throwIfAborted();
      return await attempt();
    } catch (failure) {
      if (!(failure instanceof Transient)) throw failure;
      if (attempts > patience.retries)
        throw new Unavailable(failure.subject, `${failure.reason}, after ${attempts} attempts`, { cause: failure });
      const planned_ms = patience.first_ms * 2 ** (attempts - 1);
      const wait_ms = Math.min(Math.max(planned_ms, failure.wait_ms), patience.longest_ms);
      await pause(wait_ms, signal);
    }
  }
}

/** Waits `ms`, or until the signal aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal?.aborted) throw error;
  });
}

/** A page of a server. */
export interface Page {
  readonly bytes: Uint8Array;
  /** Time of its last change as its server says, epoch milliseconds; null when it does not say. */
  readonly modified_ms: number | null;
  /** Records this version, so that the server does not send it again. Called once the content is published. */
  readonly confirm: () => void;
}

/** Pages of public servers, fetched again only when they changed. */
export interface Web {
  /**
   * A page; `unchanged` when the server still has the version confirmed last, `missing` when it has none (404, 410).
   * `media_type` is for servers that offer several. Throws Unavailable after a few tries, and for a body over `max_bytes`.
   */
  readonly page: (url: string, max_bytes: number, media_type?: string) => Promise<Page | 'unchanged' | 'missing'>;
}

/** The largest pages of feeds have a few megabytes. */
const PAGE_ALLOWED_MS = 30_000;
/** The next poll of a feed comes soon: a long wait for one answer would only delay it. */
const PAGE_PATIENCE: Patience = { retries: 2, first_ms: 1000, longest_ms: 5000 };
/** Addresses whose confirmed versions stay in memory. */
const MAX_VERSIONS = 500;

/** Opens a client of public servers, which keeps the confirmed version of each page in memory. */
export function openWeb(user_agent: string, network: HttpOptions = {}): Web {
  const versions = new Map<string, Readonly<Record<string, string>>>();
  const confirm = (url: string, version: Readonly<Record<string, string>>) => {
    versions.delete(url);
    versions.set(url, version);
    if (versions.size > MAX_VERSIONS) versions.delete(versions.keys().next().value as string);
  };
  const patient = { patience: PAGE_PATIENCE, ...network };
  return {
    page: async (url, max_bytes, media_type) => {
      const known = versions.get(url);
      const accept = media_type === undefined ? {} : { accept: media_type };
      const headers = { 'user-agent': user_agent, ...accept, ...known };
      const statuses = known === undefined ? [404, 410] : [304, 404, 410];
      const request = { headers, statuses, max_bytes, allowed_ms: PAGE_ALLOWED_MS };
      const answer = await fetchBytes(url, request, patient);
      if (answer.status === 304) return 'unchanged';
      if (answer.status !== 200) return 'missing';
      const modified_ms = Date.parse(answer.headers['last-modified'] ?? '');
      return {
        bytes: answer.bytes,
        modified_ms: Number.isNaN(modified_ms) ? null : modified_ms,
        confirm: () => confirm(url, conditionOf(answer.headers)),
      };
    },
  };
}

/** Request headers that make a server send a page only when its version is another. */
function conditionOf({ etag, 'last-modified': modified }: IncomingHttpHeaders): Record<string, string> {
  return {
    ...(etag === undefined ? {} : { 'if-none-match': etag }),
    ...(modified === undefined ? {} : { 'if-modified-since': modified }),
  };
}
