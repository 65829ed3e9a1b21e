import { X509Certificate } from 'node:crypto';
import { lookup, Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { createSecureContext, DEFAULT_CIPHERS, getCACertificates, type SecureContext } from 'node:tls';
import { RELEASE } from '../../schemas/release.ts';
import { SettingsError, type WebhookSettings } from '../config.ts';
import { ApiError } from '../http/errors.ts';
import { unlessAborted } from '../http/event-loop.ts';
import { isDelivered } from '../rules/webhook-retry.ts';
import { type Networks, networks, parseReceiverUrl, refusalReason } from './public-address.ts';
import { signatureHeaders } from './signature.ts';
import { AttemptFault, type FaultClass, postTo, type ReceiverAnswer } from './tls-post.ts';

/** Time limits of one attempt: in all, and until it is connected. */
export const ATTEMPT_MS = 15_000;
export const CONNECT_MS = 5_000;
/** Lowest time limit with a shortened time scale: a connection itself is not faster then. */
const LEAST_MS = 2_000;

interface WebhookClientOptions extends WebhookSettings {
  /** Default: name servers of the machine. */
  readonly resolver?: NameResolver;
}

/** Outcome of one POST. Without `error_class` the message is delivered. */
interface PostOutcome {
  readonly status_code: number | null;
  /** For operators. */
  readonly error: string | null;
  /** Operators see `blocked`; clients see `connect` instead. */
  readonly error_class: FaultClass | 'http_status' | null;
  /** The first 2 KB of the body of the answer. */
  readonly answer: string;
  readonly duration_ms: number;
  readonly retry_after_ms: number | null;
}

/** JSON to post. `headers`: in addition to Content-Type and User-Agent. */
type PostRequest = Readonly<Record<'url' | 'body', string> & { headers: Readonly<Record<string, string>> }>;

/** HTTP client for URLs that clients give: the service requests such URLs by it alone. */
type WebhookClient = ReturnType<typeof openWebhookClient>;

/** Opens the client. Throws when a network or the file of authorities cannot be read. */
export function openWebhookClient({ allow_cidrs, ca_file, time_scale, resolver: given }: WebhookClientOptions) {
  const allowed = networks(...allow_cidrs);
  const secureContext = contextWith(ca_file);
  const resolver = given ?? openResolver(allowed.length > 0);
  const attempt_ms = Math.max(LEAST_MS, ATTEMPT_MS * time_scale);
  const connect_ms = Math.max(LEAST_MS, CONNECT_MS * time_scale);
  const common = { 'Content-Type': 'application/json', 'User-Agent': `hail-webhooks/${RELEASE}` };

  async function post({ url, body, headers }: PostRequest): Promise<ReceiverAnswer> {
    using connecting = limit(connect_ms, 'no connection');
    using attempt = limit(attempt_ms, 'no answer');
    const found = await unlessAborted(resolveUrl(url, resolver, allowed), connecting.signal);
    if (typeof found === 'string') throw new AttemptFault('blocked', found);
    const { receiver, addresses } = found;
    if (!addresses?.length) throw new AttemptFault('dns', 'no address was found for its name');
    const sent = { receiver, addresses, secureContext, body, headers: { ...common, ...headers } };
    return await postTo(sent, connecting.signal, attempt.signal);
  }

  return {
    /** Why a URL is not allowed now, for its owner; null for an allowed one, also where no name server answers. */
    validateUrl: async (url: string): Promise<string | null> => {
      const found = await resolveUrl(url, resolver, allowed);
      if (typeof found === 'string') return found;
      return found.addresses?.length === 0 ? 'must have a host name that has an address' : null;
    },
    /** Validates the URL again, connects to a validated address, and posts. Never throws for a fault of the receiver. */
    post: async (request: PostRequest): Promise<PostOutcome> => {
      const started_ms = performance.now();
      const ended = await post(request).then(answerOutcome, faultOutcome);
      return { ...ended, duration_ms: Math.round(performance.now() - started_ms) };
    },
    close: resolver.close,
  };
}

/** Result of one attempt. `started_ms`: epoch milliseconds of the machine's clock. */
export type AttemptResult = PostOutcome & { readonly started_ms: number };

/** Posts a message to a receiver once, signed with all its secrets. Its bytes are the same with every attempt. */
export async function postSigned(
  webhookClient: Pick<WebhookClient, 'post'>,
  { url, secrets }: { readonly url: string; readonly secrets: readonly string[] },
  message: Readonly<Record<'id' | 'event' | 'body', string>>,
): Promise<AttemptResult> {
  const started_ms = Date.now();
  const headers = signatureHeaders(message, secrets, started_ms);
  return { ...(await webhookClient.post({ url, body: message.body, headers })), started_ms };
}

/** Throws `bad_request` with the name of the field for a URL that is not allowed: by the answer of a name server, which may change. */
export async function checkUrl({ validateUrl }: WebhookClient, field: string, url: string): Promise<void> {
  const reason = await validateUrl(url);
  if (reason !== null) throw new ApiError('bad_request', `/${field}: ${reason}`, {}, { may_change: true });
}

/**
 * Parses a URL, looks up its addresses and checks all of them: the one check, for a new URL and for each attempt. Returns the reason
 * as text for a URL that is refused. `addresses`: null where no name server could say.
 */
async function resolveUrl(text: string, resolver: NameResolver, allowed: Networks) {
  const receiver = parseReceiverUrl(text);
  if (typeof receiver === 'string') return receiver;
  const { host, local } = receiver;
  // Without allowed networks no address can change this result: a look-up is not needed.
  if (local !== null && allowed.length === 0) return local;
  const addresses = isIP(host) !== 0 ? [host] : await resolver.resolve(host);
  return refusalReason(receiver, addresses ?? [], allowed) ?? { receiver, addresses };
}

/**
 * TLS 1.2 or newer, with the default authorities and the authorities of a file. No finite-field Diffie-Hellman in TLS 1.2: the
 * server chooses the group there, and a group of 10,000 bits blocks the event loop for half a second with each handshake.
 */
function contextWith(ca_file: string | null): SecureContext {
  const common = { minVersion: 'TLSv1.2', ciphers: `${DEFAULT_CIPHERS}:!kDHE` } as const;
  if (ca_file === null) return createSecureContext(common);
  return createSecureContext({ ...common, ca: [...getCACertificates('default'), ...authoritiesOf(ca_file)] });
}

/** Certificates of a PEM file. TLS ignores malformed ones without an error, and then trusts no receiver that they signed. */
function authoritiesOf(ca_file: string): readonly string[] {
  const found = readFileSync(ca_file, 'utf8').match(CERTIFICATE) ?? [];
  if (found.length === 0)
    throw new SettingsError(`HAIL_WEBHOOK_CA_FILE: ${ca_file} holds no certificate, expected some in PEM`);
  return found.map((pem, k) => {
    try {
      return new X509Certificate(pem).toString();
    } catch (cause) {
      throw new SettingsError(`HAIL_WEBHOOK_CA_FILE: certificate ${k + 1} of ${ca_file} is malformed`, { cause });
    }
  });
}

const CERTIFICATE = /-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----[^-]*-----END \1-----/g;

/**
 * Aborts with a timeout fault after some wall time, whatever single bytes arrive. Timers run before sockets are read: an answer that
 * arrived in time is read in the following turn of the event loop.
 */
function limit(longest_ms: number, what: string): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const fault = new AttemptFault('timeout', `${what} within ${longest_ms / 1000} s`);
  const timer = setTimeout(() => setImmediate(() => controller.abort(fault)), longest_ms).unref();
  return { signal: controller.signal, [Symbol.dispose]: () => clearTimeout(timer) };
}

function answerOutcome({ status_code, answer, retry_after_ms }: ReceiverAnswer): Omit<PostOutcome, 'duration_ms'> {
  const fault = isDelivered(status_code) ? null : { error: `HTTP ${status_code}`, error_class: 'http_status' as const };
  return { status_code, error: null, error_class: null, answer, retry_after_ms, ...fault };
}

function faultOutcome(error: unknown): Omit<PostOutcome, 'duration_ms'> {
  if (!(error instanceof AttemptFault)) throw error;
  const { message, error_class } = error;
  return { status_code: null, error: message, error_class, answer: '', retry_after_ms: null };
}

/** Time limit of one question to a name server, and number of tries. */
const ANSWER_MS = 1_000;
const TRIES = 2;
/** Errors that say that a name has no address: from a name server, or because no server can hold such a name. */
const NO_ADDRESS: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

/** Looks up host names. */
type NameResolver = ReturnType<typeof openResolver>;

/**
 * Asks name servers directly: a system look-up occupies a thread, which file access needs, while a server is silent. `own_names`: also
 * uses names that only this machine knows, such as names of its hosts file. `servers`: addresses; default: those of the machine.
 */
export function openResolver(own_names: boolean, servers?: readonly string[]) {
  const resolver = new Resolver({ timeout: ANSWER_MS, tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  return {
    /** All addresses of a name, [] when it has none; null when no name server could say. */
    resolve: async (name: string): Promise<readonly string[] | null> => {
      // Only this machine knows names without a dot.
      const asked = own_names && !name.includes('.') ? [] : [resolver.resolve4(name), resolver.resolve6(name)];
      const answers = await Promise.all(asked.map((answer) => answer.catch(withoutAddress)));
      if (own_names && !answers.some((answer) => answer?.length)) {
        const own = lookup(name, { all: true }).then((found) => found.map(({ address }) => address));
        answers.push(await own.catch(withoutAddress));
      }
      const found = answers.flatMap((answer) => answer ?? []);
      return found.length === 0 && answers.includes(null) ? null : found;
    },
    /** Cancels questions under way. */
    close: (): void => resolver.cancel(),
  };
}

/** Result of a look-up that failed; throws any other error. */
function withoutAddress(error: unknown): string[] | null {
  const { syscall, code } = error as NodeJS.ErrnoException;
  if (syscall === undefined) throw error;
  return NO_ADDRESS.has(code) ? [] : null;
}
