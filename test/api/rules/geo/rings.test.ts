import test from 'ava';
import fc from 'fast-check';
import { fromMicroRing, type MicroRing, toMicroRing, turnOf } from '../../../../api/rules/geo/micro-ring.ts';
import { selfContact } from '../../../../api/rules/geo/self-contact.ts';
import { simplifyMultiPolygon } from '../../../../api/rules/geo/simplify.ts';
import { thinRing } from '../../../../api/rules/geo/thin-ring.ts';
import { distanceKm } from '../../../../schemas/geo/distance.ts';
import { geodesicAreaKm2 } from '../../../../schemas/geo/hull.ts';
import { type MultiPolygon, type Ring, traceMultiPolygon } from '../../../../schemas/geo/rings.ts';
import { drawPixels, pixelsOf, REAL_DAY, realField } from '../../../support/data/pixels.ts';
import { sharedTest } from '../../../support/data/shared-data.ts';
import { bandRing, simpleRing, starRing } from '../../../support/data/simple-rings.ts';

function boxOf({ x, y }: MicroRing): number[] {
  return [Math.min(...x), Math.min(...y), Math.max(...x), Math.max(...y)];
}

test('a ring is thinned to four vertices and stays simple, its vertices old ones in their order, its box the same', (t) => {
  fc.assert(
    fc.property(simpleRing, fc.integer({ min: 4, max: 20 }), (closed, most) => {
      const ring = toMicroRing(closed);
      const thin = thinRing(ring, most);
      t.true(thin.x.length <= Math.max(most, 4));
      t.is(selfContact(thin), null);
      t.deepEqual(boxOf(thin), boxOf(ring));
      const place = ({ x, y }: MicroRing) => Array.from(x, (lon, i) => `${lon} ${y[i]}`);
      const old = place(ring);
      const at = place(thin).map((vertex) => old.indexOf(vertex));
      t.false(at.includes(-1));
      t.true(at.filter((index, i) => index < (at.at(i - 1) as number)).length <= 1, 'they go round once');
      return true;
    }),
    { numRuns: 300 },
  );
});

test('a circle of twenty thousand vertices keeps its area within a ten-thousandth with 498 of them', (t) => {
  const circle = toMicroRing(starRing([-97, 37], Array(19_999).fill(5)));
  const thin = thinRing(circle, 498);
  t.is(thin.x.length, 498);
  t.true(Math.abs(geodesicAreaKm2(fromMicroRing(thin)) / geodesicAreaKm2(fromMicroRing(circle)) - 1) < 1e-4);
});

test('two lines that run a hair apart across everything never meet when they are thinned', (t) => {
  const line = Array.from({ length: 5_000 }, (_, i) => [-124 + i * 0.01, 30 + i * 0.003 + (i % 2) * 1e-5] as const);
  const thin = thinRing(toMicroRing(bandRing(line, 2e-5)), 498);
  t.is(thin.x.length, 498);
  t.is(selfContact(thin), null);
});

const STAIRS = drawPixels(`
  1 1 1 1 . . . . . . . . . .
  . 1 1 1 1 1 . . . . . . . .
  . . 1 1 1 1 1 1 1 . . . . .
  . . . 1 1 . 1 1 1 1 . . . .
  . . . . 1 1 1 1 1 1 1 1 . .
  . . . . . . 1 1 1 1 1 1 1 1`);

/** Points along a ring, its vertices and nine between each two. */
function pointsAlong(ring: Ring): number[][] {
  return ring.slice(1).flatMap((b, i) => {
    const a = ring[i] as number[];
    return Array.from({ length: 10 }, (_, k) => [0, 1].map((axis) => a[axis] + ((b[axis] - a[axis]) * k) / 10));
  });
}

/** Largest distance of a point of one ring from the nearest of the points along the other, metres. */
function farthest_m(from: Ring, to: Ring): number {
  const targets = pointsAlong(to);
  return Math.max(
    ...pointsAlong(from).map(([lon, lat]) => {
      const near = targets
        .toSorted((a, b) => rough(a, lon as number, lat as number) - rough(b, lon as number, lat as number))
        .slice(0, 4);
      return (
        1000 *
        Math.min(...near.map((b) => distanceKm({ lat: lat as number, lon: lon as number }, { lat: b[1], lon: b[0] })))
      );
    }),
  );
}

function rough(point: readonly number[], lon: number, lat: number): number {
  return Math.hypot((point[0] - lon) * Math.cos((lat * Math.PI) / 180), point[1] - lat);
}

for (const tolerance_m of [300, 800, 1500])
  test(`no point moves farther than the tolerance of ${tolerance_m} m`, (t) => {
    const [[before]] = traceMultiPolygon(STAIRS) as [[Ring]];
    const [[after]] = simplifyMultiPolygon([[before]], tolerance_m) as [[Ring]];
    t.true(farthest_m(before, after) <= tolerance_m + 60, 'sampled every tenth of an edge: 60 m');
    t.true(farthest_m(after, before) <= tolerance_m + 60);
  });

function areaKm2(polygon: MultiPolygon[number]): number {
  return polygon.reduce((sum, ring, i) => sum + (i === 0 ? 1 : -1) * geodesicAreaKm2(ring), 0);
}

sharedTest('shapes above 25 km2 of the real day keep their area within 2 % at 500 m, and stay within 500 m', (t) => {
  const exact = traceMultiPolygon(pixelsOf(realField(REAL_DAY), 19));
  const simple = simplifyMultiPolygon(exact, 500);
  t.is(simple.length, exact.length);
  const large = exact.flatMap((polygon, i) => (areaKm2(polygon) > 25 ? [i] : []));
  t.true(large.length >= 10);
  for (const i of large) {
    const [before, after] = [exact[i], simple[i]] as [MultiPolygon[number], MultiPolygon[number]];
    t.true(Math.abs(areaKm2(after) / areaKm2(before) - 1) < 0.02);
    t.true(farthest_m(before[0] as Ring, after[0] as Ring) <= 500 + 60);
  }
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

test('one crossing among twenty thousand vertices is found', (t) => {
  const line = Array.from({ length: 10_000 }, (_, i) => [-120 + i * 0.005, i % 2 === 0 ? 30 : 45] as const);
  const ring = toMicroRing(bandRing(line, 0.001));
  t.is(selfContact(ring), null);
  const { x, y } = ring;
  [y[4_000], y[15_999]] = [y[15_999], y[4_000]];
  t.regex(selfContact({ x, y }) ?? '', /crosses or touches itself near -?\d/);
});
