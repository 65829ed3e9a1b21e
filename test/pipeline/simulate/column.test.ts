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
import { poshOfShi, shiOfMesh } from '../../../schemas/size.ts';

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
