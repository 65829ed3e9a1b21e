import test from 'ava';
import { planFile, type RequestHeaders } from '../../../api/http/ranges.ts';

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
