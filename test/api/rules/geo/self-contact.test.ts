import { kinks } from '@turf/kinks';
import test from 'ava';
import fc from 'fast-check';
import { type MicroRing, toMicroRing, turnOf } from '../../../../api/rules/geo/micro-ring.ts';
import { selfContact } from '../../../../api/rules/geo/self-contact.ts';
import { bandRing, simpleRing } from '../../../support/data/simple-rings.ts';

/** A ring whose vertices are given in millionths of a degree. */
function micro(...vertices: readonly (readonly [x: number, y: number])[]): MicroRing {
  return { x: Float64Array.from(vertices, ([x]) => x), y: Float64Array.from(vertices, ([, y]) => y) };
}

for (const [what, ring, words] of [
  ['a triangle', micro([0, 0], [4, 0], [0, 4]), null],
  ['a square with a vertex in the middle of a side', micro([0, 0], [2, 0], [4, 0], [4, 4], [0, 4]), null],
  ['a bow-tie', micro([0, 0], [4, 4], [4, 0], [0, 4]), /crosses or touches itself/],
  [
    'a vertex that is passed twice',
    micro([0, 0], [2, 2], [4, 0], [4, 4], [2, 2], [0, 4]),
    /passes 0.000002 0.000002 twice/,
  ],
  ['a vertex on another edge', micro([0, 0], [4, 0], [4, 4], [2, 0], [0, 4]), /crosses or touches itself/],
  ['a spike outwards', micro([0, 0], [4, 0], [8, 0], [6, 0], [4, 4]), /goes back on itself at 0.000008 0/],
  [
    'a spike inwards',
    micro([0, 0], [4, 0], [4, 4], [2, 2], [3, 3], [0, 4]),
    /goes back on itself at 0.000002 0.000002/,
  ],
  ['edges that lie on each other', micro([0, 0], [6, 0], [6, 4], [4, 0], [2, 0], [0, 4]), /touches itself/],
  ['an upright edge that is touched', micro([0, 0], [4, 0], [4, 6], [0, 6], [0, 5], [4, 3], [0, 1]), /touches itself/],
] as const)
  test(`${what} is ${words === null ? 'simple' : 'not simple, and the place is told'}`, (t) => {
    const found = selfContact(ring);
    if (words === null) t.is(found, null);
    else t.regex(found ?? '', words);
  });

/** Whether any two edges have a point in common that consecutive ones would not have: every pair looked at. */
function touchesByPairs(ring: MicroRing): boolean {
  const { x, y } = ring;
  const count = x.length;
  const isOn = (v: number, a: number, b: number) =>
    turnOf(ring, a, b, v) === 0 && (x[v] - x[a]) * (x[v] - x[b]) <= 0 && (y[v] - y[a]) * (y[v] - y[b]) <= 0;
  const crosses = (a: number, b: number, c: number, d: number) =>
    Math.sign(turnOf(ring, a, b, c)) * Math.sign(turnOf(ring, a, b, d)) < 0 &&
    Math.sign(turnOf(ring, c, d, a)) * Math.sign(turnOf(ring, c, d, b)) < 0;
  return Array.from({ length: count }, (_, a) => {
    const b = (a + 1) % count;
    return Array.from(x, (_, v) => {
      const isOwn = v === a || v === b;
      return (!isOwn && isOn(v, a, b)) || crosses(a, b, v, (v + 1) % count);
    }).some(Boolean);
  }).some(Boolean);
}

test('small rings on a coarse grid are simple exactly when no pair of edges touches', (t) => {
  const vertex = fc.tuple(fc.nat(5), fc.nat(5));
  let simple = 0;
  fc.assert(
    fc.property(fc.array(vertex, { minLength: 3, maxLength: 9 }), (vertices) => {
      const [first] = vertices;
      const ring = toMicroRing([...vertices, first as [number, number]].map(([x, y]) => [x / 1e6, y / 1e6]));
      fc.pre(ring.x.length >= 3);
      const found = selfContact(ring);
      if (found === null) simple += 1;
      return (found !== null) === touchesByPairs(ring);
    }),
    { numRuns: 5000 },
  );
  t.true(simple > 100, `${simple} of them were simple`);
});

test('rings that are simple by their making are found simple, here and by a library', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(simpleRing, (ring) => {
        t.is(kinks({ type: 'Polygon', coordinates: [ring] }).features.length, 0);
        return selfContact(toMicroRing(ring)) === null;
      }),
      { numRuns: 200 },
    ),
  );
});

test('one crossing among twenty thousand vertices is found', (t) => {
  const line = Array.from({ length: 10_000 }, (_, i) => [-120 + i * 0.005, i % 2 === 0 ? 30 : 45] as const);
  const ring = toMicroRing(bandRing(line, 0.001));
  t.is(selfContact(ring), null);
  const { x, y } = ring;
  [y[4_000], y[15_999]] = [y[15_999], y[4_000]];
  t.regex(selfContact({ x, y }) ?? '', /crosses or touches itself near -?\d/);
});
