import test from 'ava';
import fc from 'fast-check';
import { fromMicroRing, type MicroRing, toMicroRing } from '../../../../api/rules/geo/micro-ring.ts';
import { selfContact } from '../../../../api/rules/geo/self-contact.ts';
import { thinRing } from '../../../../api/rules/geo/thin-ring.ts';
import { geodesicAreaKm2 } from '../../../../schemas/geo/hull.ts';
import { bandRing, simpleRing, starRing } from '../../../support/data/simple-rings.ts';

function boxOf({ x, y }: MicroRing): number[] {
  return [Math.min(...x), Math.min(...y), Math.max(...x), Math.max(...y)];
}

test('a ring with few enough vertices is returned as it is', (t) => {
  const ring = toMicroRing(starRing([-97, 35], [1, 2, 1, 2, 1, 2]));
  t.is(thinRing(ring, 6), ring);
});

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
