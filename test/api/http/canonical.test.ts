import test from 'ava';
import fc from 'fast-check';
import { canonical } from '../../../api/http/reply.ts';

test('the order of members does not matter, that of items does', (t) => {
  t.is(canonical({ b: 1, a: [{ d: null, c: 'x' }] }), '{"a":[{"c":"x","d":null}],"b":1}');
  t.not(canonical([1, 2]), canonical([2, 1]));
});

test('canonical JSON means the same as the JSON it came from', (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      t.deepEqual(JSON.parse(canonical(value)), JSON.parse(JSON.stringify(value)));
    }),
  );
});

test('canonical JSON writes the sample of RFC 8785, section 3.2, as the RFC does', (t) => {
  const sample = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`;
  const written = String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`;
  t.is(canonical(JSON.parse(sample)), written);
});

test('canonical JSON sorts names by UTF-16 code units, as in RFC 8785, section 3.2.3', (t) => {
  const sample = String.raw`{
    "\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
    "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"
  }`;
  const texts = [...canonical(JSON.parse(sample)).matchAll(/:"([^"]*)"/g)].map(([, text]) => text);
  t.deepEqual(texts, [
    'Carriage Return',
    'One',
    'Control',
    'Latin Small Letter O With Diaeresis',
    'Euro Sign',
    'Emoji: Grinning Face',
    'Hebrew Letter Dalet With Dagesh',
  ]);
});

test('a number that JSON has no form for is refused', (t) => {
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY])
    t.throws(() => canonical({ a: [value] }), { instanceOf: RangeError });
});
