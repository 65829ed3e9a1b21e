import test from 'ava';
import { bearingOf, supercellMotion, windTowards } from '../../../pipeline/simulate/hodograph.ts';

const KNOTS_PER_MS = 1 / 0.514444;
const PRESSURE = [1000, 925, 850, 700, 500, 400];
const HEIGHT = [250, 700, 1500, 3100, 5720, 7120];
const FROM_DEG = [165, 180, 190, 210, 220, 250];
const SPEED_KT = [5, 15, 20, 30, 50, 60];

test('supercell motion of the reference sounding, weighted by pressure thickness, agrees with an independent computation in knots', (t) => {
  const profile = PRESSURE.map((pressure_hpa, i) => ({
    pressure_hpa,
    height_m: HEIGHT[i],
    ...windTowards(FROM_DEG[i] + 180, SPEED_KT[i]),
  }));
  const motion = supercellMotion(profile, 7.5 * KNOTS_PER_MS);
  const rounded = ({ east, north }: { east: number; north: number }) => [east, north].map((v) => Number(v.toFixed(3)));
  t.deepEqual(rounded(motion.mean), [14.188, 24.632]);
  t.deepEqual(rounded(motion.right), [22.151, 12.421]);
  t.deepEqual(rounded(motion.left), [6.225, 36.844]);
});

test('without shear both movers go with the mean wind', (t) => {
  const level = (height_m: number) => ({ pressure_hpa: 1000 - height_m / 12, height_m, east: 8, north: 3 });
  const { mean, right, left } = supercellMotion([0, 2000, 4000, 7000].map(level));
  t.deepEqual(right, mean);
  t.deepEqual(left, mean);
});

for (const towards of [0, 45, 179, 300])
  test(`a wind towards ${towards} degrees has that bearing`, (t) => {
    t.true(Math.abs(bearingOf(windTowards(towards, 12)) - towards) < 1e-9);
  });
