import { createHash } from 'node:crypto';
import test from 'ava';
import { MISSING, SIMULATED_PRODUCTS, type SimulatedScan, simulateScan } from '../../../pipeline/simulate/fields.ts';
import { coverageOf } from '../../../pipeline/simulate/storm-core.ts';
import { stormAt, stormsBetween } from '../../../pipeline/simulate/storms.ts';
import { climateScenario, isInWindow, plainsScenario, type Scenario } from '../../../pipeline/simulate/weather.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';
import { shiOfMesh } from '../../../schemas/size.ts';
import { MS_PER_HOUR, MS_PER_MIN } from '../../../schemas/time.ts';
import { EVENING_MS, SITES, SMALL } from '../../support/data/small-evening.ts';

const scan = simulateScan(SMALL, EVENING_MS);
const hail = [...scan.values.MESH.keys()].filter((i) => scan.values.MESH[i] !== MISSING);

function fingerprint(one: SimulatedScan): string {
  const hash = createHash('sha256').update(one.index);
  for (const product of SIMULATED_PRODUCTS) hash.update(one.values[product]);
  return hash.digest('hex').slice(0, 16);
}

for (const [what, scenario, time, expected] of [
  ['supercells of seed 1', plainsScenario(1, WSR88D), '2026-05-01T22:00:00Z', 'a3df416cbc3ef079'],
  ['supercells of seed 7', plainsScenario(7, WSR88D), '2026-05-01T20:17:00Z', '7fe58e5132d3e75d'],
  ['the climate of seed 3 in January', climateScenario(3, WSR88D), '2026-01-15T22:00:00Z', '319cb6f06219f348'],
  ['the climate of seed 3 in June', climateScenario(3, WSR88D), '2026-06-04T23:00:00Z', '1d7b298199c1681d'],
] as const)
  test(`the weather of a seed and a time never changes: ${what}`, (t) => {
    t.is(fingerprint(simulateScan(scenario, Date.parse(time))), expected);
  });

test('the same seed and time give the same fields, whatever was simulated before', (t) => {
  simulateScan(SMALL, EVENING_MS + 30 * MS_PER_MIN);
  t.deepEqual(simulateScan({ ...SMALL }, EVENING_MS), scan);
});

test('pixels come in order, once each, and only where a radar sees', (t) => {
  const covered = coverageOf(SMALL);
  t.true(scan.index.length > 1000);
  t.true(scan.index.every((pixel, i) => i === 0 || pixel > (scan.index[i - 1] as number)));
  t.true(scan.index.every((pixel) => covered[pixel] === 1));
  for (const product of SIMULATED_PRODUCTS) t.is(scan.values[product].length, scan.index.length);
});

test('without radars nothing is covered and nothing is seen', (t) => {
  const blind = { ...SMALL, sites: [] };
  t.false(coverageOf(blind).includes(1));
  t.is(simulateScan(blind, EVENING_MS).index.length, 0);
});

test('the country in a window is a piece of the country', (t) => {
  const whole = { ...climateScenario(3, SITES), day_type: 'outbreak' } as const;
  const window = { ...whole.window, row0: 1700, col0: 2900, rows: 600, cols: 500 };
  const lattice = (one: SimulatedScan) =>
    new Map(
      [...one.index].map((pixel, i) => {
        const row = one.window.row0 + Math.floor(pixel / one.window.cols);
        const col = one.window.col0 + (pixel % one.window.cols);
        return [row * 7000 + col, SIMULATED_PRODUCTS.map((product) => one.values[product][i])];
      }),
    );
  const part = lattice(simulateScan({ ...whole, window }, EVENING_MS));
  const inside = [...lattice(simulateScan(whole, EVENING_MS))].filter(([pixel]) => {
    const row = Math.floor(pixel / 7000) - window.row0;
    const col = (pixel % 7000) - window.col0;
    return row >= 0 && row < window.rows && col >= 0 && col < window.cols;
  });
  t.true(part.size > 1000);
  t.deepEqual(new Map(inside), part);
});

test('hail pixels have every other product, from the same column, and MESH has no zeros', (t) => {
  t.true(hail.length > 100);
  const { MESH, POSH, VIL, EchoTop_18, EchoTop_50, MergedReflectivityQCComposite: dbz } = scan.values;
  for (const i of hail) {
    const tenths = MESH[i] as number;
    t.true(tenths >= 8);
    t.true((POSH[i] as number) >= 0 && (POSH[i] as number) <= 1000 && (POSH[i] as number) % 100 === 0);
    t.true((VIL[i] as number) > 0 && (EchoTop_18[i] as number) > 5000 && (dbz[i] as number) >= 350);
    if (shiOfMesh(tenths / 10) > 60) t.true((EchoTop_50[i] as number) > 0);
  }
});

test('severe columns have the VIL, echo tops and reflectivity that forecasters know', (t) => {
  const severe = hail.filter((i) => (scan.values.MESH[i] as number) >= 254);
  t.true(severe.length > 5);
  const within = (values: Int16Array, low: number, high: number) =>
    t.true(severe.every((i) => (values[i] as number) >= low && (values[i] as number) <= high));
  within(scan.values.VIL, 300, 900);
  within(scan.values.EchoTop_18, 11_000, 19_000);
  within(scan.values.EchoTop_50, 7000, 19_000);
  within(scan.values.MergedReflectivityQCComposite, 550, 720);
});

test('around the hail there is rain: echoes without hail, weak ones with a VIL of zero, some below 0 dBZ', (t) => {
  const { MESH, VIL, MergedReflectivityQCComposite: dbz } = scan.values;
  const rain = [...MESH.keys()].filter((i) => MESH[i] === MISSING);
  t.true(rain.length > 2 * hail.length);
  t.true(rain.some((i) => VIL[i] === 0) && rain.some((i) => (dbz[i] as number) < 0));
  t.true(dbz.every((value) => value % 5 === 0));
});

/** Storms of a scenario with hail of 25 mm at an instant. */
function hailstorms(scenario: Scenario, time_ms: number) {
  return stormsBetween(scenario, time_ms, time_ms)
    .map((storm) => stormAt(storm, time_ms))
    .filter((state) => state.peak_mm >= 25);
}

test('the default evening has hail over 25 mm in every three hours of any day, and a storm that keeps it for 60 km', (t) => {
  for (let seed = 0; seed < 8; seed += 1)
    for (let n = 0; n < 6; n += 1) {
      const start_ms = EVENING_MS + (seed * 31 + n) * 7.3 * MS_PER_HOUR;
      const scenario = plainsScenario(seed, SITES);
      const inside = Array.from({ length: 37 }, (_, i) => start_ms + i * 5 * MS_PER_MIN)
        .flatMap((time_ms) => hailstorms(scenario, time_ms))
        .filter((state) => isInWindow(scenario, state));
      const ways_km = [...Map.groupBy(inside, ({ storm }) => storm.storm_id).values()].map((states) => {
        const [first, last] = [states[0], states.at(-1)];
        return first && last ? distanceKm(first, last) : 0;
      });
      t.true(Math.max(0, ...ways_km) >= 60, `seed ${seed}, ${new Date(start_ms).toISOString()}`);
    }
});

test('storms of the country do not depend on the window, and most are born in the evening', (t) => {
  const whole = { ...climateScenario(3, SITES), day_type: 'marginal' } as const;
  const span = [EVENING_MS, EVENING_MS + 72 * MS_PER_HOUR] as const;
  const storms = stormsBetween(whole, ...span);
  t.deepEqual(stormsBetween({ ...whole, window: SMALL.window }, ...span), storms);
  const hours = storms.map(({ birth_ms }) => new Date(birth_ms).getUTCHours());
  t.true(hours.filter((hour) => hour >= 20 || hour < 2).length > 0.5 * hours.length);
});
