import test from 'ava';
import { type Blockage, blockageOf } from '../../../schemas/geo/blockage.ts';

/** Radar, tilt, azimuth, distance, share: in the order of the table. */
type Step = readonly [string, number, number, number, number];
const STEPS: readonly Step[] = [
  ['KAAA', 0.5, 0, 0, 0],
  ['KAAA', 0.5, 0, 20, 0.25],
  ['KAAA', 0.5, 0, 20.25, 0.7],
  ['KAAA', 0.5, 270, 0, 0],
  ['KAAA', 0.5, 270, 100, 1],
  ['KAAA', 0.5, 359, 0, 0],
  ['KAAA', 0.5, 359, 50, 0.1],
  ['KAAA', 0.9, 270, 100, 0.33],
  ['KBBB', 0.5, 0, 0, 0],
  ['KBBB', 0.5, 0, 5, 0.01],
];

function made(steps: readonly Step[]): Blockage {
  return blockageOf({
    radar_id: steps.map(([radar_id]) => radar_id),
    tilt_deg: steps.map((step) => step[1]),
    azimuth_deg: steps.map((step) => step[2]),
    distance_km: steps.map((step) => step[3]),
    blocked: steps.map((step) => step[4]),
  });
}
const { blocked, radars } = made(STEPS);

test('a share holds from its distance on, up to the next step', (t) => {
  const shares = [0, 19.99, 20, 20.2, 20.25, 230].map((km) => blocked('KAAA', 0, km, 0.5));
  t.deepEqual(shares, [0, 0, 0.25, 0.25, 0.7, 0.7]);
});

test('the ray of the nearest whole azimuth decides, over north too', (t) => {
  const shares = [0.49, 0.51, 269.5, 270.49, 358.6, 359.4, 359.6].map((azimuth) => blocked('KAAA', azimuth, 150, 0.5));
  t.deepEqual(shares, [0.7, 0, 1, 1, 0.1, 0.1, 0.7]);
});

test('a tilt, a ray and a radar without steps are free', (t) => {
  t.is(blocked('KAAA', 270, 150, 0.9), 0.33);
  t.is(blocked('KAAA', 0, 150, 0.9), 0);
  t.is(blocked('KAAA', 270, 150, 1.3), 0);
  t.is(blocked('KBBB', 90, 150, 0.5), 0);
  t.is(blocked('KZZZ', 270, 150, 0.5), 0);
  t.is(blocked('KBBB', 0, 5, 0.5), 0.01);
});

test('only radars that were looked at are known', (t) => t.deepEqual([...radars], ['KAAA', 'KBBB']));

test('without steps nothing is known or blocked', (t) => {
  const empty = made([]);
  t.is(empty.radars.size, 0);
  t.is(empty.blocked('KAAA', 0, 100, 0.5), 0);
});

for (const [title, steps] of [
  ['an azimuth of 360', [['KAAA', 0.5, 360, 0, 0]]],
  ['azimuths that fall', [STEPS[4], STEPS[1]]],
] as const)
  test(`${title} is refused`, (t) => {
    t.throws(() => made(steps as readonly Step[]), { instanceOf: RangeError, message: /KAAA is out of order/ });
  });
