import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, DEFAULT_CIPHERS, getCACertificates, type SecureContext } from 'node:tls';
import { releaseVersion, SettingsError } from '../config.ts';
import { isDelivered } from '../rules/webhook-retry.ts';
import { type Networks, networks, parseReceiverUrl, type ReceiverUrl, refusalOf } from './address.ts';
import { AttemptFault, type Connection, connectTo, type FaultClass, orLate } from './connector.ts';
import { type Answer, postOver } from './request.ts';
import { type NameResolver, openResolver } from './resolver.ts';

/** How long one attempt may take in all, and until it is connected. */
export const ATTEMPT_MS = 15_000;
export const CONNECT_MS = 5_000;
/** However much waits are shortened: a connection takes the time that it takes. */
const LEAST_MS = 2_000;

export interface WebhookClientOptions {
  /** Networks that receivers may lie in although they are not public, such as `127.0.0.0/8`. */
  readonly allow_cidrs: readonly string[];
  /** PEM file of authorities that are believed beside the usual ones. */
  readonly ca_file: string | null;
  /** Factor of all times: 1, or less in a trial. */
  readonly time_scale: number;
  /** Name servers of the machine when left out. */
  readonly resolver?: NameResolver;
}

export type UrlVerdict =
  /** `dns_checked`: false where no name server answers, so that nobody knows where its name leads. */
  { readonly ok: true; readonly dns_checked: boolean } | { readonly ok: false; readonly reason: string };

/** What became of one attempt. Without `error_class` the receiver has taken it. */
export interface PostOutcome {
  readonly status_code: number | null;
  /** For operators. */
  readonly error: string | null;
  /** `blocked` is for operators; clients read `connect`. */
  readonly error_class: FaultClass | 'http_status' | null;
  /** The first 2 KB of what the receiver answered. */
  readonly answer: string;
  readonly duration_ms: number;
  readonly retry_after_ms: number | null;
}

export interface PostRequest {
  readonly url: string;
  /** JSON. */
  readonly body: string;
  /** Beside the type and our name. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The one way out of the service to addresses that clients name. */
export interface WebhookClient {
  /** Whether events may be sent to a URL, as far as can be known now; the reason is for its owner. */
  readonly validateUrl: (url: string) => Promise<UrlVerdict>;
  /** Judges again, connects to what was judged, and posts. Never throws for what a receiver does. */
  readonly post: (request: PostRequest) => Promise<PostOutcome>;
  readonly close: () => void;
}

/** Opens the webhookClient. Throws where a network or the file of authorities cannot be read. */
export function openWebhookClient({
  allow_cidrs,
  ca_file,
  time_scale,
  resolver: given,
}: WebhookClientOptions): WebhookClient {
  const allowed = networks(...allow_cidrs);
  const secureContext = contextWith(ca_file);
  const resolver = given ?? openResolver({ own_names: allowed.length > 0 });
  const attempt_ms = Math.max(LEAST_MS, ATTEMPT_MS * time_scale);
  const connect_ms = Math.max(LEAST_MS, CONNECT_MS * time_scale);
  const common = { 'Content-Type': 'application/json', 'User-Agent': `hail-webhooks/${releaseVersion()}` };
  const find = (url: string) => resolveAddress(url, resolver, allowed);

  async function connectJudged(url: string, late: AbortSignal): Promise<readonly [ReceiverUrl, Connection]> {
    const found = await orLate(find(url), late);
    if (found.kind === 'refused') throw new AttemptFault('blocked', found.reason);
    if (found.kind === 'nowhere') throw new AttemptFault('dns', 'no address was found for its name');
    const { receiver, addresses } = found;
    return [receiver, await connectTo(receiver, { addresses, secureContext, late })];
  }

  async function answerOf({ url, body, headers }: PostRequest): Promise<Answer> {
    using attempt = limit(attempt_ms, 'no answer');
    using connecting = limit(connect_ms, 'no connection');
    const [receiver, connection] = await connectJudged(url, connecting.late);
    return await postOver(connection, { url: receiver.url, body, headers: { ...common, ...headers } }, attempt.late);
  }

  return {
    validateUrl: async (url) => {
      const found = await find(url);
      if (found.kind === 'refused') return { ok: false, reason: found.reason };
      if (found.kind === 'found') return { ok: true, dns_checked: true };
      if (await resolver.works()) return { ok: false, reason: 'must have a host name that has an address' };
      return { ok: true, dns_checked: false };
    },
    post: async (request) => {
      const started_ms = performance.now();
      const ended = await answerOf(request).then(outcomeOf, faultOutcome);
      return { ...ended, duration_ms: Math.round(performance.now() - started_ms) };
    },
    close: resolver.close,
  };
}

type Found =
  | { readonly kind: 'found'; readonly receiver: ReceiverUrl; readonly addresses: readonly string[] }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'nowhere' };

/** The addresses that a URL leads to, all of them judged: the one check, when a URL is given and at each attempt. */
async function resolveAddress(text: string, resolver: NameResolver, allowed: Networks): Promise<Found> {
  const receiver = parseReceiverUrl(text);
  if (typeof receiver === 'string') return { kind: 'refused', reason: receiver };
  const { host, host_is, local } = receiver;
  // Nothing is allowed that could make up for it: nobody has to be asked.
  if (local !== null && allowed.length === 0) return { kind: 'refused', reason: local };
  const addresses = host_is === 'address' ? [host] : await resolver.addressesOf(host);
  if (addresses.length === 0) return local === null ? { kind: 'nowhere' } : { kind: 'refused', reason: local };
  const reason = refusalOf(receiver, addresses, allowed);
  return reason === null ? { kind: 'found', receiver, addresses } : { kind: 'refused', reason };
}

/**
 * TLS 1.2 or newer, the usual authorities, and those of a file. No Diffie-Hellman over finite fields in TLS 1.2: the server chooses
 * the group there, and one of 10,000 bits stops the event loop for half a second with each handshake.
 */
function contextWith(ca_file: string | null): SecureContext {
  const common = { minVersion: 'TLSv1.2', ciphers: `${DEFAULT_CIPHERS}:!kDHE` } as const;
  if (ca_file === null) return createSecureContext(common);
  return createSecureContext({ ...common, ca: [...getCACertificates('default'), ...authoritiesOf(ca_file)] });
}

/** The certificates of a PEM file. TLS passes over what is none in silence, and then believes no receiver that it vouches for. */
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
 * A limit of wall time, however busy the process is and however the answer trickles; its signal aborts with the fault that it is.
 * Timers run before sockets are read: an answer that arrived in time is read in the turn of the event loop that follows.
 */
function limit(longest_ms: number, what: string): Disposable & { readonly late: AbortSignal } {
  const controller = new AbortController();
  const fault = new AttemptFault('timeout', `${what} within ${longest_ms / 1000} s`);
  let turn: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    turn = setImmediate(() => controller.abort(fault));
  }, longest_ms);
  return {
    late: controller.signal,
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      clearImmediate(turn);
    },
  };
}

function outcomeOf({ status_code, answer, retry_after_ms }: Answer): Omit<PostOutcome, 'duration_ms'> {
  const fault = isDelivered(status_code) ? null : { error: `HTTP ${status_code}`, error_class: 'http_status' as const };
  return { status_code, error: null, error_class: null, answer, retry_after_ms, ...fault };
}

function faultOutcome(error: unknown): Omit<PostOutcome, 'duration_ms'> {
  if (!(error instanceof AttemptFault)) throw error;
  const { message, error_class } = error;
  return { status_code: null, error: message, error_class, answer: '', retry_after_ms: null };
}
