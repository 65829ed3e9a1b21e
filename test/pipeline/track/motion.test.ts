import test from 'ava';
import type { HailField } from '../../../pipeline/grid.ts';
import {
  centroidVariance,
  firstMotion,
  type Motion,
  mahalanobis2,
  predictMotion,
  updateMotion,
} from '../../../pipeline/track/kalman.ts';
import {
  addOffset,
  headingOf,
  kmPerDegree,
  medianVelocity,
  offsetKm,
  regionalVelocity,
  velocityOf,
} from '../../../pipeline/track/motion.ts';
import { patternMotion } from '../../../pipeline/track/pattern-motion.ts';
import { destination, distanceKm } from '../../../schemas/geo/distance.ts';
import { rowLat } from '../../../schemas/geo/lattice.ts';
import { draw, drawTenths } from '../../support/data/draw.ts';

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

const SIDE = 200;
const CENTRES = [
  [40, 50],
  [60, 150],
  [150, 60],
  [140, 140],
] as const;

/** Four storms of 60 mm, moved by pixels. */
function storms(south: number, east: number): HailField {
  const rows = Array.from({ length: SIDE }, (_, r) =>
    Array.from({ length: SIDE }, (_, c) => {
      const mm = CENTRES.map(([y, x]) => 60 * Math.exp(-((r - y - south) ** 2 + (c - x - east) ** 2) / 18));
      const tenths = Math.round(10 * Math.max(...mm));
      return tenths >= 20 ? tenths : 0;
    }),
  );
  return drawTenths(rows);
}

for (const [south, east] of [
  [0, 0],
  [1, 2],
  [-2, 1],
  [0.5, 1.5],
  [-1.3, -0.4],
] as const)
  test(`storms that moved ${south} pixels south and ${east} east in two minutes are found to have done so`, (t) => {
    const heading = patternMotion(storms(0, 0), storms(south, east), 2);
    const velocity = heading && velocityOf(heading);
    const km = kmPerDegree(rowLat(1600));
    t.true(Math.abs((velocity?.north ?? Number.NaN) + (south * 0.01 * km.north) / 2) < 0.05);
    t.true(Math.abs((velocity?.east ?? Number.NaN) - (east * 0.01 * km.east) / 2) < 0.05);
  });

test('fields without resemblance, without pixels or too far apart in time say nothing', (t) => {
  const dry = draw('. . .');
  t.is(patternMotion(storms(0, 0), dry, 2), null);
  t.is(patternMotion(dry, storms(0, 0), 2), null);
  t.is(patternMotion(storms(0, 0), storms(0, 1), 11), null);
  t.is(patternMotion(storms(0, 0), storms(0, 1), 0), null);
});

const KALMAN_HERE = { lat: 38, lon: -97 };
const AT_REST = { east: 0, north: 0 };

function sd(motion: Motion): number {
  return Math.sqrt(motion.pp);
}

test('acceleration noise alone spreads a known motion to 3.4, 9.5 and 17.4 km in 15, 30 and 45 minutes', (t) => {
  const known = firstMotion(KALMAN_HERE, 0, AT_REST, 0);
  t.deepEqual(
    [15, 30, 45].map((minutes) => Number(sd(predictMotion(known, minutes)).toFixed(1))),
    [3.4, 9.5, 17.4],
  );
});

test('two steps of prediction spread like one long step', (t) => {
  const start = firstMotion(KALMAN_HERE, 1, { east: 0.5, north: 0.3 }, 0.4);
  const once = predictMotion(start, 6);
  const twice = predictMotion(predictMotion(start, 2), 4);
  for (const part of ['pp', 'pv', 'vv'] as const) t.true(Math.abs(once[part] - twice[part]) < 1e-12, part);
});

test('a predicted position moves by velocity times time', (t) => {
  const there = predictMotion(firstMotion(KALMAN_HERE, 1, { east: 0.6, north: -0.8 }, 0.4), 5);
  const way = offsetKm(KALMAN_HERE, there);
  t.true(Math.abs(way.east - 3) < 1e-6 && Math.abs(way.north + 4) < 1e-6);
});

test('a measurement pulls by its share of the variances: equal ones meet half way', (t) => {
  const predicted = firstMotion(KALMAN_HERE, 1, AT_REST, 0.4);
  const updated = updateMotion(predicted, addOffset(KALMAN_HERE, { east: 2, north: 0 }), 1);
  t.true(Math.abs(offsetKm(KALMAN_HERE, updated).east - 1) < 1e-6);
  t.is(updated.pp, 0.5);
});

test('measurements along a straight line teach the velocity', (t) => {
  const velocity = { east: 0.9, north: 0.4 };
  let motion = firstMotion(KALMAN_HERE, 1, AT_REST, 1);
  for (let k = 1; k <= 10; k++) {
    const at = addOffset(KALMAN_HERE, { east: velocity.east * 2 * k, north: velocity.north * 2 * k });
    motion = updateMotion(predictMotion(motion, 2), at, 1);
  }
  t.true(Math.abs(motion.east_km_min - 0.9) < 0.05 && Math.abs(motion.north_km_min - 0.4) < 0.05);
  t.true(motion.vv < 0.1);
});

test('the Mahalanobis distance counts prediction and measurement alike', (t) => {
  const predicted = firstMotion(KALMAN_HERE, 3, AT_REST, 0.4);
  t.true(Math.abs(mahalanobis2(predicted, addOffset(KALMAN_HERE, { east: 0, north: 4 }), 1) - 4) < 1e-6);
});

test('the centroid of a larger cell is less certain', (t) => {
  t.is(centroidVariance(0), 0.8 ** 2);
  t.is(centroidVariance(4), 0.8 ** 2 + 0.6 ** 2);
});

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
