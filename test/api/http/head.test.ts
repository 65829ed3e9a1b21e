import test from 'ava';
import { ApiError } from '../../../api/errors.ts';
import { checkHead, countOf, type Head } from '../../../api/http/head.ts';

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
