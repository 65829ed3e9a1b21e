import test from 'ava';
import {
  columnTables,
  coreProfile,
  echoTopM,
  MAX_TENTHS,
  type Profile,
  SKIRT_MAX_DBZ,
  SKIRT_MIN_DBZ,
  shiOfProfile,
  skirtProfile,
  vilOfProfile,
} from '../../../pipeline/simulate/column.ts';
import { coverageOf, nearestSiteKm, RADAR_RANGE_KM } from '../../../pipeline/simulate/coverage.ts';
import { MISSING, SIMULATED_PRODUCTS, type SimulatedScan, simulateScan } from '../../../pipeline/simulate/fields.ts';
import { conusScenario } from '../../../pipeline/simulate/scenario.ts';
import { truthAt } from '../../../pipeline/simulate/truth.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';
import { colLon, LATTICES, latRow, lonCol, rowLat } from '../../../schemas/geo/lattice.ts';
import { poshOfShi, shiOfMesh } from '../../../schemas/size.ts';
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
  const window = { lattice: LATTICES.conus, row0: 1700, col0: 2900, rows: 600, cols: 500 };
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
      const row = latRow(LATTICES.conus, storm.lat) - SMALL.window.row0;
      const col = lonCol(LATTICES.conus, storm.lon) - SMALL.window.col0;
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
      t.true(Math.hypot(Math.floor(at / 400) - row, (at % 400) - col) < 9, 'one of its cores');
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

/** MESH by Witt et al. 1998 from a severe hail index, mm. */
const meshOfShi = (shi: number) => (shi > 0 ? 2.54 * Math.sqrt(shi) : 0);

// Columns A to D of SCIENCE.md, "Simulated weather": 0 C at 4.0 km and -20 C at 7.4 km, integrated with steps of 10 m.
for (const [name, profile, shi] of [
  ['60 dBZ up to 10 km and nothing above', { dbz: 60, plateau_km: 10, slope_db_km: 1e6 }, 236.02],
  ['62 dBZ to 6 km, then -6 dB per km', { dbz: 62, plateau_km: 6, slope_db_km: 6 }, 99.53],
  ['68 dBZ to 8 km, then -5 dB per km', { dbz: 68, plateau_km: 8, slope_db_km: 5 }, 855.27],
  ['55 dBZ to 4 km, then -5 dB per km', { dbz: 55, plateau_km: 4, slope_db_km: 5 }, 3.645],
] as const satisfies readonly (readonly [string, Profile, number])[])
  test(`hail index of the reference column: ${name}`, (t) => {
    const found = shiOfProfile(profile, 4, 3.4);
    t.true(Math.abs(found / shi - 1) < 0.01, `${found}`);
  });

for (const [freezing_level_km, depth_km] of [
  [2.6, 2],
  [4, 3],
  [4.8, 4],
] as const)
  test(`a column painted for a MESH has that MESH: 0 C at ${freezing_level_km} km, depth ${depth_km} km`, (t) => {
    const { core } = columnTables(freezing_level_km, depth_km);
    for (let tenths = 20; tenths <= 1200; tenths += 20) {
      const profile = coreProfile(core.dbz_tenths[tenths] / 10, freezing_level_km, depth_km);
      // Reflectivity is published in steps of 0.5 dBZ: a quarter to either side is 2.5 % of MESH and more where W(Z) is steep.
      const mesh_mm = meshOfShi(shiOfProfile(profile, freezing_level_km));
      t.true(Math.abs(mesh_mm / (tenths / 10) - 1) < 0.1, `${tenths / 10} mm came back as ${mesh_mm}`);
      t.true(Math.abs(core.vil_tenths[tenths] / 10 / vilOfProfile(profile) - 1) < 0.07);
      t.true(Math.abs(core.echo_top_18_m[tenths] - echoTopM(profile, 18)) <= 110);
    }
  });

test('severe columns have the VIL, echo tops and reflectivity that forecasters know', (t) => {
  const { core } = columnTables(4, 3);
  for (const mm of [25.4, 38, 50.8, 63]) {
    const at = Math.round(10 * mm);
    const vil = core.vil_tenths[at] / 10;
    const top_km = core.echo_top_18_m[at] / 1000;
    const dbz = core.dbz_tenths[at] / 10;
    t.true(vil >= 30 && vil <= 75, `VIL ${vil} at ${mm} mm`);
    t.true(top_km >= 11 && top_km <= 17.5, `echo top ${top_km} km at ${mm} mm`);
    t.true(core.echo_top_50_m[at] > 7000);
    t.true(dbz >= 55 && dbz <= 70, `${dbz} dBZ at ${mm} mm`);
  }
});

test('POSH follows the same index, in steps of ten percent', (t) => {
  const { core } = columnTables(4, 3);
  for (const mm of [10, 19, 25.4, 38, 63])
    t.is(core.posh_pct[Math.round(10 * mm)], 10 * Math.round(poshOfShi(shiOfMesh(mm), 4) / 10));
  t.deepEqual([core.posh_pct[100], core.posh_pct[190], core.posh_pct[630]], [0, 30, 100]);
});

test('every product grows with MESH', (t) => {
  const { core } = columnTables(3.6, 2.5);
  const falls = Object.entries(core).flatMap(([name, table]) =>
    Array.from({ length: MAX_TENTHS - 1 }, (_, k) => k + 2).flatMap((tenths) =>
      table[tenths] < table[tenths - 1] ? [`${name} at ${tenths}`] : [],
    ),
  );
  t.deepEqual(falls, []);
});

test('the strongest echo without hail stays below the smallest MESH', (t) => {
  for (const freezing_level_km of [1, 2.6, 4, 5])
    t.true(meshOfShi(shiOfProfile(skirtProfile(SKIRT_MAX_DBZ, freezing_level_km), freezing_level_km)) < 0.8);
});

test('weak echoes have no 18 dBZ top and a VIL of zero', (t) => {
  const { skirt } = columnTables(4, 3);
  const at = (dbz: number) => dbz - SKIRT_MIN_DBZ;
  t.deepEqual([skirt.echo_top_18_m[at(17)], skirt.vil_tenths[at(-10)]], [-1, 0]);
  t.true(skirt.echo_top_18_m[at(30)] > 3000);
});

const SITE = { lat: 35.33, lon: -97.28 };

test('a pixel is covered when its centre lies within 230 km of a site, within half a percent', (t) => {
  const window = { lattice: LATTICES.conus, row0: 1700, col0: 2950, rows: 520, cols: 640 };
  const covered = coverageOf({ ...SMALL, window, sites: [SITE] });
  for (let row = 0; row < window.rows; row += 7)
    for (let col = 0; col < window.cols; col += 7) {
      const centre = { lat: rowLat(LATTICES.conus, window.row0 + row), lon: colLon(LATTICES.conus, window.col0 + col) };
      const distance_km = distanceKm(SITE, centre);
      if (Math.abs(distance_km / RADAR_RANGE_KM - 1) < 0.005) continue;
      t.is(covered[row * window.cols + col], distance_km < RADAR_RANGE_KM ? 1 : 0, `${distance_km} km`);
    }
});

test('without sites nothing is covered', (t) => {
  t.false(coverageOf({ ...SMALL, sites: [] }).includes(1));
  t.is(nearestSiteKm([], SITE), Number.POSITIVE_INFINITY);
});

test('the nearest site counts', (t) => {
  const sites = [SITE, { lat: 37.65, lon: -97.44 }];
  t.true(Math.abs(nearestSiteKm(sites, { lat: 37.2, lon: -97.44 }) - 50) < 1);
});
