import test from 'ava';
import { destination } from '../../schemas/geo/distance.ts';
import { stormSource } from '../../schemas/nowcast/probability.ts';
import { drawTenths } from '../support/data/draw.ts';
import {
  calibrated,
  flowOf,
  flowVelocity,
  learnRivals,
  movingField,
  passingShare,
  rivalsAfter,
  stormVelocity,
  twoProbabilities,
} from './nowcast-rivals.ts';

const PLACE = { lat: 40, lon: -95 };
const EAST = { east: 1, north: 0 };
const MIN_MS = 60_000;

/** A block of hail of 9 x 9 pixels around a place. */
function blockAt({ lat, lon }: typeof PLACE) {
  return Array.from({ length: 81 }, (_, n) => ({
    lat: lat + 0.01 * (Math.floor(n / 9) - 4),
    lon: lon + 0.01 * ((n % 9) - 4),
  }));
}

/** A storm with such a block, moving east at 60 km/h. */
function stormAt(place: typeof PLACE, direction_deg: number | null = 90) {
  const speed_kmh = direction_deg === null ? null : 60;
  const seen = { scan_time: 0, ...place, speed_kmh, direction_deg, scan_count: 6 };
  return stormSource(seen, blockAt(place));
}

test('a block of hail that moves east at 1 km/min covers points on its way when it gets there, and none behind it', (t) => {
  const field = movingField(blockAt(PLACE), () => EAST);
  const shares = (bearing_deg: number, km: number) => passingShare(field, destination(PLACE, bearing_deg, km), 0);
  const on = shares(90, 35);
  t.is(on.t15, 0);
  t.true(on.t30 > 0.05 && on.t45 >= on.t30);
  t.true(shares(90, 0.1).t15 > 0.9);
  t.deepEqual(shares(270, 30), { t15: 0, t30: 0, t45: 0 });
  t.deepEqual(shares(0, 40), { t15: 0, t30: 0, t45: 0 });
});

test('an old scan has moved by the time of the question', (t) => {
  const field = movingField(blockAt(PLACE), () => EAST);
  const point = destination(PLACE, 90, 18);
  t.true(passingShare(field, point, 5).t15 > passingShare(field, point, 0).t15);
});

test('no hail covers nothing', (t) => {
  t.deepEqual(
    passingShare(
      movingField([], () => EAST),
      PLACE,
      0,
    ),
    { t15: 0, t30: 0, t45: 0 },
  );
});

test('hail moves with the nearest storm that has a motion, and beyond 100 km from any it stays', (t) => {
  const velocityAt = stormVelocity([
    stormAt(PLACE, null),
    stormAt(destination(PLACE, 0, 20), 90),
    stormAt(destination(PLACE, 0, 60), 180),
  ]);
  t.true(Math.abs(velocityAt(PLACE).east - 1) < 1e-9);
  t.true(Math.abs(velocityAt(destination(PLACE, 0, 70)).north + 1) < 1e-9);
  t.deepEqual(velocityAt(destination(PLACE, 180, 120)), { east: 0, north: 0 });
});

/** A pattern of three showers, moved by so many pixels. */
function showers(south: number, east: number) {
  return drawTenths(
    Array.from({ length: 100 }, (_, row) =>
      Array.from({ length: 100 }, (_, col) => {
        const heights = [
          [30, 30, 400],
          [60, 45, 300],
          [40, 70, 500],
        ].map(
          ([r, c, peak]) => (peak as number) - 40 * Math.hypot(row - south - (r as number), col - east - (c as number)),
        );
        return Math.max(0, Math.round(Math.max(...heights)));
      }),
    ),
  );
}

test('the flow of a pattern is its motion since the scan about six minutes before', (t) => {
  const patterns = [0, 2, 4, 6, 8].map((min) => ({ time_ms: min * MIN_MS, pattern: showers(min / 2, -min) }));
  const { east, north } = flowVelocity(flowOf(patterns))({ lat: 39.5, lon: -94.5 });
  t.true(Math.abs(east + 0.85) < 0.05 && Math.abs(north + 0.555) < 0.05, `${east} ${north}`);
});

test('a flow needs two scans at most ten minutes apart, and without one hail stays', (t) => {
  const scan = (min: number) => ({ time_ms: min * MIN_MS, pattern: showers(0, 0) });
  t.deepEqual(flowOf([]), []);
  t.deepEqual(flowOf([scan(0)]), []);
  t.deepEqual(flowOf([scan(0), scan(11)]), []);
  t.is(flowOf([scan(0), scan(10)]).length, 1);
  t.deepEqual(flowVelocity([])(PLACE), { east: 0, north: 0 });
});

test('advection knows the hail of storms, extrapolation also hail that belongs to none', (t) => {
  const storm = stormAt(PLACE);
  const alone = destination(PLACE, 0, 40);
  const knownOf = rivalsAfter(0, [storm], [...storm.hail, ...blockAt(alone)], []);
  const ahead = knownOf(destination(PLACE, 90, 12), 0, false);
  t.true(ahead.advection.t15 && ahead.lagrangian.t15 > 0.2);
  t.is(ahead.flow.t15, 0, 'without a flow hail stays');
  const aheadOfOther = knownOf(destination(alone, 90, 12), 0, false);
  t.true(!aheadOfOther.advection.t15 && aheadOfOther.lagrangian.t15 > 0.2);
  t.true(knownOf(PLACE, 0, true).persistence);
});

test('two probabilities are how often it came true where a forecast held and where it did not', (t) => {
  const forecast = twoProbabilities([true, true, false, false], [1, 0, 0, 0]);
  t.deepEqual([true, false].map(forecast), [0.5, 0]);
});

test('a calibrated share says how often it came true, and more for a larger share', (t) => {
  const shares = Array.from({ length: 1000 }, (_, n) => (n % 2 === 0 ? 0.1 : 0.6));
  const came = shares.map((share, n) => ((n * 0.6180339887) % 1 < (share < 0.5 ? 0.2 : 0.7) ? 1 : 0));
  const forecast = calibrated(shares, came);
  t.true(Math.abs(forecast(0.1) - 0.2) < 0.02 && Math.abs(forecast(0.6) - 0.7) < 0.02);
  t.true(forecast(0) < 0.2 && forecast(1) > 0.7);
});

test('where nothing came, or everything, that is what a calibrated share says', (t) => {
  t.is(calibrated([0.1, 0.9], [0, 0])(0.5), 0);
  t.is(calibrated([0.1, 0.9], [1, 1])(0.5), 1);
});

test('baselines learn a lead from its own outcomes; persistence has nothing to learn', (t) => {
  const knownOf = rivalsAfter(0, [stormAt(PLACE)], blockAt(PLACE), []);
  const [ahead, behind] = [90, 270].map((bearing) => knownOf(destination(PLACE, bearing, 10), 0, false)) as [
    ReturnType<typeof knownOf>,
    ReturnType<typeof knownOf>,
  ];
  const cases = Array.from({ length: 100 }, (_, n) => ({
    rivals: n % 2 === 0 ? ahead : behind,
    came: n % 4 === 0 ? 1 : 0,
  }));
  const forecast = learnRivals(cases, 't15');
  t.deepEqual([forecast(ahead).advection, forecast(behind).advection], [0.5, 0]);
  t.true(forecast(ahead).lagrangian > 0.4 && forecast(behind).lagrangian < 0.1);
  t.is(forecast({ ...ahead, persistence: true }).persistence, 1);
});
