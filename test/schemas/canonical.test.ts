import test from 'ava';
import fc from 'fast-check';
import { canonical } from '../../schemas/canonical.ts';

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
