import { networkInterfaces } from 'node:os';
import test from 'ava';
import { isPublic, networks, readReceiver, refusalOf } from '../../../api/push/address.ts';

const NOT_PUBLIC = {
  'IPv4, this network (0/8)': ['0.0.0.0', '0.255.255.255'],
  'IPv4, private (10/8)': ['10.0.0.0', '10.255.255.255'],
  'IPv4, carrier-grade NAT (100.64/10)': ['100.64.0.0', '100.127.255.255'],
  'IPv4, loopback (127/8)': ['127.0.0.0', '127.0.0.1', '127.255.255.255'],
  'IPv4, link-local and metadata (169.254/16)': ['169.254.0.0', '169.254.169.254', '169.254.255.255'],
  'IPv4, private (172.16/12)': ['172.16.0.0', '172.31.255.255'],
  'IPv4, protocol assignments (192.0.0/24)': ['192.0.0.0', '192.0.0.255'],
  'IPv4, documentation (192.0.2/24)': ['192.0.2.0', '192.0.2.255'],
  'IPv4, 6to4 relays (192.88.99/24)': ['192.88.99.0', '192.88.99.255'],
  'IPv4, private (192.168/16)': ['192.168.0.0', '192.168.255.255'],
  'IPv4, benchmarks (198.18/15)': ['198.18.0.0', '198.19.255.255'],
  'IPv4, documentation (198.51.100/24)': ['198.51.100.0', '198.51.100.255'],
  'IPv4, documentation (203.0.113/24)': ['203.0.113.0', '203.0.113.255'],
  'IPv4, multicast (224/4)': ['224.0.0.0', '239.255.255.255'],
  'IPv4, reserved and broadcast (240/4)': ['240.0.0.0', '255.255.255.255'],
  'IPv4, the host of Azure': ['168.63.129.16'],
  'IPv6, unspecified (::)': ['::'],
  'IPv6, loopback (::1)': ['::1'],
  'IPv6, private IPv4 mapped (::ffff:0:0/96)': ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.1.2.3', '::ffff:0:0'],
  'IPv6, IPv4 in its compatible form (::/96)': ['::127.0.0.1', '::8.8.8.8'],
  'IPv6, NAT64 (64:ff9b::/96)': ['64:ff9b::', '64:ff9b::8.8.8.8', '64:ff9b::7f00:1'],
  'IPv6, local NAT64 (64:ff9b:1::/48)': ['64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff'],
  'IPv6, discard (100::/64)': ['100::', '100::ffff:ffff:ffff:ffff'],
  'IPv6, Teredo (2001::/32)': ['2001::', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff'],
  'IPv6, documentation (2001:db8::/32)': ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
  'IPv6, 6to4 (2002::/16)': ['2002::', '2002:7f00:1::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'IPv6, documentation (3fff::/20)': ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'IPv6, segment routing (5f00::/16)': ['5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'IPv6, unique local (fc00::/7)': ['fc00::', 'fd12:3456:789a::1', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'IPv6, link-local (fe80::/10)': ['fe80::', 'fe80::1', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'IPv6, site-local (fec0::/10)': ['fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'IPv6, multicast (ff00::/8)': ['ff00::', 'ff02::1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'no address': ['', 'localhost', '1.2.3', '1.2.3.4.5', '[::1]', 'fe80::1%lo'],
};
for (const [range, addresses] of Object.entries(NOT_PUBLIC))
  test(`not public: ${range}`, (t) => {
    for (const address of addresses) t.false(isPublic(address, []), address);
  });

test('public: what lies just outside of the ranges that are not', (t) => {
  for (const address of [
    ...['1.0.0.0', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.0'],
    ...['168.63.129.15', '168.63.129.17', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0'],
    ...['192.0.1.0', '192.0.3.0', '192.88.98.255', '192.88.100.0', '192.167.255.255', '192.169.0.0'],
    ...['198.17.255.255', '198.20.0.0', '198.51.99.255', '198.51.101.0', '203.0.112.255', '203.0.114.0'],
    ...['223.255.255.255', '::ffff:8.8.8.8', '2001:4860:4860::8888', '2001:db7::1', '2001:db9::1', '2003::', '2600::'],
  ])
    t.true(isPublic(address, []), address);
});

test('not public: addresses of this machine itself, however public their numbers are', (t) => {
  t.true(isPublic('8.8.8.8', ['9.9.9.9']));
  t.false(isPublic('8.8.8.8', ['8.8.8.8']));
  t.false(isPublic('::ffff:8.8.8.8', ['8.8.8.8']));
  t.false(isPublic('2600:0::1', ['2600::1']));
  for (const { address } of Object.values(networkInterfaces()).flatMap((each) => each ?? []))
    t.false(isPublic(address));
});

for (const [form, host] of [
  ['one decimal number', '2130706433'],
  ['hexadecimal', '0x7f.1'],
  ['octal', '017700000001'],
  ['two parts', '127.1'],
  ['percent signs', '%31%32%37.0.0.1'],
  ['circled digits', '①②⑦.⓪.⓪.①'],
  ['nothing but 0', '0'],
  ['IPv6, unspecified', '[::]'],
  ['IPv6, mapped', '[::ffff:7f00:1]'],
  ['IPv6, mapped, with dots', '[::ffff:127.0.0.1]'],
] as const)
  test(`refused: an address of this machine written as ${form}`, (t) => {
    const receiver = readReceiver(`https://${host}/hook`);
    if (typeof receiver === 'string') return t.fail(receiver);
    t.is(receiver.host_is, 'address');
    t.is(refusalOf(receiver, [receiver.host], []), 'must not lead to a private address');
  });

for (const [what, url, reason] of [
  ['plain HTTP', 'http://example.com/', 'must be an https URL, found http'],
  ['another scheme', 'file:///etc/passwd', 'must be an https URL, found file'],
  ['no URL', 'example.com/hook', 'must be a URL'],
  ['an IPv4 address of five parts', 'https://1.2.3.4.5/', 'must be a URL'],
  ['a user name', 'https://me@example.com/', 'must not contain a user name or a password'],
  ['a password', 'https://:secret@example.com/', 'must not contain a user name or a password'],
  ...['https://@example.com/', 'https:@example.com/', 'https:\\\\@example.com/', 'HTTPS://:@example.com/'].map(
    (url) => [`an empty user name (${url})`, url, 'must not contain a user name or a password'] as const,
  ),
  ['a fragment', 'https://example.com/#top', 'must not contain a fragment'],
  ['an empty fragment', 'https://example.com/#', 'must not contain a fragment'],
  ['a line feed, which the parser would drop', 'https://127.0.\n0.1/', 'must not contain control characters'],
  ['a carriage return', 'https://example.com/\r', 'must not contain control characters'],
  ['a tab', 'https://exam\tple.com/', 'must not contain control characters'],
  ['NUL', 'https://example.com/\0', 'must not contain control characters'],
  ['an empty label', 'https://example..com/', 'must have a host name without empty labels'],
  ['two dots at the end', 'https://example.com../', 'must have a host name without empty labels'],
  ['2049 characters', `https://example.com/${'a'.repeat(2029)}`, 'must have at most 2048 characters, found 2049'],
] as const)
  test(`refused: a URL with ${what}`, (t) => t.is(readReceiver(url), reason));

test('taken: a URL of 2048 characters, with port, path and query', (t) => {
  const url = `https://hooks.example.com:8443/a/b?c=${'d'.repeat(2011)}`;
  t.is(url.length, 2048);
  const receiver = readReceiver(url);
  if (typeof receiver === 'string') return t.fail(receiver);
  t.like(receiver, { host: 'hooks.example.com', host_is: 'name', port: 8443, local: null });
  t.is(receiver.url.href, url);
});

for (const [host, reason] of [
  ['localhost', 'must have a full host name'],
  ['localhost.', 'must have a full host name'],
  ['LOCALHOST', 'must have a full host name'],
  ['intranet', 'must have a full host name'],
  ['app.localhost', 'must not have a host name that ends in .localhost'],
  ['app.localhost.', 'must not have a host name that ends in .localhost'],
  ['printer.local', 'must not have a host name that ends in .local'],
  ['metadata.google.internal', 'must not have a host name that ends in .internal'],
  ['nobody.invalid', 'must not have a host name that ends in .invalid'],
  ['receiver.test', 'must not have a host name that ends in .test'],
  ['hidden.onion', 'must not have a host name that ends in .onion'],
  ['router.home.arpa', 'must not have a host name that ends in .home.arpa'],
  ['example.com:22', 'must not lead to port 22'],
  ['example.com:25', 'must not lead to port 25'],
  ['example.com:0', 'must not lead to port 0'],
  ['example.com:6379', 'must not lead to port 6379'],
  ['8.8.8.8:5432', 'must not lead to port 5432'],
] as const)
  test(`refused, unless its network is allowed: ${host}`, (t) => {
    const receiver = readReceiver(`https://${host}/`);
    if (typeof receiver === 'string') return t.fail(receiver);
    const allowed = networks('192.168.1.0/24', 'fd00::/8');
    t.is(receiver.local, reason);
    t.is(refusalOf(receiver, ['93.184.215.14'], allowed), reason);
    t.is(refusalOf(receiver, ['192.168.1.7', '93.184.215.14'], allowed), reason);
    t.is(refusalOf(receiver, ['192.168.1.7', 'fd00::7'], allowed), null);
  });

test('one private address among public ones is enough to be refused', (t) => {
  const receiver = readReceiver('https://example.com/');
  if (typeof receiver === 'string') return t.fail(receiver);
  t.is(refusalOf(receiver, ['93.184.215.14', '2600::1'], []), null);
  t.is(refusalOf(receiver, ['93.184.215.14', '10.0.0.1'], []), 'must not lead to a private address');
  t.is(refusalOf(receiver, ['2600::1', '::1'], []), 'must not lead to a private address');
});

test('an allowed network makes up for its own addresses alone', (t) => {
  const receiver = readReceiver('https://example.com/');
  if (typeof receiver === 'string') return t.fail(receiver);
  const allowed = networks('10.1.0.0/16');
  t.is(refusalOf(receiver, ['10.1.2.3', '93.184.215.14'], allowed), null);
  t.is(refusalOf(receiver, ['::ffff:10.1.2.3'], allowed), null);
  t.is(refusalOf(receiver, ['10.2.0.1'], allowed), 'must not lead to a private address');
});

for (const cidr of ['10.0.0.0', '10.0.0.0/33', 'ten/8', ''])
  test(`networks are read in one form, not ${JSON.stringify(cidr)}`, (t) => {
    t.throws(() => networks('127.0.0.0/8', cidr));
  });
