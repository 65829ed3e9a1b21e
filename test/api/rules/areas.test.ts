import test from 'ava';
import fc from 'fast-check';
import { boxesMeet, holds, isWithin } from '../../../api/rules/areas.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';
import type { MultiPolygon } from '../../../schemas/geo/rings.ts';
import { multiPolygonFromWkt } from '../../../schemas/geo/wkt.ts';

const SQUARE = 'POLYGON ((-98 35, -97 35, -97 36, -98 36, -98 35))';
const HOLED =
  'MULTIPOLYGON (((-98 35, -97 35, -97 36, -98 36, -98 35), (-97.8 35.2, -97.8 35.4, -97.6 35.4, -97.6 35.2, -97.8 35.2)), ((-90 40, -89 40, -89 41, -90 40)))';

for (const [place, lat, lon, inside] of [
  ['the middle', 35.6, -97.5, true],
  ['an edge', 35, -97.5, true],
  ['a corner', 36, -97, true],
  ['just outside', 36.0001, -97.5, false],
  ['a hole', 35.3, -97.7, false],
  ['the second polygon', 40.2, -89.3, true],
  ['the box of the second polygon, outside of its slope', 40.9, -89.9, false],
] as const)
  test(`${place} is ${inside ? 'held' : 'not held'}`, (t) => t.is(holds({ geometry: HOLED }, { lat, lon }), inside));

/** The distance to edges by looking at very many positions of them. */
function obviousKm(polygons: MultiPolygon, point: { lat: number; lon: number }): number {
  let least = Number.POSITIVE_INFINITY;
  for (const ring of polygons.flat())
    for (let i = 1; i < ring.length; i++)
      for (let step = 0; step <= 400; step++) {
        const [from, to] = [ring[i - 1]!, ring[i]!];
        const at = (axis: 0 | 1) => from[axis]! + (step / 400) * (to[axis]! - from[axis]!);
        least = Math.min(least, distanceKm(point, { lon: at(0), lat: at(1) }));
      }
  return least;
}

test('what is within a distance is what many positions of the edges say', (t) => {
  const polygons = multiPolygonFromWkt(SQUARE);
  fc.assert(
    fc.property(
      fc.record({
        lat: fc.double({ min: 33.5, max: 37.5, noNaN: true }),
        lon: fc.double({ min: -100, max: -95, noNaN: true }),
      }),
      (point) => {
        if (holds({ geometry: SQUARE }, point)) return t.true(isWithin(polygons, point, 0.001));
        const km = obviousKm(polygons, point);
        // Positions of an edge lie 0.28 km apart: near its end the true distance may be a little less.
        t.true(isWithin(polygons, point, km + 1e-6));
        t.false(isWithin(polygons, point, km * 0.999 - 0.14));
      },
    ),
    { numRuns: 30 },
  );
});

test('the distance to an edge is the geodesic: a metre more or less at 200 km decides', (t) => {
  const polygons = multiPolygonFromWkt(SQUARE);
  const south = { lat: 33.2, lon: -97.5 };
  const km = distanceKm(south, { lat: 35, lon: -97.5 });
  t.true(isWithin(polygons, south, km + 0.001));
  t.false(isWithin(polygons, south, km - 0.001));
});

test('boxes that touch meet', (t) => {
  t.true(boxesMeet([-98, 35, -97, 36], [-97, 36, -96, 37]));
  t.false(boxesMeet([-98, 35, -97, 36], [-96.9, 35, -96, 36]));
  t.false(boxesMeet([-98, 35, -97, 36], [-98, 36.1, -97, 37]));
});
