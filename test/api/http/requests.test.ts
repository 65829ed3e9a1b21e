import { once } from 'node:events';
import { Readable } from 'node:stream';
import test from 'ava';
import { type Arrival, clientAddress, networkOf, trustedProxies } from '../../../api/http/address.ts';
import { entityTag, matches, namesTag } from '../../../api/http/entity-tag.ts';
import { ApiError } from '../../../api/http/errors.ts';
import { parseJson } from '../../../api/http/json.ts';
import { accepts, acceptsGzip } from '../../../api/http/negotiate.ts';
import { openStreams } from '../../../api/http/open-streams.ts';
import { planFile, type RequestHeaders } from '../../../api/http/ranges.ts';
import { checkHead, countOf, type Head } from '../../../api/server/middleware/head-limits.ts';
import { replyCache } from '../../../api/server/middleware/reply-cache.ts';

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

const parsed = (text: string | Uint8Array, nullIsAbsent = true) =>
  parseJson(typeof text === 'string' ? new TextEncoder().encode(text) : text, nullIsAbsent);

/** What a body is refused with. */
function refusal(text: string | Uint8Array): string {
  try {
    parsed(text);
  } catch (error) {
    if (error instanceof ApiError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'taken';
}

test('an object is taken as it is', (t) => {
  t.deepEqual(parsed('{"a":[1,"x",true,{"b":-1.5e3}]}'), { a: [1, 'x', true, { b: -1500 }] });
});

test('null members count as absent, null items and, in a PATCH, null members stay', (t) => {
  t.deepEqual(parsed('{"a":null,"b":[null,{"c":null}]}'), { b: [null, {}] });
  t.deepEqual(parsed('{"a":null}', false), { a: null });
});

test('__proto__ and constructor members are dropped at any depth', (t) => {
  const body = parsed('{"__proto__":{"polluted":1},"a":{"constructor":{"prototype":{}},"b":1}}');
  t.deepEqual(Object.keys(body), ['a']);
  t.deepEqual(Object.keys(body.a as object), ['b']);
  t.is(({} as { polluted?: number }).polluted, undefined);
});

test('depth 32 is taken, 33 is refused', (t) => {
  const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
  t.is(refusal(nested(32)), 'taken');
  t.is(refusal(nested(33)), 'bad_request: body is nested deeper than 32');
  t.is(refusal('{"a":'.repeat(400_000)), 'bad_request: body is nested deeper than 32');
});

test('brackets inside strings are no depth', (t) => {
  t.is(refusal(`{"a":"${'['.repeat(100)}\\"${'{'.repeat(100)}"}`), 'taken');
});

test('ten thousand keys in one object are taken, one more is refused', (t) => {
  const wide = (keys: number) => `{"a":{${Array.from({ length: keys }, (_, n) => `"k${n}":0`).join()}}}`;
  t.is(refusal(wide(10_000)), 'taken');
  t.is(refusal(wide(10_001)), 'bad_request: /a has 10001 keys, expected at most 10000');
});

for (const [what, text] of [
  ['nothing', ''],
  ['a list', '[]'],
  ['a number', '5'],
  ['null', 'null'],
  ['a string', '"{}"'],
] as const)
  test(`${what} is no body`, (t) => t.regex(refusal(text), /^bad_request: body is not/));

for (const [what, text] of [
  ['a byte order mark', '\uFEFF{}'],
  ['trailing garbage', '{} {}'],
  ['single quotes', "{'a':1}"],
  ['a trailing comma', '{"a":1,}'],
  ['NaN', '{"a":NaN}'],
  ['half an object', '{"a":'],
] as const)
  test(`${what} is no JSON`, (t) => t.is(refusal(text), 'bad_request: body is not valid JSON'));

test('a number that overflows is refused by its place', (t) => {
  t.is(refusal('{"a":[1,1e999]}'), 'bad_request: /a/1 is a number that overflows');
  t.is(refusal('{"a":-1e999}'), 'bad_request: /a is a number that overflows');
});

test('NUL and lone surrogates are refused in values and in names', (t) => {
  t.is(refusal('{"a":"x\\u0000"}'), 'bad_request: /a holds NUL or a lone surrogate');
  t.is(refusal('{"a":{"b":"\\ud800"}}'), 'bad_request: /a/b holds NUL or a lone surrogate');
  t.is(refusal('{"\\u0000":1}'), 'bad_request: body has a key with NUL or a lone surrogate');
  t.is(refusal('{"a":"\\ud83c\\udf28"}'), 'taken');
});

test('bytes that are no UTF-8 are refused', (t) => {
  t.is(refusal(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x7d)), 'bad_request: body is not UTF-8');
});

/** A head as Node gives it. */
function head(headers: readonly (readonly [name: string, value: string])[], more: Partial<Head> = {}): Head {
  return {
    httpVersion: '1.1',
    headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])),
    rawHeaders: headers.flat(),
    ...more,
  };
}

const HOST = ['Host', 'x'] as const;
const many = (count: number) => [HOST, ...Array.from({ length: count - 1 }, () => ['X', 'y'] as const)];
/** Headers of so many bytes, names and values. */
const sized = (bytes: number) => [HOST, ['X', 'y'.repeat(bytes - 'Hostx'.length - 1)] as const];

for (const [what, taken, target = '/'] of [
  ['a target of 8 KB', head([HOST]), '/'.repeat(8192)],
  ['64 headers', head(many(64))],
  ['16 KB of headers', head(sized(16_384))],
  ['HTTP/1.0 without Host', head([], { httpVersion: '1.0' })],
  ['a chunked body, in any case', head([HOST, ['Transfer-Encoding', 'Chunked']])],
] as const)
  test(`${what} is taken`, (t) => t.notThrows(() => checkHead(taken, target)));

for (const [what, refused, code, target = '/'] of [
  ['a target above 8 KB', head([HOST]), 'uri_too_long', '/'.repeat(8193)],
  ['a target and headers that are too large', head(many(65)), 'uri_too_long', '/'.repeat(8193)],
  ['a 65th header', head(many(65)), 'headers_too_large'],
  ['more than 16 KB of headers', head(sized(16_385)), 'headers_too_large'],
  ['HTTP/1.1 without Host', head([]), 'bad_request'],
  ['a second Host', head([HOST, ['hOST', 'x']]), 'bad_request'],
  ['a second Host in HTTP/1.0', head([HOST, HOST], { httpVersion: '1.0' }), 'bad_request'],
  ['HTTP/2.0', head([HOST], { httpVersion: '2.0' }), 'bad_request'],
  ['HTTP/0.9', head([HOST], { httpVersion: '0.9' }), 'bad_request'],
  ['a transfer coding before chunked', head([HOST, ['Transfer-Encoding', 'gzip, chunked']]), 'bad_request'],
] as const)
  test(`${what} is ${code}, and ends the connection`, (t) => {
    const error = t.throws(() => checkHead(refused, target), { instanceOf: ApiError });
    t.is(error?.code, code);
    t.deepEqual(error?.headers, { Connection: 'close' });
  });

test('headers are counted by name in any case', (t) => {
  t.is(countOf(['Host', 'a', 'HOST', 'b', 'Hosts', 'host'], 'host'), 2);
  t.is(countOf([], 'host'), 0);
});

for (const [accept, admitted] of [
  [undefined, true],
  ['', true],
  ['*/*', true],
  ['application/*', true],
  ['application/json', true],
  ['text/html, application/json;q=0.1', true],
  ['text/html', false],
  ['application/json;q=0', false],
  ['application/json;q=0, */*', false],
  ['*/*;q=0', false],
  ['text/html, */*;q=0.5', true],
] as const)
  test(`Accept ${accept === undefined ? 'absent' : `'${accept}'`} ${admitted ? 'accepts' : 'rules out'} JSON`, (t) =>
    t.is(accepts(accept, 'application/json'), admitted));

for (const [header, accepted] of [
  [undefined, false],
  ['', false],
  ['gzip', true],
  ['br, gzip;q=0.5', true],
  ['gzip;q=0', false],
  ['br', false],
  ['*', true],
  ['gzip;q=0, *', false],
] as const)
  test(`Accept-Encoding ${header === undefined ? 'absent' : `'${header}'`} ${accepted ? 'asks for' : 'does not ask for'} gzip`, (t) =>
    t.is(acceptsGzip(header), accepted));

const FILE = { size: 1000, etag: '"abc"' };
const ALL = { status: 200, bytes: { first: 0, last: 999 } };

function plan(headers: RequestHeaders, file = FILE) {
  return planFile('GET', headers, file);
}

test('without conditions the whole file is sent', (t) => t.deepEqual(plan({}), ALL));

for (const [range, first, last] of [
  ['bytes=0-0', 0, 0],
  ['bytes=0-499', 0, 499],
  ['bytes=500-999', 500, 999],
  ['bytes=999-', 999, 999],
  ['bytes=900-5000', 900, 999],
  ['bytes=-1', 999, 999],
  ['bytes=-1000', 0, 999],
  ['bytes=-5000', 0, 999],
  ['BYTES = 1-2', 1, 2],
  ['bytes=,1-2,', 1, 2],
  ['bytes=0-99999999999999999999999', 0, 999],
  ['bytes=2000-3000,1-2', 1, 2],
] as const)
  test(`Range ${range} is bytes ${first} to ${last}`, (t) =>
    t.deepEqual(plan({ range }), { status: 206, bytes: { first, last } }));

for (const range of ['bytes=1000-', 'bytes=1000-1001', 'bytes=-0', 'bytes=5000-6000,-0', `bytes=${'9'.repeat(400)}-`])
  test(`Range ${range.slice(0, 30)} lies behind the end`, (t) => t.deepEqual(plan({ range }), { status: 416 }));

for (const range of [
  'bytes=0-1,2-3',
  'bytes=2-1',
  'bytes=',
  'bytes=-',
  'bytes=a-b',
  'bytes=1-2x',
  'bytes=0x1-2',
  'bytes=1.5-2',
  'bytes=--1',
  'items=0-1',
  'bytes',
  '',
  `bytes=${'0-1,'.repeat(50_000)}`,
])
  test(`Range '${range.slice(0, 30)}' gets the whole file`, (t) => t.deepEqual(plan({ range }), ALL));

test('HEAD ignores ranges', (t) => t.deepEqual(planFile('HEAD', { range: 'bytes=0-1' }, FILE), ALL));

test('a range goes with the present tag in If-Range, and with no other validator', (t) => {
  const partOf = (validator: string) => plan({ range: 'bytes=0-1', 'if-range': validator });
  t.deepEqual(partOf('"abc"'), { status: 206, bytes: { first: 0, last: 1 } });
  t.deepEqual(partOf('"old"'), ALL);
  t.deepEqual(partOf('W/"abc"'), ALL, 'weak tags never match');
  t.deepEqual(partOf('Sat, 02 May 2026 00:00:00 GMT'), ALL, 'there is no modification time');
});

test('If-Range without Range changes nothing', (t) => t.deepEqual(plan({ 'if-range': '"old"' }), ALL));

for (const [header, status] of [
  ['"abc"', 200],
  ['"x", "abc"', 200],
  ['*', 200],
  ['"x"', 412],
  ['W/"abc"', 412],
  ['', 412],
] as const)
  test(`If-Match ${header} answers ${status}`, (t) => t.is(plan({ 'if-match': header }).status, status));

for (const [header, status] of [
  ['"abc"', 304],
  ['W/"abc"', 304],
  ['"a,b", "abc"', 304],
  ['w/"abc"', 200],
  ['*', 304],
  ['"x"', 200],
  ['abc', 200],
] as const)
  test(`If-None-Match ${header} answers ${status}`, (t) => t.is(plan({ 'if-none-match': header }).status, status));

test('a precondition that fails comes before the range', (t) => {
  t.is(plan({ 'if-match': '"x"', range: 'bytes=5000-' }).status, 412);
  t.is(plan({ 'if-none-match': '"abc"', range: 'bytes=5000-' }).status, 304);
});

test('of an empty file no range can be satisfied', (t) => {
  const empty = { size: 0, etag: '"e"' };
  t.deepEqual(plan({}, empty), { status: 200, bytes: null });
  t.deepEqual(plan({ range: 'bytes=0-' }, empty), { status: 416 });
  t.deepEqual(plan({ range: 'bytes=-5' }, empty), { status: 416 });
});

const TAG = 'W/"abc"';

for (const [header, matched] of [
  [undefined, false],
  ['W/"abc"', true],
  ['"abc"', true],
  ['*', true],
  [' * ', true],
  ['"x", W/"abc" , "y"', true],
  ['w/"abc"', false],
  ['"x", w/"abc"', false],
  ['"x"', false],
  ['W/"abcd"', false],
  ['abc', false],
  ['', false],
] as const)
  test(`If-None-Match ${header === undefined ? 'absent' : `'${header}'`} ${matched ? 'names' : 'does not name'} ${TAG}`, (t) =>
    t.is(matches(header, TAG), matched));

test('a tag changes with the route, each parameter and the content, and with nothing else', (t) => {
  const tag = (route: string, query: object, content: string) => entityTag(route, { params: null, query }, content);
  const usual = tag('/v1/storms', { lat: 35, lon: -97 }, 'v1');
  t.is(tag('/v1/storms', { lon: -97, lat: 35 }, 'v1'), usual);
  t.not(tag('/v1/events', { lat: 35, lon: -97 }, 'v1'), usual);
  t.not(tag('/v1/storms', { lat: 35.1, lon: -97 }, 'v1'), usual);
  t.not(tag('/v1/storms', { lat: 35, lon: -97 }, 'v2'), usual);
  t.regex(usual, /^W\/"[\w-]{27}"$/);
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

const cached = (bytes: number) => ({ body: Buffer.alloc(bytes) });

test('an answer is found under its target alone, and no more once it was dropped', (t) => {
  const cache = replyCache<{ readonly body: Buffer }>();
  const here = cached(1);
  cache.set('/a', here);
  t.is(cache.get('/a') ?? null, here);
  t.is(cache.get('/b') ?? null, null);
  cache.delete('/a');
  t.is(cache.get('/a') ?? null, null);
});

test('the oldest answers go first when there are too many bytes', (t) => {
  const cache = replyCache<{ readonly body: Buffer }>();
  for (let n = 0; n < 10; n++) cache.set(`/${n}`, cached(6_000_000));
  t.deepEqual(
    Array.from({ length: 10 }, (_, n) => (cache.get(`/${n}`) ?? null) !== null),
    [false, false, true, true, true, true, true, true, true, true],
  );
});

test('an answer that replaces another takes the place of its bytes', (t) => {
  const cache = replyCache<{ readonly body: Buffer }>();
  cache.set('/first', cached(1));
  for (let n = 0; n < 20; n++) cache.set('/again', cached(6_000_000));
  t.not(cache.get('/first') ?? null, null);
});

test('an answer that is too large is not kept', (t) => {
  const cache = replyCache<{ readonly body: Buffer }>();
  cache.set('/large', cached(8_000_001));
  t.is(cache.get('/large') ?? null, null);
});

const make = async () => Readable.from(['bytes']);
const REFUSED = { name: 'ApiError', message: 'too many files are being read at once' };

async function close(stream: Readable): Promise<void> {
  const closed = once(stream, 'close');
  stream.destroy();
  await closed;
}

test('one stream more than may be open is refused, and there is room again once one is closed', async (t) => {
  const streams = openStreams(3, 3);
  const [first] = await Promise.all(['a', 'b', 'c'].map((address) => streams.open(address, make)));
  const error = await t.throwsAsync(streams.open('d', make), REFUSED);
  t.like(error, { code: 'overloaded', status: 503, headers: { 'Retry-After': '1' } });
  await close(first as Readable);
  await streams.open('d', make);
  await t.throwsAsync(streams.open('e', make), REFUSED);
});

test('one address cannot take all of them', async (t) => {
  const streams = openStreams(4, 2);
  const opened = await Promise.all([streams.open('a', make), streams.open('a', make)]);
  await t.throwsAsync(streams.open('a', make), REFUSED);
  await streams.open('b', make);
  await close(opened[0] as Readable);
  await t.notThrowsAsync(streams.open('a', make));
});

test('a stream that cannot be opened takes no room', async (t) => {
  const streams = openStreams(1, 1);
  const gone = new Error('gone');
  await t.throwsAsync(
    streams.open('a', () => Promise.reject(gone)),
    { is: gone },
  );
  await t.notThrowsAsync(streams.open('a', make));
});

test('streams that are being opened count', async (t) => {
  const streams = openStreams(1, 1);
  const slow = streams.open('a', make);
  await t.throwsAsync(streams.open('b', make), REFUSED);
  await slow;
});
