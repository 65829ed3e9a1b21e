import { readFileSync } from 'node:fs';
import test from 'ava';
import fc from 'fast-check';
import { labelComponents } from '../../../pipeline/detect/label.ts';
import { splitComponent } from '../../../pipeline/detect/split.ts';
import type { HailField } from '../../../pipeline/grid.ts';
import { hailField, readGrid } from '../../../pipeline/read/mrms.ts';
import { draw, drawTenths } from '../../support/data/draw.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const LAT = 40;
const KM_PER_ROW = 1.1104;
const KM_PER_COL = 1.1132 * Math.cos((LAT * Math.PI) / 180) * 1.0014;

const everything = (field: HailField) => Uint32Array.from(field.tenths.keys());
/** Largest MESH of each cell, mm. */
const peaks = (field: HailField, cells: readonly Uint32Array[]) =>
  cells.map((cell) => Math.max(...Array.from(cell, (pixel) => field.tenths[pixel])) / 10);

/** Two round storms of 40 mm and sigma 4 km side by side near 40 N, values from 5 mm. */
function twoStorms(distance_km: number): { field: HailField; mm: (east_km: number) => number } {
  const storm = (east: number, north: number) => 40 * Math.exp(-(east ** 2 + north ** 2) / (2 * 4 ** 2));
  const at = (east: number, north: number) =>
    storm(east - distance_km / 2, north) + storm(east + distance_km / 2, north);
  const values = Array.from({ length: 31 }, (_, r) =>
    Array.from({ length: 51 }, (_, c) => {
      const tenths = Math.round(10 * at((c - 25) * KM_PER_COL, (r - 15) * KM_PER_ROW));
      return tenths >= 50 ? tenths : 0;
    }),
  );
  return { field: drawTenths(values, { row0: 1485 }), mm: (east) => at(east, 0) };
}

/** Distance in sigma; peak, saddle and depth in mm; cells. */
const TWO_STORMS = [
  [2, 48.52, 48.52, 0, 1],
  [2.5, 42.08, 36.63, 5.45, 1],
  [3, 40.47, 25.97, 14.5, 2],
  [4, 40.01, 10.83, 29.19, 2],
] as const;

for (const [sigmas, peak, saddle, depth, cells] of TWO_STORMS)
  test(`two storms of 40 mm ${sigmas} sigma apart, ${depth} mm above the saddle, are ${cells} cells`, (t) => {
    const { field, mm } = twoStorms(4 * sigmas);
    const highest = Math.max(...Array.from({ length: 2001 }, (_, n) => mm((n - 1000) / 50)));
    t.true(Math.abs(highest - peak) < 0.006);
    t.true(Math.abs(mm(0) - saddle) < 0.006);
    t.true(Math.abs(highest - mm(0) - depth) < 0.011);
    t.is(splitComponent(field, everything(field)).length, cells);
  });

test('two peaks with a deep saddle are two cells, by first pixel', (t) => {
  const field = draw(`
    1 1 1 1 1 1 1 1 1 1 1 1 1
    1 3 4 3 1 1 1 1 1 3 3 3 1
    1 4 5 4 1 1 1 1 1 3 4 3 1
    1 3 4 3 1 1 1 1 1 3 3 3 1
    1 1 1 1 1 1 1 1 1 1 1 1 1`);
  const cells = splitComponent(field, everything(field));
  t.deepEqual(peaks(field, cells), [50, 40]);
  t.is((cells[0]?.length ?? 0) + (cells[1]?.length ?? 0), 65);
});

test('two peaks less than 5 km apart are one cell however deep the saddle', (t) => {
  const field = draw(`
    1 1 1 1 1 1 1 1
    1 5 5 1 1 5 5 1       4 columns are 3.4 km
    1 5 5 1 1 5 5 1
    1 5 5 1 1 5 5 1
    1 1 1 1 1 1 1 1`);
  t.is(splitComponent(field, everything(field)).length, 1);
});

test('a peak with a foot below 6 km2 does not stand apart', (t) => {
  const field = draw(`
    4 4 4 1 1 1 1 1 1 1 1
    4 5 4 1 1 1 1 1 1 1 1
    4 4 4 1 1 1 1 1 1 1 9       the mean of four pixels, 3.8 km2, feels the 90 mm`);
  t.is(splitComponent(field, everything(field)).length, 1);
});

test('a second peak that never reaches 15 mm stays part of its neighbour', (t) => {
  const rows = (second: number) =>
    Array.from({ length: 7 }, (_, r) =>
      Array.from({ length: 19 }, (_, c) => {
        const inCore = r > 0 && r < 6;
        if (inCore && c > 0 && c < 6) return 400;
        return inCore && c > 12 && c < 18 ? second : 50;
      }),
    );
  const weak = drawTenths(rows(149));
  const strong = drawTenths(rows(150));
  t.is(splitComponent(weak, everything(weak)).length, 1);
  t.is(splitComponent(strong, everything(strong)).length, 2);
});

test('one flickering pixel does not split a core', (t) => {
  const field = draw(`
    2 2 2 2 2 2 2 2 2
    2 3 3 3 3 3 3 3 2
    2 3 5 3 3 3 5 3 2
    2 3 3 3 3 3 3 3 2
    2 2 2 2 2 2 2 2 2`);
  t.is(splitComponent(field, everything(field)).length, 1);
});

test('pixels below the cell threshold that touch a pixel count in its mean', (t) => {
  // The saddle stands in 4 mm of weak echo: with it 6 x 10 + 3 x 4 over 9, without it 6 x 10 over 9.
  const field = draw(
    `
    4 4 4 4 4 4 4 4 4 4 4 4 4 4
    9 9 9 8 8 8 8 8 8 8 9 9 9 9
    9 9 9 8 8 8 8 8 8 8 9 9 9 9
    4 4 4 4 4 4 4 4 4 4 4 4 4 4`,
    { mm_per_digit: 1 },
  );
  const labels = labelComponents(field, 50, 8);
  const pixels = Uint32Array.from([...labels.label.keys()].filter((n) => labels.label[n] >= 0));
  t.is(pixels.length, 28);
  t.deepEqual(
    splitComponent(field, pixels).map((cell) => cell.length),
    [28],
  );
});

const rough = fc
  .array(fc.array(fc.integer({ min: 50, max: 600 }), { minLength: 14, maxLength: 14 }), { minLength: 9, maxLength: 9 })
  .map((coarse) =>
    // Three pixels to a value, so that peaks have room.
    Array.from({ length: 27 }, (_, r) =>
      Array.from({ length: 42 }, (_, c) => (coarse[Math.floor(r / 3)] as number[])[Math.floor(c / 3)]),
    ),
  );

test('every pixel belongs to exactly one cell, cells are connected and reach 15 mm', (t) => {
  let split = 0;
  fc.assert(
    fc.property(rough, (values) => {
      const field = drawTenths(values);
      const cells = splitComponent(field, everything(field));
      if (cells.length > 1) split++;
      t.deepEqual(
        cells.flatMap((cell) => [...cell]).sort((a, b) => a - b),
        [...field.tenths.keys()],
      );
      for (const cell of cells) {
        const alone = new Set(cell);
        const kept = values.map((row, r) => row.map((value, c) => (alone.has(r * 42 + c) ? value : 0)));
        t.is(labelComponents(drawTenths(kept), 1, 8).count, 1);
      }
      if (cells.length > 1) t.true(peaks(field, cells).every((mm) => mm >= 15));
    }),
    { numRuns: 60 },
  );
  t.true(split > 10);
});

test('a mirrored picture without equal values has mirrored cells', (t) => {
  // The second storm is weaker, and every pixel gets a value of its own.
  const values = Array.from({ length: 9 }, (_, r) =>
    Array.from({ length: 24 }, (_, c) => {
      const first = 4000 * Math.exp(-((r - 4) ** 2 + (c - 6) ** 2) / 12);
      const second = 3000 * Math.exp(-((r - 4) ** 2 + (c - 16) ** 2) / 12);
      return Math.round(first + second) + 500 + ((r * 24 + c) % 97);
    }),
  );
  const columns = (mirrored: boolean) => {
    const field = drawTenths(mirrored ? values.map((row) => row.toReversed()) : values);
    return splitComponent(field, everything(field))
      .map((cell) => Array.from(cell, (n) => (mirrored ? 23 - (n % 24) : n % 24) + 24 * Math.floor(n / 24)))
      .map((cell) => cell.sort((a, b) => a - b))
      .sort((a, b) => a[0] - b[0]);
  };
  t.is(columns(false).length, 2);
  t.deepEqual(columns(true), columns(false));
});

sharedTest('the 91 cells of a real day split into 145, in the order of the reference run of about 150', (t) => {
  const path = sharedData('mrms', 'MRMS_MESH_Max_1440min_00.50_20240228-100000.grib2');
  const field = hailField(readGrid(readFileSync(path), path));
  const labels = labelComponents(field, 50, 8);
  const members = Map.groupBy(labels.label.keys(), (pixel) => labels.label[pixel]);
  let cells = 0;
  for (const [component, pixels] of members) {
    if (component < 0 || labels.max_tenths[component] < 150) continue;
    const area_km2 = labels.area_km2[component];
    if (area_km2 < 4) continue;
    cells += area_km2 < 30 ? 1 : splitComponent(field, Uint32Array.from(pixels)).length;
  }
  t.is(cells, 145);
});
