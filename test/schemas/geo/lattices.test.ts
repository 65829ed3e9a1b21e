import test from 'ava';
import geodesic from 'geographiclib-geodesic';
import {
  colLon,
  isOnLattice,
  LATTICE_NAMES,
  LATTICES,
  latRow,
  latticeOf,
  lonCol,
  pixelAreaKm2,
  pixelsAcross,
  pixelsLike,
  rowLat,
  wholeWindow,
  windowBbox,
} from '../../../schemas/geo/lattice.ts';

for (const name of LATTICE_NAMES) {
  const lattice = LATTICES[name];
  test(`every centre of the ${name} lattice has at most four decimals and lies in its own pixel`, (t) => {
    const wrong: string[] = [];
    for (let row = 0; row < lattice.rows; row++) {
      const lat = rowLat(lattice, row);
      if (lat !== Number(lat.toFixed(4)) || latRow(lattice, lat) !== row) wrong.push(`row ${row} at ${lat}`);
    }
    for (let col = 0; col < lattice.cols; col++) {
      const lon = colLon(lattice, col);
      if (lon !== Number(lon.toFixed(4)) || lonCol(lattice, lon) !== col) wrong.push(`column ${col} at ${lon}`);
    }
    t.deepEqual(wrong, []);
  });

  test(`the pixels of the ${name} lattice add up to the box that its edges make`, (t) => {
    t.deepEqual(windowBbox(wholeWindow(lattice)), lattice.bbox);
    for (const row of [0, Math.floor(lattice.rows / 2), lattice.rows - 1]) {
      const [west, south, east, north] = windowBbox({ lattice, row0: row, col0: 7, rows: 1, cols: 1 });
      const box = geodesic.Geodesic.WGS84.Polygon(false);
      // Geodesics bulge off the parallels by less than a millimetre over a pixel.
      for (const [lon, lat] of [
        [west, south],
        [east, south],
        [east, north],
        [west, north],
      ] as const)
        box.AddPoint(lat, lon);
      const { area } = box.Compute(false, true);
      t.true(Math.abs(pixelAreaKm2(lattice, row) / (Math.abs(area as number) / 1e6) - 1) < 1e-6);
    }
  });

  test(`a whole grid of the ${name} lattice is told by its edges and its step`, (t) => {
    t.is(latticeOf(lattice.bbox, lattice.step, null), lattice);
    t.is(latticeOf(lattice.bbox, lattice.step / 3, null), null);
  });
}

test('a window that two lattices hold belongs to the one that is asked for', (t) => {
  const both = [-89, 21, -88, 22] as const;
  t.is(latticeOf(both, 0.01, LATTICES.caribbean), LATTICES.caribbean);
  t.is(latticeOf(both, 0.01, null), LATTICES.conus);
  t.is(latticeOf(both, 0.005, LATTICES.caribbean), null);
});

test('counts of pixels of 0.01 degrees are converted by area and by length', (t) => {
  t.deepEqual([pixelsLike(LATTICES.conus, 4), pixelsLike(LATTICES.guam, 4)], [4, 16]);
  t.deepEqual([pixelsAcross(LATTICES.alaska, 3), pixelsAcross(LATTICES.hawaii, 3)], [3, 6]);
});

test('Guam lies on its lattice and on no other', (t) => {
  const guam = { lat: 13.45, lon: 144.78 };
  t.deepEqual(
    LATTICE_NAMES.filter((name) => isOnLattice(LATTICES[name], guam)),
    ['guam'],
  );
});
