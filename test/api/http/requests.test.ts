import test from 'ava';
import { namesTag } from '../../../api/http/reply.ts';
import { clientAddress, trustedProxies } from '../../../api/server/head.ts';

/** A request from a peer, with a forwarded header. */
function from(peer: string, forwarded?: string) {
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
  ['fe80::1%eth0.100', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
] as const)
  test(`${address} counts as ${network}`, (t) => t.is(clientAddress(from(address), null), network));

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

for (const [list, etag, strongly, weakly] of [
  ['"abc"', '"abc"', true, true],
  ['W/"abc"', '"abc"', false, true],
  ['"abc"', 'W/"abc"', false, true],
  ['w/"abc"', '"abc"', false, false],
  ['w/"abc"', 'W/"abc"', false, false],
  ['"x", "abc"', '"abc"', true, true],
  ['"x" ,\tW/"abc",', '"abc"', false, true],
  ['"x", w/"abc"', '"abc"', false, false],
  ['"y,"', '"y"', false, false],
  ['abc', '"abc"', false, false],
  ['', '"abc"', false, false],
  [' * ', '"abc"', true, true],
] as const)
  test(`'${list}' ${strongly ? 'names' : weakly ? 'names, weakly compared,' : 'does not name'} ${etag}`, (t) => {
    t.is(namesTag(list, etag, 'strongly'), strongly);
    t.is(namesTag(list, etag, 'weakly'), weakly);
  });
