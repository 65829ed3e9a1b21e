import test from 'ava';
import fc from 'fast-check';
import { affectedArea, type PixelLines } from '../../../api/rules/event-hull.ts';
import { geodesicAreaKm2, pixelHull, ringCentroid } from '../../../schemas/geo/hull.ts';
import { pixelAreaKm2 } from '../../../schemas/geo/lattice.ts';
import { pixelsOf, REAL_DAY, realField } from '../../support/data/pixels.ts';
import { sharedTest } from '../../support/data/shared-data.ts';

interface Pixels {
  readonly rows: readonly number[];
  readonly cols: readonly number[];
}

function linesOf({ rows, cols }: Pixels): PixelLines {
  const row = [...new Set(rows)].sort((a, b) => a - b);
  const colsOf = (r: number) => cols.filter((_, i) => rows[i] === r);
  return { row, west: row.map((r) => Math.min(...colsOf(r))), east: row.map((r) => Math.max(...colsOf(r))) };
}

test('the first and last columns of each row give the hull of all pixels, whatever they are', (t) =>
  t.notThrows(() =>
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 1500, max: 1540 }), fc.integer({ min: 3000, max: 3040 })), {
          minLength: 1,
        }),
        (pairs) => {
          const pixels = { rows: pairs.map(([row]) => row), cols: pairs.map(([, col]) => col) };
          const hull = pixelHull(pixels);
          const { area_km2, centroid } = affectedArea(linesOf(pixels));
          return area_km2 === geodesicAreaKm2(hull) && JSON.stringify(centroid) === JSON.stringify(ringCentroid(hull));
        },
      ),
      { numRuns: 200, seed: 7 },
    ),
  ));

test('one pixel has its own area and centre', (t) => {
  const { area_km2, centroid } = affectedArea({ row: [1500], west: [3000], east: [3000] });
  t.true(Math.abs(area_km2 / pixelAreaKm2(1500) - 1) < 1e-6);
  t.is(centroid.lon.toFixed(5), '-99.99500');
  t.is(centroid.lat.toFixed(5), '39.99500');
});

test('no pixels are refused', (t) => {
  t.throws(() => affectedArea({ row: [], west: [], east: [] }), {
    message: 'no pixels were given, expected at least one',
  });
});

sharedTest('the hull of the real day has the area measured independently: 2,850,762.686 km2', (t) => {
  const { area_km2 } = affectedArea(linesOf(pixelsOf(realField(REAL_DAY), 19)));
  t.is(area_km2.toFixed(3), '2850762.686');
});
