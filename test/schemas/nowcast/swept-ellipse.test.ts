import test from 'ava';
import { normalQuantile, radicalInverse } from '../../../schemas/nowcast/quasi-random.ts';
import { arrivals, reachKm } from '../../../schemas/nowcast/swept-ellipse.ts';

const SPREAD = { speed_error_kmh: 12, direction_error_deg: 18 };

/** Point east and north, speed, direction, lead, axes (the major one towards east); shares with 256 points and by Monte Carlo. */
const REFERENCE = [
  [10, 0, 40, 90, 15, 4, 2, 0.4609, 0.457],
  [10, 3, 40, 90, 30, 4, 2, 0.3359, 0.339],
  [20, 5, 50, 90, 30, 5, 3, 0.2617, 0.263],
  [25, 0, 60, 90, 45, 6, 3, 0.3086, 0.31],
  [25, 10, 60, 90, 45, 6, 3, 0.1602, 0.16],
  [15, -8, 30, 120, 45, 3, 3, 0.3477, 0.352],
] as const;

for (const [east_km, north_km, speed_kmh, direction_deg, lead, major_km, minor_km, share, random] of REFERENCE)
  test(`a storm at ${speed_kmh} km/h towards ${direction_deg} reaches (${east_km}, ${north_km}) in ${lead} min in ${share} of its futures`, (t) => {
    const times = arrivals(
      { east_km, north_km },
      { major_km, minor_km, orientation_deg: 90 },
      { speed_kmh, direction_deg, ...SPREAD },
      0,
      lead,
    );
    const hit = times.filter((time) => !Number.isNaN(time));
    t.is(Math.round((10_000 * hit.length) / times.length) / 10_000, share);
    t.true(Math.abs(hit.length / times.length - random) <= 0.006);
    t.true(hit.every((time) => time >= 0 && time <= lead));
  });

test('a point under the storm is reached at once by every future', (t) => {
  const motion = { speed_kmh: 50, direction_deg: 45, ...SPREAD };
  const times = arrivals({ east_km: 0, north_km: 0 }, { major_km: 4, minor_km: 2, orientation_deg: 0 }, motion, 0, 15);
  t.true(times.every((time) => time === 0));
});

test('arrival times follow from distance and speed when nothing is uncertain', (t) => {
  const motion = { speed_kmh: 60, direction_deg: 0, speed_error_kmh: 0, direction_error_deg: 0 };
  const circle = { major_km: 2, minor_km: 2, orientation_deg: 0 };
  const times = arrivals({ east_km: 0, north_km: 20 }, circle, motion, 0, 60);
  // At 1 km a minute the front of the circle, 2 km exp(0.2 z) ahead, comes after about 18 minutes.
  const sorted = [...times].sort((a, b) => a - b);
  t.true(Math.abs(sorted[128] - 18) < 0.05);
  t.true(sorted.every((time) => time > 20 - 2 * Math.exp(0.2 * 3) && time < 20));
});

test('a storm that moves away never comes', (t) => {
  const motion = { speed_kmh: 60, direction_deg: 180, speed_error_kmh: 5, direction_error_deg: 5 };
  const times = arrivals({ east_km: 0, north_km: 20 }, { major_km: 3, minor_km: 3, orientation_deg: 0 }, motion, 0, 45);
  t.true(times.every(Number.isNaN));
});

test('the normal quantile meets its table', (t) => {
  for (const [probability, value] of [
    [0.5, 0],
    [0.975, 1.959963984540054],
    [0.99, 2.3263478740408408],
    [0.001, -3.090232306167813],
  ] as const)
    t.true(Math.abs(normalQuantile(probability) - value) < 1e-8);
});

test('the Halton sequence begins as published', (t) => {
  t.deepEqual(
    [1, 2, 3, 4, 5, 6].map((index) => radicalInverse(index, 2)),
    [0.5, 0.25, 0.75, 0.125, 0.625, 0.375],
  );
  t.deepEqual(
    [1, 2, 3].map((index) => radicalInverse(index, 3).toFixed(6)),
    ['0.333333', '0.666667', '0.111111'],
  );
});

test('a point out of reach is reached in no future, and one as far as the fastest and largest goes is reached in some', (t) => {
  const motion = { speed_kmh: 50, direction_deg: 90, ...SPREAD };
  const circle = { major_km: 4, minor_km: 4, orientation_deg: 0 };
  const reach = reachKm(circle, motion, 45);
  const reachedAt = (km: number) =>
    arrivals({ east_km: km, north_km: 0 }, circle, motion, 0, 45).some((time) => !Number.isNaN(time));
  t.false(reachedAt(reach));
  t.true(reachedAt(0.8 * reach));
});
