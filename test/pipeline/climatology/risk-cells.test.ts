import test from 'ava';
import { usStates } from '../../../api/rules/geo/us-states.ts';
import { availableCells, cellReaches, conusCells } from '../../../pipeline/climatology/risk-cells.ts';
import { detectionQuality } from '../../../schemas/geo/beam.ts';
import { destination, distanceKm } from '../../../schemas/geo/distance.ts';
import { geohash } from '../../../schemas/geo/geohash.ts';
import { GEOHASH4_LAT_DEG } from '../../../schemas/geo/geohash4.ts';
import { rowLat } from '../../../schemas/geo/lattice.ts';
import { hailDayFreezingLevelKm } from '../../../schemas/reference/freezing-level.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';

const GRID = conusCells();
const NAMES = new Set(GRID.cells.map(({ geohash4 }) => geohash4));

test('every cell is there once, named as its centre is, at its place in the grid', (t) => {
  t.is(NAMES.size, GRID.cells.length);
  for (const [number, { geohash4, lat, lon, row, col }] of GRID.cells.entries()) {
    if (geohash(lat, lon, 4) !== geohash4 || GRID.index[row * GRID.cols + col] !== number)
      t.fail(`${geohash4} is at row ${row}, column ${col}`);
  }
  t.true(GRID.cells.length > 13_000 && GRID.cells.length < 16_000);
});

test('every vertex of the outline of the 48 states lies in a cell', (t) => {
  let vertices = 0;
  for (const [code, { polygons }] of usStates()) {
    if (['AK', 'HI', 'PR', 'GU', 'VI', 'AS', 'MP'].includes(code)) continue;
    for (const [lon, lat] of polygons.flat(2)) {
      vertices += 1;
      if (!NAMES.has(geohash(lat, lon, 4))) t.fail(`${code} ${lat} ${lon}`);
    }
  }
  t.true(vertices > 1000);
});

test('a pixel at the end of its reach lies 10 km from the centre, along the geodesic and to the metre', (t) => {
  for (const { row, centre_lat, reach_deg } of cellReaches().filter((_, index) => index % 40 === 0)) {
    const km = distanceKm({ lat: rowLat(row), lon: -97 + reach_deg }, { lat: centre_lat, lon: -97 });
    t.true(Math.abs(km - 10) < 1e-3, `row ${row}: ${km} km`);
  }
});

test('pixels between two rows of cells may lie within 10 km of both centres', (t) => {
  const byRow = Map.groupBy(cellReaches(), ({ row }) => row);
  t.deepEqual([...new Set([...byRow.values()].map((reaches) => reaches.length))].sort(), [1, 2]);
  for (const reaches of byRow.values())
    if (reaches.length === 2)
      t.true(
        Math.abs(reaches[0].centre_lat - reaches[1].centre_lat - GEOHASH4_LAT_DEG) < 1e-9 ||
          Math.abs(reaches[1].centre_lat - reaches[0].centre_lat - GEOHASH4_LAT_DEG) < 1e-9,
      );
});

test('places that are taken for granted see as well as the quality says', (t) => {
  const places = GRID.cells.filter((_, index) => index % 97 === 0);
  const found = availableCells(places, WSR88D, null);
  for (const [index, place] of places.entries()) {
    const { hdqi } = detectionQuality(place, {
      sites: WSR88D,
      freezing_level_km: hailDayFreezingLevelKm(place.lat, 5),
    });
    t.is(found[index], hdqi >= 0.3 ? 1 : 0, `${place.geohash4} ${hdqi}`);
  }
});

const SITE = { id: 'KAAA', lat: 40, lon: -100, antenna_m: 500, ground_m: 470 };

test('a radar makes places available to about 210 km, and those behind a mountain not', (t) => {
  const at = (km: number) => destination(SITE, 90, km);
  t.deepEqual([...availableCells([at(60), at(180), at(225), at(300)], [SITE], null)], [1, 1, 0, 0]);
  const wall = { radars: new Set(['KAAA']), blocked: () => 1 };
  t.deepEqual([...availableCells([at(60), at(180)], [SITE], wall)], [0, 0]);
});
