import test from 'ava';
import { headingOf, medianVelocity, regionalVelocity, velocityOf } from '../../../pipeline/track/motion.ts';
import { destination } from '../../../schemas/geo/distance.ts';

const HERE = { lat: 40, lon: -97 };

for (const [east, north, direction] of [
  [0, 1, 0],
  [1, 0, 90],
  [0, -1, 180],
  [-1, 0, 270],
  [1, 1, 45],
] as const)
  test(`${east} km/min east and ${north} north go towards ${direction} degrees`, (t) => {
    const heading = headingOf({ east, north });
    t.is(heading.direction_deg, direction);
    t.true(Math.abs(heading.speed_kmh - 60 * Math.hypot(east, north)) < 1e-9);
  });

test('ProbSevere motion of 15.042 m/s east and -14.019 south is 74.0 km/h towards 47.0 degrees', (t) => {
  const { speed_kmh, direction_deg } = headingOf({ east: 15.042 * 0.06, north: 14.019 * 0.06 });
  t.deepEqual([speed_kmh.toFixed(1), direction_deg.toFixed(1)], ['74.0', '47.0']);
});

test('no motion goes north whatever the sign of its zeros, so that memory out of JSON says the same', (t) => {
  for (const east of [0, -0]) for (const north of [0, -0]) t.is(headingOf({ east, north }).direction_deg, 0);
});

test('a direction just west of north stays below 360 degrees', (t) => {
  const { direction_deg } = headingOf({ east: -1e-18, north: 1 });
  t.true(direction_deg >= 0 && direction_deg < 360);
});

test('a heading turned into a velocity and back is the same', (t) => {
  const back = headingOf(velocityOf({ speed_kmh: 54.3, direction_deg: 213.5 }));
  t.true(Math.abs(back.speed_kmh - 54.3) < 1e-9 && Math.abs(back.direction_deg - 213.5) < 1e-9);
});

test('the median takes east and north apart and is not moved by one outlier', (t) => {
  const velocities = [
    { east: 1, north: 5 },
    { east: 2, north: 4 },
    { east: 90, north: 3 },
  ];
  t.deepEqual(medianVelocity(velocities), { east: 2, north: 4 });
  t.is(medianVelocity([]), null);
});

test('only movers within 100 km make the regional motion', (t) => {
  const near = { ...destination(HERE, 60, 99.9), velocity: { east: 1, north: 0 } };
  const far = { ...destination(HERE, 240, 100.1), velocity: { east: 0, north: 9 } };
  t.deepEqual(regionalVelocity(HERE, [far, near]), { east: 1, north: 0 });
  t.is(regionalVelocity(HERE, [far]), null);
});
