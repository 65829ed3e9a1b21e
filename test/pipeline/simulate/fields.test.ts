import test from 'ava';
import { coverageOf } from '../../../pipeline/simulate/coverage.ts';
import { MISSING, SIMULATED_PRODUCTS, type SimulatedScan, simulateScan } from '../../../pipeline/simulate/fields.ts';
import { conusScenario } from '../../../pipeline/simulate/scenario.ts';
import { truthAt } from '../../../pipeline/simulate/truth.ts';
import { latRow, lonCol } from '../../../schemas/geo/lattice.ts';
import { shiOfMesh } from '../../../schemas/size.ts';
import { EVENING_MS, MS_PER_MINUTE, SITES, SMALL } from '../../support/data/small-evening.ts';

const scan = simulateScan(SMALL, EVENING_MS);
const hail = [...scan.values.MESH.keys()].filter((i) => scan.values.MESH[i] !== MISSING);

test('the same number and time give the same fields, whatever was simulated before', (t) => {
  simulateScan(SMALL, EVENING_MS + 30 * MS_PER_MINUTE);
  t.deepEqual(simulateScan({ ...SMALL }, EVENING_MS), scan);
});

test('another number gives other fields', (t) => {
  t.notDeepEqual(simulateScan({ ...SMALL, seed: 12 }, EVENING_MS).values.MESH, scan.values.MESH);
});

test('pixels come in order, once each, and only where a radar sees', (t) => {
  const covered = coverageOf(SMALL);
  t.true(scan.index.length > 1000);
  t.true(scan.index.every((pixel, i) => i === 0 || pixel > scan.index[i - 1]));
  t.true(scan.index.every((pixel) => covered[pixel] === 1));
  for (const product of SIMULATED_PRODUCTS) t.is(scan.values[product].length, scan.index.length);
});

test('the country in a window is a piece of the country', (t) => {
  const whole = conusScenario(3, 'outbreak', SITES);
  const window = { row0: 1700, col0: 2900, rows: 600, cols: 500 };
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
  t.deepEqual(new Map(inside), part);
});

test('MESH has no zeros: the smallest value is 0.8 mm', (t) => {
  t.true(hail.length > 100);
  t.true(hail.every((i) => scan.values.MESH[i] >= 8));
});

test('hail pixels have every other product, from the same column', (t) => {
  for (const i of hail) {
    const mesh_mm = scan.values.MESH[i] / 10;
    t.true(scan.values.POSH[i] >= 0 && scan.values.POSH[i] <= 1000);
    t.true(scan.values.VIL[i] > 0);
    t.true(scan.values.EchoTop_18[i] > 5000);
    t.true(scan.values.MergedReflectivityQCComposite[i] >= 350);
    if (shiOfMesh(mesh_mm) > 60) t.true(scan.values.EchoTop_50[i] > 0);
  }
});

test('around the hail there is rain: echoes without hail, weak ones with a VIL of zero, some below 0 dBZ', (t) => {
  const { MESH, VIL, MergedReflectivityQCComposite: dbz } = scan.values;
  const rain = [...MESH.keys()].filter((i) => MESH[i] === MISSING);
  t.true(rain.length > 2 * hail.length);
  t.true(rain.some((i) => VIL[i] === 0));
  t.true(rain.some((i) => dbz[i] < 0));
  t.true(dbz.every((value) => value % 5 === 0));
});

test('a lone strong storm stands where the truth says, about as strong', (t) => {
  let seen = 0;
  for (let minute = 0; minute < 360; minute += 30) {
    const time_ms = EVENING_MS + minute * MS_PER_MINUTE;
    const storms = truthAt(SMALL, time_ms).filter((storm) => storm.peak_mm > 2);
    const { index, values } = simulateScan(SMALL, time_ms);
    for (const storm of storms) {
      const row = latRow(storm.lat) - SMALL.window.row0;
      const col = lonCol(storm.lon) - SMALL.window.col0;
      const far = (other: (typeof storms)[number]) =>
        other === storm || Math.hypot(other.lat - storm.lat, other.lon - storm.lon) > 0.35;
      const inside = row > 10 && col > 10 && row < SMALL.window.rows - 10 && col < SMALL.window.cols - 10;
      if (storm.peak_mm < 20 || !inside || !storms.every(far)) continue;
      let largest = 0;
      let at = 0;
      for (let i = 0; i < index.length; i += 1) {
        const pixel = index[i];
        const near = Math.hypot(Math.floor(pixel / 400) - row, (pixel % 400) - col) < 12;
        if (near && values.MESH[i] > largest) {
          largest = values.MESH[i];
          at = pixel;
        }
      }
      if (largest === 0) continue;
      seen += 1;
      t.true(Math.hypot(Math.floor(at / 400) - row, (at % 400) - col) < 4);
      t.true(largest / 10 > 0.65 * storm.peak_mm && largest / 10 < 1.8 * storm.peak_mm, `${largest} ${storm.peak_mm}`);
    }
  }
  t.true(seen >= 3, `${seen} storms seen`);
});

test('the core falls to half its peak within 2 to 5 pixels, and texture keeps from one scan to the next', (t) => {
  const later = simulateScan(SMALL, EVENING_MS + 2 * MS_PER_MINUTE);
  const largest = (one: SimulatedScan) => Math.max(...one.values.MESH);
  t.true(Math.abs(largest(later) / largest(scan) - 1) < 0.4);
  const peak = scan.values.MESH.indexOf(largest(scan));
  const pixel = scan.index[peak];
  const value = new Map([...scan.index].map((place, i) => [place, scan.values.MESH[i]]));
  const southwards = Array.from({ length: 12 }, (_, step) => value.get(pixel + step * SMALL.window.cols) ?? 0);
  const half = southwards.findIndex((one) => one < largest(scan) / 2);
  t.true(half >= 1 && half <= 6, `${southwards.join(' ')}`);
});
