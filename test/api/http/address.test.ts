import test from 'ava';
import { type Arrival, clientAddress, networkOf, trustedProxies } from '../../../api/http/address.ts';

/** A request from a peer, with a forwarded header. */
function from(peer: string, forwarded?: string): Arrival {
  return { socket: { remoteAddress: peer }, headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded } };
}

const trusted = trustedProxies(['10.0.0.0/8', '::1']);

for (const [address, network] of [
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:0db8:0001:0002::', '2001:db8:1:2::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
] as const)
  test(`${address} counts as ${network}`, (t) => t.is(networkOf(address), network));

test('a forwarded address is not believed from a stranger', (t) => {
  t.is(clientAddress(from('192.0.2.7', '198.51.100.1'), trusted), '192.0.2.7');
  t.is(clientAddress(from('10.1.2.3', '198.51.100.1'), null), '10.1.2.3');
});

test('behind a trusted proxy the client is the last address that is not a proxy', (t) => {
  t.is(clientAddress(from('10.1.2.3', '198.51.100.1'), trusted), '198.51.100.1');
  t.is(clientAddress(from('::1', '203.0.113.9, 198.51.100.1, 10.9.9.9'), trusted), '198.51.100.1');
  t.is(clientAddress(from('::ffff:10.1.2.3', '2001:db8::5'), trusted), '2001:db8:0:0::/64');
});

test('what is no address ends the search at the proxy', (t) => {
  t.is(clientAddress(from('10.1.2.3', '198.51.100.1, unknown'), trusted), '10.1.2.3');
  t.is(clientAddress(from('10.1.2.3', ''), trusted), '10.1.2.3');
});
