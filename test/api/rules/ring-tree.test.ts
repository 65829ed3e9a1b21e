import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import test from 'ava';
import fc from 'fast-check';
import { polygonShape } from '../../../api/rules/area-geometry.ts';
import { ringTree } from '../../../api/rules/ring-tree.ts';
import { boxRing, type Position } from '../../../schemas/geo/position.ts';
import type { Ring } from '../../../schemas/geo/rings.ts';
import { combRing, corridorRing, simpleRing, starRing } from '../../support/data/simple-rings.ts';

const micro = (degrees: number) => Math.round(degrees * 1e6) / 1e6;

/** A ring with six decimals. */
function sixDecimals(ring: Ring): Ring {
  return ring.map((position) => position.map(micro));
}

function isInside(ring: Ring, { lat, lon }: Position): boolean {
  return booleanPointInPolygon([lon, lat], { type: 'Polygon', coordinates: [ring] });
}

/** Positions in and around the box of a ring. */
function positionsAround(ring: Ring, shares: readonly (readonly [number, number])[]): Position[] {
  const [lons, lats] = [0, 1].map((axis) => ring.map((position) => position[axis] as number)) as [number[], number[]];
  const along = (values: readonly number[], share: number) => {
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return micro(least + (1.2 * share - 0.1) * (most - least));
  };
  return shares.map(([x, y]) => ({ lat: along(lats, y), lon: along(lons, x) }));
}

test('any simple ring holds the positions that turf finds inside it', (t) => {
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(simpleRing, fc.array(fc.tuple(share, share), { minLength: 20, maxLength: 60 }), (given, shares) => {
      const ring = sixDecimals(given);
      const tree = ringTree(ring);
      for (const at of positionsAround(ring, shares)) t.is(tree.holds(at), isInside(ring, at), JSON.stringify(at));
    }),
    { numRuns: 100 },
  );
});

for (const [what, ring] of [
  ['a corridor of 4,561 positions', corridorRing([-99, 34.5])],
  ['a comb of 1,203 positions', combRing([-100, 34])],
  ['a triangle', starRing([-97, 35], [1, 1, 1])],
] as const)
  test(`${what} holds its vertices, the middles of its edges, and of a grid what turf finds inside`, (t) => {
    const exact = sixDecimals(ring);
    const tree = ringTree(exact);
    for (const [i, [lon = 0, lat = 0]] of exact.slice(1).entries()) {
      t.true(tree.holds({ lat, lon }));
      t.true(tree.passesThrough({ lat: lat + 0.0049, lon: lon - 0.0049 }, 0.005));
      const [x = 0, y = 0] = exact[i] as number[];
      if (x === lon || y === lat) t.true(tree.holds({ lat: (y + lat) / 2, lon: (x + lon) / 2 }));
    }
    const shares = Array.from({ length: 900 }, (_, k) => [(k % 30) / 29, Math.floor(k / 30) / 29] as const);
    const positions = positionsAround(exact, shares);
    t.deepEqual(
      positions.map(tree.holds),
      positions.map((at) => isInside(exact, at)),
    );
  });

test('a ring passes through a square that an edge enters, with a vertex in it or without, and not through one beside it', (t) => {
  const tree = ringTree(boxRing([-97, 35, -96, 36]));
  t.true(tree.passesThrough({ lat: 35.001, lon: -97.004 }, 0.005));
  t.true(tree.passesThrough({ lat: 35.5, lon: -97.004999 }, 0.005));
  t.false(tree.passesThrough({ lat: 35.5, lon: -97.005 }, 0.005), 'the ring runs along its rim');
  t.false(tree.passesThrough({ lat: 34.995, lon: -97.005 }, 0.005), 'a corner touches a corner');
  t.false(tree.passesThrough({ lat: 35.5, lon: -96.5 }, 0.4), 'the ring is around it');
  const slope = ringTree([
    [-97, 35],
    [-96, 36],
    [-96, 36.5],
    [-97, 35],
  ]);
  t.true(slope.passesThrough({ lat: 35.495, lon: -96.496 }, 0.005));
  t.false(slope.passesThrough({ lat: 35.495, lon: -96.485 }, 0.005), 'in the box of the edge, beside it');
});

test('a ring is held as it is judged: a polygon of 20,000 positions holds as many pixels as its area says', (t) => {
  const ring = starRing(
    [-97, 35],
    Array.from({ length: 19_999 }, (_, k) => 1 + 0.4 * (k % 2)),
  );
  const shape = polygonShape(ring);
  if ('reason' in shape) throw new Error(shape.reason);
  const tree = ringTree(shape.submitted ?? []);
  let held_deg2 = 0;
  for (let lat = 33.505; lat < 36.5; lat += 0.01)
    for (let lon = -98.495; lon < -95.5; lon += 0.01) if (tree.holds({ lat, lon })) held_deg2 += 0.0001;
  // A star of n rays between two radii has the area n / 2 · r1 · r2 · sin(2 pi / n).
  const expected_deg2 = (19_999 / 2) * 1.4 * Math.sin((2 * Math.PI) / 19_999);
  t.true(Math.abs(held_deg2 / expected_deg2 - 1) < 0.01, `${held_deg2} of ${expected_deg2}`);
});
