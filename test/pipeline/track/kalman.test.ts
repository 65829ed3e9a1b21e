import test from 'ava';
import {
  centroidVariance,
  firstMotion,
  type Motion,
  mahalanobis2,
  predictMotion,
  updateMotion,
} from '../../../pipeline/track/kalman.ts';
import { addOffset, offsetKm } from '../../../pipeline/track/local-plane.ts';

const HERE = { lat: 38, lon: -97 };
const AT_REST = { east: 0, north: 0 };

function sd(motion: Motion): number {
  return Math.sqrt(motion.pp);
}

test('acceleration noise alone spreads a known motion to 3.4, 9.5 and 17.4 km in 15, 30 and 45 minutes', (t) => {
  const known = firstMotion(HERE, 0, AT_REST, 0);
  t.deepEqual(
    [15, 30, 45].map((minutes) => Number(sd(predictMotion(known, minutes)).toFixed(1))),
    [3.4, 9.5, 17.4],
  );
});

test('two steps of prediction spread like one long step', (t) => {
  const start = firstMotion(HERE, 1, { east: 0.5, north: 0.3 }, 0.4);
  const once = predictMotion(start, 6);
  const twice = predictMotion(predictMotion(start, 2), 4);
  for (const part of ['pp', 'pv', 'vv'] as const) t.true(Math.abs(once[part] - twice[part]) < 1e-12, part);
});

test('a predicted position moves by velocity times time', (t) => {
  const there = predictMotion(firstMotion(HERE, 1, { east: 0.6, north: -0.8 }, 0.4), 5);
  const way = offsetKm(HERE, there);
  t.true(Math.abs(way.east - 3) < 1e-6 && Math.abs(way.north + 4) < 1e-6);
});

test('a measurement pulls by its share of the variances: equal ones meet half way', (t) => {
  const predicted = firstMotion(HERE, 1, AT_REST, 0.4);
  const updated = updateMotion(predicted, addOffset(HERE, { east: 2, north: 0 }), 1);
  t.true(Math.abs(offsetKm(HERE, updated).east - 1) < 1e-6);
  t.is(updated.pp, 0.5);
});

test('measurements along a straight line teach the velocity', (t) => {
  const velocity = { east: 0.9, north: 0.4 };
  let motion = firstMotion(HERE, 1, AT_REST, 1);
  for (let k = 1; k <= 10; k++) {
    const at = addOffset(HERE, { east: velocity.east * 2 * k, north: velocity.north * 2 * k });
    motion = updateMotion(predictMotion(motion, 2), at, 1);
  }
  t.true(Math.abs(motion.east_km_min - 0.9) < 0.05 && Math.abs(motion.north_km_min - 0.4) < 0.05);
  t.true(motion.vv < 0.1);
});

test('the Mahalanobis distance counts prediction and measurement alike', (t) => {
  const predicted = firstMotion(HERE, 3, AT_REST, 0.4);
  t.true(Math.abs(mahalanobis2(predicted, addOffset(HERE, { east: 0, north: 4 }), 1) - 4) < 1e-6);
});

test('the centroid of a larger cell is less certain', (t) => {
  t.is(centroidVariance(0), 0.8 ** 2);
  t.is(centroidVariance(4), 0.8 ** 2 + 0.6 ** 2);
});
