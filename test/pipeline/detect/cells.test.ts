import { readFileSync } from 'node:fs';
import test from 'ava';
import { findCells, findObjects } from '../../../pipeline/detect/cells.ts';
import { BadInput } from '../../../pipeline/error.ts';
import type { CompanionValues, HailField, ScanInput } from '../../../pipeline/grid.ts';
import { hailField, readGrid } from '../../../pipeline/read/mrms.ts';
import { draw, drawTenths } from '../../support/data/draw.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const NONE: CompanionValues = {
  posh_pct: null,
  vil_kg_m2: null,
  echo_top_18_km: null,
  echo_top_50_km: null,
  max_reflectivity_dbz: null,
};
const scan = (mesh: HailField, companions: Partial<CompanionValues> = {}): ScanInput => ({
  scan_time: Date.UTC(2026, 4, 1, 20, 12),
  simulated: false,
  mesh,
  companions: { ...NONE, ...companions },
  uncovered: null,
  probsevere: null,
  products: ['MESH'],
});

test('a component becomes a cell when it reaches 15 mm over at least 4 km2', (t) => {
  const field = drawTenths([
    [60, 60, 60, 0, 149, 60, 60, 0, 150, 60],
    [60, 150, 0, 0, 60, 60, 0, 0, 60, 0],
  ]);
  // Five pixels with 15.0 mm; five with 14.9 mm; three, 2.8 km2, with 15.0 mm.
  const cells = findCells(scan(field));
  t.deepEqual(
    cells.map(({ cell_index, pixels, estimated_size_mm }) => [cell_index, pixels, estimated_size_mm]),
    [[0, 5, 15]],
  );
});

test('cells grow down to 5.0 mm and not below', (t) => {
  const [cell] = findCells(scan(drawTenths([[49, 50, 150, 50, 50, 50, 49]])));
  t.deepEqual([cell?.col_min, cell?.col_max, cell?.pixels], [3501, 3505, 5]);
});

test('two storms in contact are two cells, numbered by first pixel', (t) => {
  const cells = findCells(
    scan(
      draw(`
    1 1 1 1 1 1 1 1 1 1 1 1 1
    1 3 3 3 1 1 1 1 1 4 4 4 1
    1 3 4 3 1 1 1 1 1 4 5 4 1
    1 3 3 3 1 1 1 1 1 4 4 4 1
    1 1 1 1 1 1 1 1 1 1 1 1 1`),
    ),
  );
  t.deepEqual(
    cells.map(({ cell_index, estimated_size_mm }) => [cell_index, estimated_size_mm]),
    [
      [0, 40],
      [1, 50],
    ],
  );
});

test('a size above 150 mm is stored as 150 and flagged, above 110 mm only flagged', (t) => {
  const size = (tenths: number) => {
    const [cell] = findCells(scan(drawTenths([[tenths, 60, 60, 60, 60]])));
    return [cell?.estimated_size_mm, cell?.flag_extreme];
  };
  t.deepEqual(size(6805), [150, true]);
  t.deepEqual(size(1101), [110.1, true]);
  t.deepEqual(size(1100), [110, false]);
});

test('a companion is its largest known value over the cell, null without the product or any value', (t) => {
  const field = drawTenths([[200, 60, 60, 60, 60, 0, 90]]);
  const [cell] = findCells(
    scan(field, {
      posh_pct: Float32Array.of(10, 30, Number.NaN, 20, 0, 90),
      vil_kg_m2: Float32Array.of(Number.NaN, Number.NaN, Number.NaN, Number.NaN, Number.NaN, 40),
    }),
  );
  t.deepEqual([cell?.posh_pct, cell?.vil_kg_m2, cell?.echo_top_18_km], [30, null, null]);
});

test('objects are plain components: no peak, area or split rule, only a number of pixels', (t) => {
  const field = draw('1 1 . 1 1 1 . 9');
  t.deepEqual(
    findObjects(field, 100, 2).map(({ cell_index, pixels, col_min, estimated_size_mm }) => [
      cell_index,
      pixels,
      col_min,
      estimated_size_mm,
    ]),
    [
      [0, 2, 3500, 10],
      [1, 3, 3503, 10],
    ],
  );
});

test('a scan without hail has no cell', (t) => {
  t.deepEqual(findCells(scan(draw('. . x'))), []);
});

sharedTest('the real scan of 28 Feb 2024 has the five cells of the reference run', (t) => {
  const path = sharedData('mrms', 'MRMS_MESH_00.50_20240228-025239.grib2');
  const cells = findCells(scan(hailField(readGrid(readFileSync(path), path))));
  const largest = cells.toSorted((a, b) => b.estimated_size_mm - a.estimated_size_mm);
  t.deepEqual(
    largest.map(({ area_km2, estimated_size_mm }) => [Math.round(area_km2 * 10) / 10, estimated_size_mm]),
    [
      [121.3, 20.8],
      [66.5, 17.2],
      [77.7, 16.1],
      [59.9, 15.2],
      [59.3, 15.1],
    ],
  );
  t.is(
    cells.reduce((sum, cell) => sum + cell.pixels, 0),
    419,
  );
  t.true(Math.abs(cells.reduce((sum, cell) => sum + cell.area_km2, 0) - 384.7036) < 1e-3);
});

for (const [time, objects, large] of [
  ['000000', 373, 77],
  ['001800', 386, 79],
  ['003800', 293, 56],
] as const)
  sharedTest(`the rain rate of ${time} has ${objects} objects >= 50 mm/h, ${large} of them with 8 pixels`, (t) => {
    const path = sharedData('mrms-sequence', `PrecipRate_00.00_20190610-${time}.grib2`);
    const field = hailField(readGrid(readFileSync(path), path));
    t.deepEqual([findObjects(field, 500, 1).length, findObjects(field, 500, 8).length], [objects, large]);
  });

/** Storms of nine pixels, `across` beside each other in each of `down` rows. */
function storms(across: number, down: number): HailField {
  const line = (wet: boolean) => Array.from({ length: 4 * across }, (_, col) => (wet && col % 4 < 3 ? 200 : 0));
  return drawTenths(Array.from({ length: 4 * down }, (_, row) => line(row % 4 < 3)));
}

test('a thousand storm cells are taken, and more are refused: no weather has so many', (t) => {
  t.is(findCells(scan(storms(40, 25))).length, 1000);
  const error = t.throws(() => findCells(scan(storms(77, 13))), { instanceOf: BadInput });
  t.is(error.message, 'detect 20260501T201200Z: 1001 storm cells, expected at most 1000 in one scan');
});
