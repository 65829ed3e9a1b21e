import test from 'ava';
import fc from 'fast-check';
import { echoTopM, shiOfProfile, vilOfProfile } from '../../../pipeline/simulate/column.ts';
import { type Level, supercellMotion } from '../../../pipeline/simulate/hodograph.ts';
import { hailReports } from '../../../pipeline/simulate/reports.ts';
import { EVENING_MS, SMALL } from '../../support/data/small-evening.ts';

const HEIGHTS_M = [250, 700, 1500, 3100, 5720, 7120];
const PRESSURES_HPA = [1000, 925, 850, 700, 500, 400];
const wind = fc.double({ min: -30, max: 40, noNaN: true });
const hodograph = fc
  .array(fc.tuple(wind, wind), { minLength: 6, maxLength: 6 })
  .map((winds) =>
    winds.map(([east, north], i): Level => ({ pressure_hpa: PRESSURES_HPA[i], height_m: HEIGHTS_M[i], east, north })),
  );

test('supercells go 7.5 m/s to the right and left of the mean wind, each as far, whatever the wind (Bunkers et al. 2000)', (t) => {
  fc.assert(
    fc.property(hodograph, (profile) => {
      const { mean, right, left } = supercellMotion(profile);
      fc.pre(right.east !== mean.east || right.north !== mean.north);
      t.true(Math.abs(Math.hypot(right.east - mean.east, right.north - mean.north) - 7.5) < 1e-9);
      t.true(Math.abs(right.east + left.east - 2 * mean.east) < 1e-9);
      t.true(Math.abs(right.north + left.north - 2 * mean.north) < 1e-9);
    }),
    { numRuns: 200 },
  );
});

test('a wind that is added to all levels is added to the motion: only the shear turns a supercell', (t) => {
  // Shear from the west, so that the direction across it is never left to rounding.
  const sheared = hodograph.map((profile) => profile.map((level, i) => ({ ...level, east: level.east / 10 + 6 * i })));
  fc.assert(
    fc.property(sheared, wind, wind, (profile, east, north) => {
      const { right } = supercellMotion(profile);
      const windier = profile.map((level) => ({ ...level, east: level.east + east, north: level.north + north }));
      const carried = supercellMotion(windier).right;
      t.true(Math.hypot(carried.east - right.east - east, carried.north - right.north - north) < 1e-6);
    }),
    { numRuns: 100 },
  );
});

for (const [dbz, plateau_km] of [
  [35, 4],
  [45, 8],
  [56, 12],
] as const)
  test(`VIL of ${dbz} dBZ up to ${plateau_km} km is what the law gives in one line (Greene and Clark 1972)`, (t) => {
    const expected = 3.44e-6 * 10 ** (((dbz / 10) * 4) / 7) * plateau_km * 1000;
    const found = vilOfProfile({ dbz, plateau_km, slope_db_km: 1e6 });
    t.true(Math.abs(found / expected - 1) < 0.001, `${found} kg/m2, expected ${expected}`);
  });

test('hail counts as rain of 56 dBZ in VIL', (t) => {
  const at = (dbz: number) => vilOfProfile({ dbz, plateau_km: 10, slope_db_km: 1e6 });
  t.is(at(70), at(56));
});

test('an echo top is where the straight fall reaches its reflectivity', (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 20, max: 70 }),
      fc.integer({ min: 2, max: 8 }),
      fc.integer({ min: 3, max: 6 }),
      (dbz, plateau_km, slope_db_km) => {
        const expected_m = Math.min(19_000, 1000 * (plateau_km + (dbz - 18) / slope_db_km));
        t.true(Math.abs(echoTopM({ dbz, plateau_km, slope_db_km }, 18) - expected_m) <= 101);
      },
    ),
    { numRuns: 100 },
  );
});

test('the hail index of a constant 60 dBZ is its closed integral (Witt et al. 1998)', (t) => {
  // W_T rises in a straight line to 1 over 3.4 km: half of it counts; above that all of it up to the top.
  for (const [freezing_km, top_km] of [
    [3, 9],
    [4, 12],
    [4.8, 16],
  ] as const) {
    const expected = 0.1 * 5e-6 * 10 ** (0.084 * 60) * 1000 * (3.4 / 2 + (top_km - freezing_km - 3.4));
    const found = shiOfProfile({ dbz: 60, plateau_km: top_km, slope_db_km: 1e6 }, freezing_km, 3.4);
    t.true(Math.abs(found / expected - 1) < 0.02, `${found}, expected ${expected}`);
  }
});

test('reports come in the sizes of objects that spotters name, after the hail and not before it', (t) => {
  const HOUR_MS = 3_600_000;
  const reports = hailReports(SMALL, EVENING_MS, EVENING_MS + 6 * HOUR_MS, EVENING_MS + 48 * HOUR_MS);
  t.true(reports.length > 20, `${reports.length} reports`);
  // Sizes that the Weather Service compares hail with, inches; pea and marble are no reports.
  const objects = [0.75, 0.88, 1, 1.25, 1.5, 1.75, 2, 2.5, 2.75, 3, 4, 4.5];
  for (const { size_in, measured } of reports) t.true(measured || objects.includes(size_in), `${size_in} in`);
  for (const { valid_ms, issued_ms } of reports) t.true(issued_ms >= valid_ms && valid_ms % 60_000 === 0);
  const of = (kind: string) => reports.filter((one) => one.kind === kind).length;
  t.true(of('first') > 5 * (of('corrects') + of('repeats')));
});
