import test from 'ava';
import { freezingLevel } from '../../../api/rules/place-quality.ts';
import { radarBlock } from '../../../api/rules/radar-block.ts';
import { poshOfShi } from '../../../schemas/size.ts';

const NOTHING = {
  posh_pct: null,
  vil_kg_m2: null,
  echo_top_18_km: null,
  echo_top_50_km: null,
  max_reflectivity_dbz: null,
  reflectivity_minus20c_dbz: null,
  azshear_0_2km_per_s: null,
};
const OKLAHOMA = { lat: 35.3, lon: -97.3 };
const MAY_MS = Date.parse('2026-05-01T20:12:38Z');

/** MESH, SHI and MESH95 of SCIENCE.md, "Hail size". */
for (const [mesh_mm, shi, mesh95_mm] of [
  [10, 15.5, 39.6],
  [19, 56, 52],
  [25.4, 100, 58.8],
  [50.8, 400, 78.9],
  [101.6, 1600, 105.9],
] as const)
  test(`${mesh_mm} mm is an index of ${shi} and a 95th percentile of ${mesh95_mm} mm`, (t) => {
    t.like(radarBlock(mesh_mm, NOTHING, OKLAHOMA, MAY_MS), { mesh_mm, shi, mesh95_mm });
  });

test('missing products are null, none is invented', (t) => {
  t.like(radarBlock(30, NOTHING, OKLAHOMA, MAY_MS), {
    vil_kg_m2: null,
    vil_density_g_m3: null,
    max_reflectivity_dbz: null,
    reflectivity_minus20c_dbz: null,
    echo_top_18_km: null,
    echo_top_50_km: null,
    h50_above_0c_km: null,
    azshear_0_2km_per_s: null,
  });
});

test('POSH is that of the product; without it the index and the freezing level above the ground decide', (t) => {
  t.is(radarBlock(30, { ...NOTHING, posh_pct: 60 }, OKLAHOMA, MAY_MS).posh_pct, 60);
  const { ground_km } = freezingLevel(OKLAHOMA, 5);
  const shi = (30 / 2.54) ** 2;
  t.is(radarBlock(30, NOTHING, OKLAHOMA, MAY_MS).posh_pct, Math.round(10 * poshOfShi(shi, ground_km)) / 10);
});

test('VIL density is VIL over the 18 dBZ echo top, and the 50 dBZ echo stands above the freezing level', (t) => {
  const products = { ...NOTHING, vil_kg_m2: 56.5, echo_top_18_km: 15.767, echo_top_50_km: 10.078 };
  const block = radarBlock(48, products, OKLAHOMA, MAY_MS);
  t.is(block.vil_density_g_m3, 3.58);
  t.is(block.h50_above_0c_km, Math.round(100 * (10.078 - freezingLevel(OKLAHOMA, 5).sea_km)) / 100);
});

test('the freezing level of Oklahoma in May is that of the table, 0.2 km warmer on a day with hail', (t) => {
  // 4.1 km at 35 N and 3.5 km at 40 N: 4.064 km at 35.3 N.
  t.is(freezingLevel(OKLAHOMA, 5).sea_km.toFixed(3), '4.264');
});

test('reflectivity at -20 C and shear below 2 km are those of their products', (t) => {
  const products = { ...NOTHING, reflectivity_minus20c_dbz: 57.25, azshear_0_2km_per_s: 0.00512 };
  t.like(radarBlock(48, products, OKLAHOMA, MAY_MS), { reflectivity_minus20c_dbz: 57.3, azshear_0_2km_per_s: 0.0051 });
});
