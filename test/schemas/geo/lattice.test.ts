import test from 'ava';
import geodesic from 'geographiclib-geodesic';
import {
  colLon,
  LATTICE,
  latRow,
  lonCol,
  pixelAreaKm2,
  rowLat,
  WHOLE_LATTICE,
  windowBbox,
} from '../../../schemas/geo/lattice.ts';

test('every pixel centre has at most three decimals and lies in its own pixel', (t) => {
  const wrong: string[] = [];
  for (let row = 0; row < LATTICE.rows; row++) {
    const lat = rowLat(row);
    if (lat !== Number(lat.toFixed(3)) || latRow(lat) !== row) wrong.push(`row ${row} at ${lat}`);
  }
  for (let col = 0; col < LATTICE.cols; col++) {
    const lon = colLon(col);
    if (lon !== Number(lon.toFixed(3)) || lonCol(lon) !== col) wrong.push(`column ${col} at ${lon}`);
  }
  t.deepEqual(wrong, []);
});

test('pixels have the area of their box on the ellipsoid, and together the edges of the lattice', (t) => {
  t.deepEqual(windowBbox(WHOLE_LATTICE), LATTICE.bbox);
  for (const row of [0, LATTICE.rows / 2, LATTICE.rows - 1]) {
    const [west, south, east, north] = windowBbox({ row0: row, col0: 7, rows: 1, cols: 1 });
    const box = geodesic.Geodesic.WGS84.Polygon(false);
    // Geodesics bulge off the parallels by less than a millimetre over a pixel.
    box.AddPoint(south, west);
    box.AddPoint(south, east);
    box.AddPoint(north, east);
    box.AddPoint(north, west);
    const { area } = box.Compute(false, true);
    t.true(Math.abs(pixelAreaKm2(row) / (Math.abs(area as number) / 1e6) - 1) < 1e-6);
  }
});
