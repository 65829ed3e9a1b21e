import test from 'ava';
import { hailDuration, kineticEnergy, roofDamage, terminalVelocity, vehicleDamage } from '../../../api/rules/damage.ts';

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

/** Scans every two minutes over a place. */
const echoes = (...reflectivities: readonly (number | null)[]) =>
  reflectivities.map((reflectivity_dbz, index) => ({ scan_time: index * 120_000, reflectivity_dbz }));

for (const [dbz, j_m2] of [
  [60, 329],
  [50, 47.5],
  [45, 9],
  [40, 0],
  [10, 0],
] as const)
  test(`ten minutes of ${dbz} dBZ bring ${j_m2} J per square metre`, (t) => {
    const energy = kineticEnergy(echoes(dbz, dbz, dbz, dbz, dbz)) ?? Number.NaN;
    t.true(Math.abs(energy - j_m2) < 0.6, `${energy}`);
  });

test('the energy of hail is not known without the product, and a scan without it adds nothing', (t) => {
  t.is(kineticEnergy(echoes(null, null)), null);
  t.is(kineticEnergy([]), null);
  t.is(kineticEnergy(echoes(60, null)), kineticEnergy(echoes(60)));
});
