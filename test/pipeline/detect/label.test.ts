import { readFileSync } from 'node:fs';
import test from 'ava';
import fc from 'fast-check';
import { type Labels, labelComponents } from '../../../pipeline/detect/label.ts';
import type { HailField } from '../../../pipeline/grid.ts';
import { hailField, readGrid } from '../../../pipeline/read/mrms.ts';
import { draw, drawTenths } from '../../support/data/draw.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import fixture from './label.fixture.json' with { type: 'json' };

const counts = (picture: string, mm = 10) =>
  ([8, 4] as const).map((connectivity) => labelComponents(draw(picture), mm * 10, connectivity).count);

test('a corner joins pixels with 8 neighbours and not with 4', (t) => {
  t.deepEqual(
    counts(`
    1 .
    . 1`),
    [1, 2],
  );
});

test('a chessboard is one component with 8 neighbours and as many as its fields with 4', (t) => {
  t.deepEqual(
    counts(`
    1 . 1 . 1
    . 1 . 1 .
    1 . 1 . 1`),
    [1, 8],
  );
});

test('a spiral is one component', (t) => {
  t.deepEqual(
    counts(`
    1 1 1 1 1 1 1
    . . . . . . 1
    1 1 1 1 1 . 1
    1 . . . 1 . 1
    1 . 1 1 1 . 1
    1 . . . . . 1
    1 1 1 1 1 1 1`),
    [1, 1],
  );
});

test('the arms of a U are one component although they meet only at the bottom', (t) => {
  const labels = labelComponents(
    draw(`
    1 . . 1 . 2
    1 . . 1 . .
    1 1 1 1 . .`),
    100,
    4,
  );
  t.is(labels.count, 2);
  t.deepEqual([...labels.label], [0, 0, 1, 0, 0, 0, 0, 0, 0]);
});

test('a full row joins everything that hangs on it', (t) => {
  t.deepEqual(
    counts(`
    1 . 1 . 1 . 1
    1 1 1 1 1 1 1
    . 1 . 1 . 1 .`),
    [1, 1],
  );
});

test('a pixel below the threshold parts a row and keeps the label -1', (t) => {
  const labels = labelComponents(draw('3 1 3'), 200, 8);
  t.is(labels.count, 2);
  t.deepEqual([...labels.label], [0, -1, 1]);
});

test('columns on both sides of the window edge are not neighbours', (t) => {
  t.deepEqual(
    counts(`
    . . . 1
    1 . . .`),
    [2, 2],
  );
});

test('components are numbered by first pixel and carry pixels, maximum and exact area', (t) => {
  const labels = labelComponents(
    draw(`
    . . 2 .
    1 . 3 .
    1 . . .`),
    100,
    8,
  );
  t.deepEqual([...labels.label], [0, 1, 0, 1]);
  t.deepEqual([...labels.pixels], [2, 2]);
  t.deepEqual([...labels.max_tenths], [300, 100]);
  // Rows 1500 to 1502 lie at 40 N, where a pixel has 0.948 km2.
  t.true(labels.area_km2.every((area) => Math.abs(area - 2 * 0.9482) < 0.001));
});

test('a field without hail has no component', (t) => {
  t.is(labelComponents(draw('. x .'), 50, 8).count, 0);
});

for (const { p, mask, count4, count8, labels4, labels8 } of fixture.masks)
  test(`a random mask of density ${p} is labelled as by scipy`, (t) => {
    const field = drawTenths(mask.map((row) => [...row].map((mark) => (mark === '1' ? 100 : 0))));
    const four = labelComponents(field, 100, 4);
    const eight = labelComponents(field, 100, 8);
    t.deepEqual([four.count, eight.count], [count4, count8]);
    t.deepEqual([...four.label], labels4);
    t.deepEqual([...eight.label], labels8);
  });

/** Slow and obvious: visits one pixel after the other. */
function floodFill(values: number[][], min: number, connectivity: 4 | 8): number[][] {
  const labels = values.map((row) => row.map(() => -1));
  let count = 0;
  values.forEach((row, r) => {
    row.forEach((_, c) => {
      const open: [number, number][] = [[r, c]];
      let used = false;
      for (let next = open.pop(); next; next = open.pop()) {
        const [y, x] = next;
        if ((values[y]?.[x] ?? 0) < min || labels[y]?.[x] !== -1) continue;
        (labels[y] as number[])[x] = count;
        used = true;
        for (let dy = -1; dy <= 1; dy++)
          for (let dx = -1; dx <= 1; dx++)
            if (connectivity === 8 || Math.abs(dx) + Math.abs(dy) === 1) open.push([y + dy, x + dx]);
      }
      if (used) count++;
    });
  });
  return labels;
}

const picture = fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 })).chain(([rows, cols]) =>
  fc.array(fc.array(fc.constantFrom(0, 0, 40, 60, 120), { minLength: cols, maxLength: cols }), {
    minLength: rows,
    maxLength: rows,
  }),
);

test('labels equal those of a slow flood fill', (t) => {
  fc.assert(
    fc.property(picture, fc.constantFrom(4 as const, 8 as const), (values, connectivity) => {
      const labels = labelComponents(drawTenths(values), 50, connectivity);
      const expected = floodFill(values, 50, connectivity);
      t.deepEqual(
        [...labels.label],
        expected.flatMap((row, r) => row.filter((_, c) => values[r]?.[c] > 0)),
      );
    }),
    { numRuns: 300 },
  );
});

/** Sizes of the components, largest first. */
const sizes = (labels: Labels) => [...labels.pixels].sort((a, b) => b - a);
const turn = (values: number[][]) => (values[0] as number[]).map((_, c) => values.map((row) => row[c]).reverse());
const mirror = (values: number[][]) => values.map((row) => row.toReversed());

test('turning or mirroring a picture turns or mirrors its components', (t) => {
  fc.assert(
    fc.property(picture, fc.constantFrom(4 as const, 8 as const), (values, connectivity) => {
      const plain = sizes(labelComponents(drawTenths(values), 50, connectivity));
      t.deepEqual(sizes(labelComponents(drawTenths(turn(values)), 50, connectivity)), plain);
      t.deepEqual(sizes(labelComponents(drawTenths(mirror(values)), 50, connectivity)), plain);
    }),
    { numRuns: 100 },
  );
});

const realField = (name: string): HailField => {
  const path = sharedData('mrms', name);
  return hailField(readGrid(readFileSync(path), path));
};
const SCAN = 'MRMS_MESH_00.50_20240228-025239.grib2';
const DAY = 'MRMS_MESH_Max_1440min_00.50_20240228-100000.grib2';

interface Row {
  readonly mm: number;
  readonly pixels: number;
  readonly area_km2: number;
  readonly objects8: number;
  readonly objects4: number;
  readonly largest_km2: number;
}
const rows = (lines: number[][]): Row[] =>
  lines.map(
    ([mm, pixels, area_km2, objects8, objects4, largest_km2]) =>
      ({ mm, pixels, area_km2, objects8, objects4, largest_km2 }) as Row,
  );

/** mm, pixels, area, components with 8 and 4 neighbours, largest with 8: measured with scipy and the ellipsoid. */
const REAL = {
  [SCAN]: rows([
    [5, 530, 486.8279, 12, 14, 121.2742],
    [10, 153, 140.5813, 8, 9, 30.5669],
    [15, 16, 14.715, 7, 8, 4.6321],
    [19, 2, 1.8528, 1, 1, 1.8528],
  ]),
  [DAY]: rows([
    [5, 57653, 53167.498, 2281, 2896, 10538.5568],
    [10, 18651, 17253.9653, 822, 1002, 5781.7647],
    [15, 6723, 6248.6422, 333, 410, 1854.1164],
    [19, 2746, 2554.3145, 157, 198, 876.5096],
    [25, 882, 820.3107, 44, 54, 215.4742],
    [38, 91, 84.9898, 12, 16, 26.8213],
    [63, 3, 2.8536, 2, 2, 1.7587],
    [69, 2, 1.7587, 1, 1, 1.7587],
  ]),
};

/** Equal up to one millionth and the four decimals of the expected figures. */
const near = (found: number, expected: number) => Math.abs(found - expected) <= 1e-6 * expected + 5.1e-5;
const sum = (values: Iterable<number>) => [...values].reduce((total, value) => total + value, 0);

for (const [name, expected] of Object.entries(REAL))
  sharedTest(`components of ${name} are those that scipy finds`, (t) => {
    const field = realField(name);
    for (const { mm, pixels, area_km2, objects8, objects4, largest_km2 } of expected) {
      const eight = labelComponents(field, mm * 10, 8);
      const four = labelComponents(field, mm * 10, 4);
      t.deepEqual([sum(eight.pixels), eight.count, four.count], [pixels, objects8, objects4], `${mm} mm`);
      t.true(near(sum(eight.area_km2), area_km2), `${mm} mm`);
      t.true(near(Math.max(...eight.area_km2), largest_km2), `${mm} mm`);
    }
  });

sharedTest('of 2281 real components 95 reach 15 mm and 91 of them have 4 km2', (t) => {
  const labels = labelComponents(realField(DAY), 50, 8);
  const peaks = [...labels.max_tenths.keys()].filter((n) => labels.max_tenths[n] >= 150);
  t.is(peaks.length, 95);
  t.is(peaks.filter((n) => labels.area_km2[n] >= 4).length, 91);
});
