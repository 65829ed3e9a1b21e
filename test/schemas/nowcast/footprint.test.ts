import test from 'ava';
import { colLon, rowLat } from '../../../schemas/geo/lattice.ts';
import { footprint } from '../../../schemas/nowcast/footprint.ts';

/** Pixels of a block of the lattice around 39.995 N, 99.995 W. */
function block(rows: number, cols: number) {
  return Array.from({ length: rows * cols }, (_, index) => ({
    lat: rowLat(1500 + Math.floor(index / cols)),
    lon: colLon(3000 + (index % cols)),
  }));
}

test('no pixel and one pixel are circles of 1.5 km', (t) => {
  const centre = { lat: 40, lon: -100 };
  t.deepEqual(footprint([], centre), { centre, ellipse: { major_km: 1.5, minor_km: 1.5, orientation_deg: 0 } });
  t.like(footprint(block(1, 1), centre).ellipse, { major_km: 1.5, minor_km: 1.5 });
});

test('a long block north to south is an ellipse of its second moments, pointing north', (t) => {
  const { centre, ellipse } = footprint(block(21, 3), { lat: 0, lon: 0 });
  t.true(Math.abs(centre.lat - 39.895) < 1e-9 && Math.abs(centre.lon - -99.985) < 1e-9);
  // Variance of 21 equal steps of 1.1103 km: (21^2 - 1) / 12 x 1.1103^2; the semi-axis is twice its root.
  t.true(Math.abs(ellipse.major_km - 2 * 1.1103 * Math.sqrt(440 / 12)) < 0.01);
  t.is(ellipse.minor_km, 1.5);
  t.true(Math.min(ellipse.orientation_deg, 180 - ellipse.orientation_deg) < 1e-6);
});

test('a block west to east points east, one along the diagonal north-east', (t) => {
  t.true(Math.abs(footprint(block(3, 21), { lat: 0, lon: 0 }).ellipse.orientation_deg - 90) < 1e-6);
  const diagonal = Array.from({ length: 15 }, (_, k) => ({ lat: rowLat(1500 - k), lon: colLon(3000 + k) }));
  // A step is 1.1103 km north and 0.8545 km east.
  const expected = (Math.atan2(0.8545, 1.1103) * 180) / Math.PI;
  t.true(Math.abs(footprint(diagonal, { lat: 0, lon: 0 }).ellipse.orientation_deg - expected) < 0.3);
});
