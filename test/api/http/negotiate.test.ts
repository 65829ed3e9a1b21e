import test from 'ava';
import { accepts, acceptsGzip } from '../../../api/http/negotiate.ts';

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
