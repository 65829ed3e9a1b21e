import test from 'ava';
import { nearestWithin } from '../../../api/rules/nearest.ts';
import { distanceKm, roughDistanceKm } from '../../../schemas/geo/distance.ts';

const HERE = { lat: 45, lon: -100 };

test('the nearest by the geodesic wins, though the sphere takes another for nearer', (t) => {
  const north = { lat: 45.45, lon: -100 };
  const east = { lat: 45, lon: -99.3651 };
  t.true(
    roughDistanceKm(HERE, north) < roughDistanceKm(HERE, east) !== distanceKm(HERE, north) < distanceKm(HERE, east),
  );
  const expected = distanceKm(HERE, north) < distanceKm(HERE, east) ? north : east;
  for (const items of [
    [north, east],
    [east, north],
  ])
    t.deepEqual(nearestWithin(HERE, items, 100), { item: expected, distance_km: distanceKm(HERE, expected) });
});

test('a place at the radius is within it, one beyond is not', (t) => {
  const item = { lat: 45.3, lon: -100.2 };
  const km = distanceKm(HERE, item);
  t.is(nearestWithin(HERE, [item], km)?.item, item);
  t.is(nearestWithin(HERE, [item], km - 1e-6), null);
  t.is(nearestWithin(HERE, [], km), null);
});

test('of equally near places the first wins, and a place has no distance to itself', (t) => {
  const [east, west] = [
    { lat: 45, lon: -99.5 },
    { lat: 45, lon: -100.5 },
  ];
  t.is(nearestWithin(HERE, [east, west], 100)?.item, east);
  t.is(nearestWithin(HERE, [west, east], 100)?.item, west);
  t.deepEqual(nearestWithin(HERE, [east, HERE, west], 100), { item: HERE, distance_km: 0 });
});
