import test from 'ava';
import { drawTiers, type MaximumPixels } from '../../../api/rules/swath-tiers.ts';
import { drawTiers as publishedTiers } from '../../../pipeline/swath/tiers.ts';
import { isValidMultiPolygon } from '../../../schemas/geo/validity.ts';
import { multiPolygonFromWkt } from '../../../schemas/geo/wkt.ts';
import { SIZE_BANDS } from '../../../schemas/size.ts';
import { drawTenths } from '../../draw.ts';
import { REAL_DAY, realField } from '../../pixels.ts';
import { DAY, dayMaxRow } from '../../rows.ts';
import { sharedTest } from '../../shared-data.ts';

function pixelsOf(
  field: ReturnType<typeof drawTenths>,
): MaximumPixels & { row: number[]; col: number[]; mm: number[] } {
  const pixels = { row: [] as number[], col: [] as number[], mm: [] as number[] };
  for (let r = 0; r < field.window.rows; r++)
    for (let i = field.rowStart[r] as number; i < (field.rowStart[r + 1] as number); i++) {
      pixels.row.push(field.window.row0 + r);
      pixels.col.push(field.col[i] as number);
      pixels.mm.push((field.tenths[i] as number) / 10);
    }
  return pixels;
}

test('tiers start at the first bound from the smallest size on, inclusive, and hold all larger hail', (t) => {
  const pixels = pixelsOf(drawTenths([[190, 189, 250, 379, 380, 0, 1010]]));
  const bounds = (min_size_mm: number) => drawTiers(pixels, min_size_mm, 0).map(({ threshold_mm }) => threshold_mm);
  t.deepEqual(bounds(10), [19, 25, 38, 63, 69, 101]);
  t.deepEqual(bounds(19), [19, 25, 38, 63, 69, 101]);
  t.deepEqual(bounds(19.1), [25, 38, 63, 69, 101]);
  t.deepEqual(bounds(150), []);
});

test('a tier without pixels is absent', (t) =>
  t.deepEqual(
    drawTiers(pixelsOf(drawTenths([[200, 0, 300]])), 19, 0).map(({ category }) => category),
    ['nickel', 'quarter'],
  ));

test('a pixel named twice counts once, as the larger', (t) => {
  const once = drawTiers({ row: [1500], col: [3000], mm: [30] }, 19, 0);
  t.deepEqual(drawTiers({ row: [1500, 1500], col: [3000, 3000], mm: [20, 30] }, 19, 0), once);
});

test('order does not matter', (t) => {
  const pixels = pixelsOf(
    drawTenths([
      [200, 0, 300],
      [200, 300, 300],
      [0, 0, 200],
    ]),
  );
  const turned = { row: pixels.row.toReversed(), col: pixels.col.toReversed(), mm: pixels.mm.toReversed() };
  t.deepEqual(drawTiers(turned, 19, 500), drawTiers(pixels, 19, 500));
});

sharedTest(
  'the real day has the areas measured independently, whatever the simplification, and valid geometries',
  (t) => {
    const pixels = pixelsOf(realField(REAL_DAY));
    for (const simplify_m of [0, 500, 5000]) {
      const tiers = drawTiers(pixels, 19, simplify_m);
      t.deepEqual(
        tiers.map(({ threshold_mm, area_km2 }) => [threshold_mm, area_km2.toFixed(4)]),
        [
          [19, '2554.3145'],
          [25, '820.3107'],
          [38, '84.9898'],
          [63, '2.8536'],
          [69, '1.7587'],
        ],
      );
      for (const { geometry } of tiers) t.is(isValidMultiPolygon(geometry), null);
    }
  },
);

sharedTest('unsimplified tiers of the real day are those the pipeline publishes', (t) => {
  const pixels = pixelsOf(realField(REAL_DAY));
  const rows = pixels.mm.map((max_mm, i) =>
    dayMaxRow({ row: pixels.row[i] as number, col: pixels.col[i] as number, max_mm }),
  );
  const published = publishedTiers(rows, DAY, new Map(SIZE_BANDS.map(({ threshold_mm }) => [threshold_mm, 0])));
  t.deepEqual(
    drawTiers(pixels, 19, 0).map(({ threshold_mm, category, geometry }) => ({ threshold_mm, category, geometry })),
    published.map(({ threshold_mm, category, geometry }) => ({
      threshold_mm,
      category,
      geometry: multiPolygonFromWkt(geometry),
    })) as never,
  );
});
