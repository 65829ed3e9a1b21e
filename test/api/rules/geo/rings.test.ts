import { kinks } from '@turf/kinks';
import test from 'ava';
import fc from 'fast-check';
import { fromMicroRing, type MicroRing, toMicroRing, turnOf } from '../../../../api/rules/geo/micro-ring.ts';
import { surrounding } from '../../../../api/rules/geo/nesting.ts';
import { selfContact } from '../../../../api/rules/geo/self-contact.ts';
import { simplifyMultiPolygon } from '../../../../api/rules/geo/simplify.ts';
import { thinRing } from '../../../../api/rules/geo/thin-ring.ts';
import { distanceKm } from '../../../../schemas/geo/distance.ts';
import { geodesicAreaKm2 } from '../../../../schemas/geo/hull.ts';
import { type MultiPolygon, type Ring, traceMultiPolygon } from '../../../../schemas/geo/rings.ts';
import { drawPixels, pixelsOf, REAL_DAY, realField } from '../../../support/data/pixels.ts';
import { sharedTest } from '../../../support/data/shared-data.ts';
import { bandRing, simpleRing, starRing } from '../../../support/data/simple-rings.ts';
import { isValidMultiPolygon } from '../../../support/data/valid-multi-polygon.ts';

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

test('a tolerance of zero or less returns the very same polygons', (t) => {
  const polygons = traceMultiPolygon(STAIRS);
  t.is(simplifyMultiPolygon(polygons, 0), polygons);
  t.is(simplifyMultiPolygon(polygons, -5), polygons);
});

test('stairs become slopes: fewer vertices, all of them old ones, the outermost kept', (t) => {
  const [[before]] = traceMultiPolygon(STAIRS) as [[Ring]];
  const [[after]] = simplifyMultiPolygon([[before]], 1000) as [[Ring]];
  const old = new Set(before.map(String));
  t.true(after.length < before.length * 0.6, `${before.length} became ${after.length}`);
  t.true(after.every((position) => old.has(String(position))));
  for (const axis of [0, 1] as const)
    for (const pick of [Math.min, Math.max])
      t.is(pick(...after.map((position) => position[axis])), pick(...before.map((position) => position[axis])));
});

for (const tolerance_m of [300, 800, 1500])
  test(`no point moves farther than the tolerance of ${tolerance_m} m`, (t) => {
    const [[before]] = traceMultiPolygon(STAIRS) as [[Ring]];
    const [[after]] = simplifyMultiPolygon([[before]], tolerance_m) as [[Ring]];
    t.true(farthest_m(before, after) <= tolerance_m + 60, 'sampled every tenth of an edge: 60 m');
    t.true(farthest_m(after, before) <= tolerance_m + 60);
  });

test('polygons far smaller than the tolerance stay, drawn by their outermost vertices', (t) => {
  const polygons = traceMultiPolygon(
    drawPixels(`
    1 . 1 1 . . 1
    . . 1 1 . . .`),
  );
  for (const tolerance_m of [1000, 2000, 99_999]) {
    const simple = simplifyMultiPolygon(polygons, tolerance_m);
    t.is(simple.length, 3);
    t.true(simple.every(([shell]) => (shell as Ring).length <= 5));
  }
});

test('a ring that would cross its hole keeps its shape', (t) => {
  const donut = traceMultiPolygon(
    drawPixels(`
    . . 1 1 1 1 1 1
    . 1 1 . . . . 1
    1 1 . . . . 1 1
    1 . . . . 1 1 .
    1 1 1 1 1 1 . .`),
  );
  const simple = simplifyMultiPolygon(donut, 2000);
  t.is(isValidMultiPolygon(simple), null);
  t.is(simple[0]?.length, 2);
});

test('a ring that would reach out of what lies around it stays nearer to its shape', (t) => {
  const bay = traceMultiPolygon(
    drawPixels(`
    1 . . . . 1
    1 1 1 1 1 1`),
  );
  const filled = simplifyMultiPolygon(bay, 1200);
  t.true(surrounding(bay).reachesOut(filled[0]?.[0] as Ring, 1000), 'the bay is a row deep: 1117 m');
  t.deepEqual(simplifyMultiPolygon(bay, 1200, filled), filled);
  const floor = traceMultiPolygon(drawPixels('1 1 1 1 1 1', { row0: 1502, col0: 3000 }));
  const held = simplifyMultiPolygon(bay, 1200, floor);
  t.deepEqual(held, bay, 'filled, it would reach two rows out');
});

test('any pixels at any tolerance stay valid', (t) => {
  const masks = fc.array(fc.boolean(), { minLength: 144, maxLength: 144 });
  t.notThrows(() =>
    fc.assert(
      fc.property(masks, fc.integer({ min: 1, max: 6000 }), (cells, tolerance_m) => {
        const chosen = cells.flatMap((on, i) => (on ? [i] : []));
        const pixels = {
          rows: chosen.map((i) => 1500 + Math.floor(i / 12)),
          cols: chosen.map((i) => 3000 + (i % 12)),
        };
        return isValidMultiPolygon(simplifyMultiPolygon(traceMultiPolygon(pixels), tolerance_m)) === null;
      }),
      { numRuns: 200 },
    ),
  );
});

function areaKm2(polygon: MultiPolygon[number]): number {
  return polygon.reduce((sum, ring, i) => sum + (i === 0 ? 1 : -1) * geodesicAreaKm2(ring), 0);
}

for (const mm of [19, 25, 38, 63, 69])
  sharedTest(`the ${mm} mm tier of the real day is valid at 0, 500 and 5000 m`, (t) => {
    const exact = traceMultiPolygon(pixelsOf(realField(REAL_DAY), mm));
    for (const tolerance_m of [0, 500, 5000]) t.is(isValidMultiPolygon(simplifyMultiPolygon(exact, tolerance_m)), null);
  });

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

/** A ring around a box. */
function box(west: number, south: number, east: number, north: number): Ring {
  return [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ];
}

const YARD = [[box(-100, 40, -99.9, 40.1), box(-99.96, 40.04, -99.94, 40.06).toReversed()]];
const { reachesOut } = surrounding(YARD);

test('a ring inside, or along the edge, reaches out by nothing', (t) => {
  t.false(reachesOut(box(-99.99, 40.01, -99.97, 40.02), 1));
  t.false(reachesOut(box(-100, 40, -99.9, 40.1), 1));
});

test('a ring reaches out as far as its farthest point is from the edge', (t) => {
  const north = box(-99.99, 40.01, -99.97, 40.11); // a hundredth of a degree beyond: 1117 m
  t.true(reachesOut(north, 1100));
  t.false(reachesOut(north, 1120));
  const bay = [
    [
      [-100, 40],
      [-99.9, 40],
      [-99.9, 40.1],
      [-99.95, 40.05],
      [-100, 40.1],
      [-100, 40],
    ],
  ];
  // Only the middle of its northern edge is far from the bay's shores: 0.05 degrees on the flat, 3394 m across.
  const over = box(-100, 40, -99.9, 40.1);
  t.true(surrounding([bay]).reachesOut(over, 3300));
  t.false(surrounding([bay]).reachesOut(over, 3450));
});

test('a hole is outside, and a ring far from everything reaches out at any slack', (t) => {
  t.true(reachesOut(box(-99.955, 40.045, -99.945, 40.055), 100));
  t.true(reachesOut(box(-90, 40, -89.9, 40.1), 5000));
});
