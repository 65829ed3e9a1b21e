import test from 'ava';
import { addOffset, offsetKm } from '../../../pipeline/track/local-plane.ts';
import { destination, distanceKm } from '../../../schemas/geo/distance.ts';

const PLACES = [25, 33, 40, 49].map((lat) => ({ lat, lon: -97.3 }));

test('the length of an offset is within 10 m of the geodesic up to 100 km', (t) => {
  for (const from of PLACES)
    for (const bearing of [0, 37, 90, 145, 200, 271, 333])
      for (const km of [0.5, 5, 30, 100]) {
        const offset = offsetKm(from, destination(from, bearing, km));
        t.true(Math.abs(Math.hypot(offset.east, offset.north) - km) < 0.01, `${from.lat} N, ${bearing} deg, ${km} km`);
      }
});

test('moving by an offset and taking the offset back agree within a centimetre', (t) => {
  for (const from of PLACES) {
    const there = addOffset(from, { east: 12.3, north: -45.6 });
    const back = offsetKm(from, there);
    t.true(Math.abs(back.east - 12.3) < 1e-5 && Math.abs(back.north + 45.6) < 1e-5);
    t.true(Math.abs(distanceKm(from, there) - Math.hypot(12.3, 45.6)) < 0.01);
  }
});

test('east is positive eastwards and north northwards', (t) => {
  const offset = offsetKm({ lat: 40, lon: -97 }, { lat: 39.9, lon: -96.9 });
  t.true(offset.east > 8.5 && offset.east < 8.6);
  t.true(offset.north < -11.1 && offset.north > -11.2);
});
