import test from 'ava';
import { hailDuration, roofDamage, terminalVelocity, vehicleDamage } from '../../../api/rules/damage.ts';

for (const [size_mm, roof, vehicle] of [
  [18.9, 'none', 'none'],
  [19, 'none', 'possible'],
  [24.9, 'none', 'possible'],
  [25, 'possible', 'likely'],
  [37.9, 'possible', 'likely'],
  [38, 'likely', 'severe'],
  [62.9, 'likely', 'severe'],
  [63, 'severe', 'severe'],
] as const)
  test(`hail of ${size_mm} mm: roof ${roof}, vehicle ${vehicle}`, (t) => {
    t.is(roofDamage(size_mm), roof);
    t.is(vehicleDamage(size_mm), vehicle);
  });

for (const [size_mm, m_s] of [
  [25.4, 18.2],
  [50.8, 25.8],
] as const)
  test(`a stone of ${size_mm} mm falls at ${m_s} m/s`, (t) => {
    t.is(Math.round(10 * terminalVelocity(size_mm)) / 10, m_s);
  });

const minutes = (...values: number[]) => values.map((value) => value * 60_000);

test('hail in scans two minutes apart lasts twice as many minutes as scans', (t) => {
  t.is(hailDuration(minutes(0, 2, 4, 6)), 8);
});

test('a gap counts up to four minutes, one scan alone as two, none as nothing', (t) => {
  t.is(hailDuration(minutes(0, 2, 20)), 8);
  t.is(hailDuration(minutes(7)), 2);
  t.is(hailDuration([]), 0);
});
