import { BlockList, isIP, isIPv4 } from 'node:net';

/** The parts of a request that its address follows from. */
export interface Arrival {
  readonly socket: { readonly remoteAddress?: string | undefined };
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Proxies whose header for the client's address is trusted. */
export function trustedProxies(networks: readonly string[]): BlockList {
  const trusted = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    if (prefix === undefined) trusted.addAddress(address, family);
    else trusted.addSubnet(address, Number(prefix), family);
  }
  return trusted;
}

/** True when the peer of a socket is a proxy that is believed. */
export function isTrusted(address: string, trusted: BlockList): boolean {
  const plain = unmapped(address);
  return isIP(plain) !== 0 && trusted.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6');
}

/**
 * Who is at the other end, as far as it can be known: the peer of the socket, or, when that is a trusted proxy, the last
 * address of X-Forwarded-For that is not one. IPv4 as it is, IPv6 as its /64, since one customer has a whole /64.
 */
export function clientAddress(request: Arrival, trusted: BlockList | null): string {
  const peer = request.socket.remoteAddress ?? '';
  if (trusted === null || !isTrusted(peer, trusted)) return networkOf(peer);
  const forwarded = String(request.headers['x-forwarded-for'] ?? '').split(',');
  for (const hop of forwarded.reverse()) {
    const address = hop.trim();
    if (isIP(unmapped(address)) === 0) break;
    if (!isTrusted(address, trusted)) return networkOf(address);
  }
  return networkOf(peer);
}

/** IPv4 unchanged, IPv6 cut to its first 64 bits. */
export function networkOf(address: string): string {
  const plain = unmapped(address);
  if (!plain.includes(':')) return plain;
  const [head = '', tail] = plain.split('%')[0]!.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  const groups = [...left, ...Array<string>(zeros).fill('0'), ...right];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}

function unmapped(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
