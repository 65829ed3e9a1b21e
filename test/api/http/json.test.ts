import test from 'ava';
import { ApiError } from '../../../api/errors.ts';
import { parseJson } from '../../../api/http/json.ts';

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
