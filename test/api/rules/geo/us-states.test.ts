import test from 'ava';
import { stateBox, statePixels, usStates } from '../../../../api/rules/geo/us-states.ts';
import { LATTICE, latRow, lonCol, pixelAreaKm2 } from '../../../../schemas/geo/lattice.ts';

const OUTSIDE_THE_LATTICE = ['AK', 'HI', 'AS', 'GU', 'MP', 'PR', 'UM', 'VI'];

function areaKm2(usps: string): number {
  const { row, start, end } = statePixels(usps);
  return row.reduce((sum, r, k) => sum + (end[k] - start[k]) * pixelAreaKm2(r), 0);
}

function stateAt(lat: number, lon: number): string | null {
  const [r, c] = [latRow(lat), lonCol(lon)];
  for (const usps of usStates().keys()) {
    const { row, start, end } = statePixels(usps);
    if (row.some((at, k) => at === r && c >= start[k] && c < end[k])) return usps;
  }
  return null;
}

test('there are fifty states, the District of Columbia and six territories, each with its FIPS code', (t) => {
  t.is(usStates().size, 57);
  t.is(new Set([...usStates().values()].map(({ fips }) => fips)).size, 57);
  t.like(usStates().get('DC'), { fips: '11', name: 'District of Columbia' });
});

// Total area, land and inland water, km2: U.S. Census Bureau, State Area Measurements (2010). No coast, so nothing else counts.
for (const [usps, census_km2] of [
  ['CO', 269_601],
  ['WY', 253_335],
  ['KS', 213_100],
  ['UT', 219_882],
  ['ND', 183_108],
  ['IA', 145_746],
  ['NE', 200_330],
  ['TN', 109_153],
] as const)
  test(`the pixels of ${usps} have the area the Census measured, to 0.2 %`, (t) => {
    t.true(Math.abs(areaKm2(usps) / census_km2 - 1) < 0.002, `${areaKm2(usps)}`);
  });

test('no pixel belongs to two states, and those within the states leave no gap', (t) => {
  const owner = new Uint8Array(LATTICE.rows * LATTICE.cols);
  let doubles = 0;
  for (const usps of usStates().keys()) {
    const { row, start, end } = statePixels(usps);
    row.forEach((r, k) => {
      for (let c = start[k]; c < end[k]; c++) {
        const i = r * LATTICE.cols + c;
        doubles += owner[i];
        owner[i] = 1;
      }
    });
  }
  t.is(doubles, 0);
  // From western Nebraska to Illinois west of the lake there is no water that is not of a state.
  const gaps = [];
  for (let r = latRow(42.5); r < latRow(36); r++)
    for (let c = lonCol(-103); c < lonCol(-88); c++) if (owner[r * LATTICE.cols + c] === 0) gaps.push([r, c]);
  t.deepEqual(gaps, []);
});

for (const [place, lat, lon, usps] of [
  ['Oklahoma City', 35.4676, -97.5164, 'OK'],
  ['Kansas City, Missouri', 39.0997, -94.5786, 'MO'],
  ['Kansas City, Kansas', 39.1141, -94.6775, 'KS'],
  ['El Paso', 31.7619, -106.485, 'TX'],
  ['the White House', 38.8977, -77.0365, 'DC'],
  ['the Upper Peninsula', 46.5, -87.5, 'MI'],
  ['Houlton', 46.1, -67.9, 'ME'],
  ['Toronto', 43.65, -79.38, null],
  ['the middle of Lake Michigan', 43.5, -87.0, null],
] as const)
  test(`${place} lies in ${usps ?? 'no state'}`, (t) => t.is(stateAt(lat, lon), usps));

test('states and territories outside CONUS have no pixels, and still a box', (t) => {
  for (const usps of OUTSIDE_THE_LATTICE) {
    t.is(statePixels(usps).row.length, 0, usps);
    const [west, south, east, north] = stateBox(usps);
    t.true(west < east && south < north, usps);
  }
});

test('the box of a state is that of its outline', (t) => {
  const [west, south, east, north] = stateBox('CO');
  t.deepEqual(
    [west, south, east, north].map((edge) => Math.round(edge * 100) / 100),
    [-109.06, 36.99, -102.04, 41],
  );
});
