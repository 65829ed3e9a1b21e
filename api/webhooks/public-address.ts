import { isIP, isIPv4, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import { URL_LENGTH_MAX } from '../../schemas/resources/webhook.ts';

/** Networks as address and prefix length. */
export type Networks = readonly [ipaddr.IPv4 | ipaddr.IPv6, number][];

/** Suffixes of names outside the public DNS (RFC 6761, 6762, 7686, 8375; ICANN for `internal`). */
const LOCAL_SUFFIXES = ['.localhost', '.local', '.internal', '.invalid', '.test', '.onion', '.home.arpa'];
/** Ports that browsers refuse (WHATWG Fetch, "bad port"), and ports of common databases, brokers and remote desktops. */
const REFUSED_PORTS: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 445, 465, 512, 513, 514, 515, 526, 530, 531,
  532, 540, 548, 554, 556, 563, 587, 601, 636, 873, 989, 990, 993, 995, 1433, 1521, 1719, 1720, 1723, 2049, 2181, 3306,
  3389, 3659, 4045, 4190, 5060, 5061, 5432, 5672, 5900, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697,
  9042, 9092, 10080, 11211, 27017,
]);

/** Authority with an `@` as the WHATWG parser finds it. The parsed URL does not show an empty user name. */
const USER_INFO = /^\s*https:[/\\]*[^/\\?#]*@/i;
/** Host of Azure virtual machines: an address in public space that only they reach. */
const AZURE_HOST = networks('168.63.129.16/32');
/** Allocated IPv6 space. The rest contains mappings to IPv4 (`::/96`, `64:ff9b::/96`) among others. */
const GLOBAL_V6 = networks('2000::/3');

/** Parses networks such as `10.0.0.0/8` or `fd00::/8`. Throws on any other text. */
export function networks(...cidrs: readonly string[]): Networks {
  return cidrs.map((cidr) => ipaddr.parseCIDR(cidr));
}

/** Parses an address; an IPv4 address that is mapped into IPv6 becomes IPv4. Null for any other text. */
function readAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  if (isIPv4(text)) return ipaddr.parse(text);
  // The URL parser writes all bits in hexadecimal. Without it ipaddr.js reads `::8.8.8.8`, which is not routed, as a mapped address.
  const url = isIPv6(text) ? URL.parse(`https://[${text}]/`) : null;
  return url === null ? null : ipaddr.process(url.hostname.slice(1, -1));
}

function isIn(address: ipaddr.IPv4 | ipaddr.IPv6 | null, ranges: Networks): boolean {
  return ranges.some(([network, bits]) => address?.kind() === network.kind() && address.match(network, bits));
}

/** True for an address of the public internet that does not belong to this machine. */
export function isPublic(text: string, own: readonly string[] = ownAddresses()): boolean {
  const address = readAddress(text);
  if (address === null || own.some((each) => readAddress(each)?.toString() === address.toString())) return false;
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' ? !isIn(address, AZURE_HOST) : isIn(address, GLOBAL_V6);
}

function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map(({ address }) => address));
}

/** Parsed URL of a receiver, for validation and connection. */
export interface ReceiverUrl {
  readonly url: URL;
  /** Name without a trailing dot, or address without brackets. */
  readonly host: string;
  readonly port: number;
  /** Reason to refuse name or port, unless the operator allows the network of its addresses. */
  readonly local: string | null;
}

/** Parses the URL of a receiver; returns the reason as text for a URL that is never allowed. */
export function parseReceiverUrl(text: string): ReceiverUrl | string {
  if (text.length > URL_LENGTH_MAX) return `must have at most ${URL_LENGTH_MAX} characters, found ${text.length}`;
  // The parser drops some of them, so that people and parser read different URLs.
  if (/\p{Cc}/u.test(text)) return 'must not contain control characters';
  const url = URL.parse(text);
  if (url === null) return 'must be a URL';
  if (url.protocol !== 'https:') return `must be an https URL, found ${url.protocol.slice(0, -1)}`;
  if (USER_INFO.test(text)) return 'must not contain a user name or a password';
  if (url.href.includes('#')) return 'must not contain a fragment';
  const port = url.port === '' ? 443 : Number(url.port);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const refused_port = REFUSED_PORTS.has(port) ? `must not lead to port ${port}` : null;
  if (isIP(host) !== 0) return { url, host, port, local: refused_port };
  const name = host.replace(/\.$/, '');
  if (name.split('.').includes('')) return 'must have a host name without empty labels';
  return { url, host: name, port, local: localName(name) ?? refused_port };
}

function localName(name: string): string | null {
  if (!name.includes('.')) return 'must have a full host name';
  const suffix = LOCAL_SUFFIXES.find((each) => name.endsWith(each));
  return suffix === undefined ? null : `must not have a host name that ends in ${suffix}`;
}

/** Reason to refuse a receiver at these addresses, of which there may be none; null: it is allowed. */
export function refusalReason({ local }: ReceiverUrl, addresses: readonly string[], allowed: Networks): string | null {
  const others = addresses.filter((address) => !isIn(readAddress(address), allowed));
  if (addresses.length > 0 && others.length === 0) return null;
  if (local !== null) return local;
  return others.every((address) => isPublic(address)) ? null : 'must not lead to a private address';
}
