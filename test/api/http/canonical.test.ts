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

/** Appendix B of RFC 8785: the bits of a number, and how it is written. */
const NUMBERS = {
  '0000000000000000': '0',
  '8000000000000000': '0',
  '0000000000000001': '5e-324',
  '8000000000000001': '-5e-324',
  '7fefffffffffffff': '1.7976931348623157e+308',
  ffefffffffffffff: '-1.7976931348623157e+308',
  '4340000000000000': '9007199254740992',
  c340000000000000: '-9007199254740992',
  '4430000000000000': '295147905179352830000',
  '44b52d02c7e14af5': '9.999999999999997e+22',
  '44b52d02c7e14af6': '1e+23',
  '44b52d02c7e14af7': '1.0000000000000001e+23',
  '444b1ae4d6e2ef4e': '999999999999999700000',
  '444b1ae4d6e2ef4f': '999999999999999900000',
  '444b1ae4d6e2ef50': '1e+21',
  '3eb0c6f7a0b5ed8c': '9.999999999999997e-7',
  '3eb0c6f7a0b5ed8d': '0.000001',
  '41b3de4355555553': '333333333.3333332',
  '41b3de4355555554': '333333333.33333325',
  '41b3de4355555555': '333333333.3333333',
  '41b3de4355555556': '333333333.3333334',
  '41b3de4355555557': '333333333.33333343',
  becbf647612f3696: '-0.0000033333333333333333',
  '43143ff3c1cb0959': '1424953923781206.2',
};

test('canonical JSON writes the numbers of RFC 8785, appendix B, and refuses those that have no form', (t) => {
  const numberOf = (bits: string) => Buffer.from(bits, 'hex').readDoubleBE();
  for (const [bits, written] of Object.entries(NUMBERS)) t.is(canonical(numberOf(bits)), written, bits);
  for (const bits of ['7fffffffffffffff', '7ff0000000000000'])
    t.throws(() => canonical({ a: [numberOf(bits)] }), { instanceOf: RangeError });
});
