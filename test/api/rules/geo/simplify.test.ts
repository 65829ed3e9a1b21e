import test from 'ava';
import fc from 'fast-check';
import { surrounding } from '../../../../api/rules/geo/nesting.ts';
import { simplifyMultiPolygon } from '../../../../api/rules/geo/simplify.ts';
import { distanceKm } from '../../../../schemas/geo/distance.ts';
import { geodesicAreaKm2 } from '../../../../schemas/geo/hull.ts';
import { type MultiPolygon, type Ring, traceMultiPolygon } from '../../../../schemas/geo/rings.ts';
import { drawPixels, pixelsOf, REAL_DAY, realField } from '../../../support/data/pixels.ts';
import { sharedTest } from '../../../support/data/shared-data.ts';
import { isValidMultiPolygon } from '../../../support/data/valid-multi-polygon.ts';

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
        const pixels = { rows: chosen.map((i) => 1500 + Math.floor(i / 12)), cols: chosen.map((i) => 3000 + (i % 12)) };
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
