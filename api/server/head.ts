import { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv4, type Socket } from 'node:net';
import ipaddr, { type IPv6 } from 'ipaddr.js';
import type { ErrorCode } from '../../schemas/errors.ts';
import { newId } from '../../schemas/ids.ts';
import { ApiError } from '../http/errors.ts';
import { CURRENT_VARIANT, type Middleware, type State, type Variant } from './state.ts';

/** Names and values of all headers together. */
export const HEADERS_BYTES = 16_384;
export const LONGEST_TARGET = 8192;
const MOST_HEADERS = 64;
/** Escapes of ASCII characters in a path, and the characters that need none. */
const ESCAPED = /%[2-7][0-9a-f]/gi;
const UNRESERVED = /[A-Za-z0-9._~-]/;

/** What a request is known by from its first moment: id, path, address, data clock. */
export function createContext(now: () => number, trusted: BlockList | null, others: readonly Variant[]): Middleware {
  return (ctx, next) => {
    const { path, search } = readTarget(ctx.originalUrl);
    ctx.state = {
      request_id: newId('request', Date.now()),
      path,
      search,
      address: clientAddress(ctx.req, trusted),
      now_ms: now(),
      variant: others.find(({ hasPath }) => hasPath(path)) ?? CURRENT_VARIANT,
      caller: null,
      rate_headers: null,
      credits_charged: null,
    };
    return next();
  };
}

/**
 * Path and query of a request target, without scheme and host. Of escapes those are decoded that need not have been (RFC 3986, 6.2.2.2),
 * and one slash at the end is removed: "A trailing slash is the same route; `//` and dot segments: 404".
 */
function readTarget(target: string): Pick<State, 'path' | 'search'> {
  const local = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '') || '/';
  const mark = local.indexOf('?');
  const path = (mark === -1 ? local : local.slice(0, mark)).replace(ESCAPED, (text) => {
    const character = decodeURIComponent(text);
    return UNRESERVED.test(character) ? character : text;
  });
  const is_slashed = path.length > 1 && path.endsWith('/') && !path.endsWith('//');
  return { path: is_slashed ? path.slice(0, -1) : path, search: mark === -1 ? '' : local.slice(mark + 1) };
}

/** A request that Node could not read, or that is no request for a resource, for the application to refuse. */
export class UnreadableRequest extends IncomingMessage {
  readonly error: ApiError;

  constructor(socket: Socket, target: string, error: ApiError) {
    super(socket);
    this.url = target;
    this.method = 'GET';
    this.error = error;
  }
}

/**
 * Refuses, before any other check, a request that could not be read, has a target longer than 8 KB (414), more than 64 headers or 16 KB
 * of them (431), no Host or several, or a transfer coding other than chunked (400). The connection ends with the refusal, because its
 * next bytes may be the body, or a request.
 */
export const headLimits: Middleware = (ctx, next) => {
  const { req, originalUrl: target } = ctx;
  if (req instanceof UnreadableRequest) throw req.error;
  const { httpVersion, headers, rawHeaders } = req;
  if (target.length > LONGEST_TARGET)
    throw refusal('uri_too_long', `target is ${target.length} bytes, expected at most ${LONGEST_TARGET}`);
  const count = rawHeaders.length / 2;
  if (count > MOST_HEADERS) throw refusal('headers_too_large', `${count} headers, expected at most ${MOST_HEADERS}`);
  let bytes = 0;
  for (const text of rawHeaders) bytes += text.length; // runs for every request: no function call per header
  if (bytes > HEADERS_BYTES)
    throw refusal('headers_too_large', `headers are ${bytes} bytes, expected at most ${HEADERS_BYTES}`);
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    throw refusal('bad_request', `request is HTTP/${httpVersion}, expected HTTP/1.1 or HTTP/1.0`);
  const hosts = countOf(rawHeaders, 'host');
  if (hosts > 1) throw refusal('bad_request', 'Host is given more than once');
  if (hosts === 0 && httpVersion === '1.1') throw refusal('bad_request', 'Host is missing');
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    throw refusal('bad_request', 'Transfer-Encoding is not chunked alone');
  return next();
};

function refusal(code: ErrorCode, message: string): ApiError {
  return new ApiError(code, message, { Connection: 'close' });
}

/** How often a request has a header; of some headers Node keeps only the first. */
export function countOf(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] as string;
    if (given.length === name.length && given.toLowerCase() === name) count += 1;
  }
  return count;
}

/** Proxies whose header for the client's address is trusted, as networks with their prefix. */
export function trustedProxies(networks: readonly string[]): BlockList {
  const trusted = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    trusted.addSubnet(address, Number(prefix), isIPv4(address) ? 'ipv4' : 'ipv6');
  }
  return trusted;
}

/** True when the peer of a socket is a proxy that is believed. */
export function isTrusted(address: string, trusted: BlockList | null): boolean {
  const plain = addressIn(address);
  return trusted !== null && isIP(plain) !== 0 && trusted.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6');
}

/**
 * Who is at the other end, as far as it can be known: the peer of the socket, or, when that is a trusted proxy, the last
 * address of X-Forwarded-For that is not one. IPv4 in full, IPv6 as its /64, since one customer has a whole /64.
 */
export function clientAddress(
  { socket, headers }: Pick<IncomingMessage, 'headers'> & { readonly socket: Pick<Socket, 'remoteAddress'> },
  trusted: BlockList | null,
): string {
  const peer = socket.remoteAddress ?? '';
  if (!isTrusted(peer, trusted)) return networkOf(peer);
  const hops = String(headers['x-forwarded-for'] ?? '').split(',');
  const client = addressIn(hops.findLast((hop) => !isTrusted(hop, trusted)) ?? '');
  return networkOf(isIP(client) === 0 ? peer : client);
}

/** IPv4 unchanged, IPv6 cut to its first 64 bits. */
function networkOf(address: string): string {
  const plain = addressIn(address);
  if (isIP(plain) !== 6) return plain;
  const { parts } = ipaddr.parse(plain.replace(/%.*/, '')) as IPv6;
  const first = parts.slice(0, 4).map((part) => part.toString(16));
  return `${first.join(':')}::/64`;
}

/** An address alone: some proxies add the port and set IPv6 in brackets, and an IPv4 address may be written as an IPv6 one. */
function addressIn(text: string): string {
  const withoutPort = text.trim().replace(/^\[(.*)\](:\d+)?$|^([\d.]+):\d+$/, '$1$3');
  return withoutPort.replace(/^::ffff:(?=\d+\.)/i, '');
}
