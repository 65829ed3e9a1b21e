import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import { MAX_POINTS } from '../../../pipeline/grib2/index.ts';
import { sampleGrid } from '../../../pipeline/grid.ts';
import { readGrid } from '../../../pipeline/read/mrms.ts';
import { constantPacking, gribFile, pngPacking, simplePacking } from '../../support/data/grib2-files.ts';

const SHEAR = { category: 3, number: 0 };
/** Thousandths of 1/s, 2 x 2 points to each of 2 x 3 pixels; 0 is no measurement. */
const POINTS = [
  [1, 2, 0, 0, -4, -1],
  [3, 8, 0, 0, -2, -9],
  [0, 0, 0, -5, 6, 0],
  [0, 7, 0, 0, 0, 0],
];
const PIXELS = [
  [8, null, -1],
  [7, -5, 6],
];
/** North-western point of row 100, column 200 of the lattice. */
const CORNER = { la1: 53_997_500, lo1: 232_002_500, step: 5000 };
const NUMBERS = POINTS.flat().map((value) => 10 * value + 200);
const LAW = { reference: -200 };
const PICTURE = { columns: 6, rows: 4, bits: 16, filters: [1, 2] };
const values = (rows: number, cols: number, bytes: Uint8Array) => {
  const grid = readGrid(bytes, 'shear.grib2');
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length: cols }, (_, col) => {
      const value = sampleGrid(grid, 100 + row, 200 + col);
      return Number.isNaN(value) ? null : value;
    }),
  );
};

test('azimuthal shear on a lattice twice as fine gives each pixel the largest of its four points', (t) => {
  const file = gribFile(pngPacking(NUMBERS, PICTURE, LAW), { columns: 6, rows: 4, ...CORNER }, SHEAR);
  t.deepEqual(readGrid(file, 'x').window, { row0: 100, col0: 200, rows: 2, cols: 3 });
  t.deepEqual(values(2, 3, file), PIXELS);
});

test('a file that begins in the south gives the same', (t) => {
  const upward = POINTS.toReversed()
    .flat()
    .map((value) => 10 * value + 200);
  const grid = { columns: 6, rows: 4, ...CORNER, la1: CORNER.la1 - 3 * 5000, scanning_mode: 64 };
  t.deepEqual(values(2, 3, gribFile(pngPacking(upward, PICTURE, LAW), grid, SHEAR)), PIXELS);
});

test('azimuthal shear on the usual lattice is read as it is', (t) => {
  const file = gribFile(
    pngPacking([210, 200, 190, 280], { columns: 2, rows: 2, bits: 16, filters: [0] }, LAW),
    { columns: 2, rows: 2, la1: 53_995_000, lo1: 232_005_000 },
    SHEAR,
  );
  t.deepEqual(values(2, 2, file), [
    [1, null],
    [-1, 8],
  ]);
});

for (const [what, file, message] of [
  [
    'parts of pixels in its columns',
    gribFile(
      pngPacking(NUMBERS.slice(0, 10), { ...PICTURE, columns: 5, rows: 2 }, LAW),
      { columns: 5, rows: 2, ...CORNER },
      SHEAR,
    ),
    /holds parts of pixels, expected 2 x 2 points each/,
  ],
  [
    'a first point in the middle of a pixel',
    gribFile(pngPacking(NUMBERS, PICTURE, LAW), { columns: 6, rows: 4, ...CORNER, la1: CORNER.la1 - 5000 }, SHEAR),
    /holds parts of pixels/,
  ],
  [
    'a first point off the lattice',
    gribFile(pngPacking(NUMBERS, PICTURE, LAW), { columns: 6, rows: 4, ...CORNER, la1: CORNER.la1 - 1000 }, SHEAR),
    /off the lattice/,
  ],
  [
    'another packing',
    gribFile(simplePacking(NUMBERS, 16, LAW), { columns: 6, rows: 4, ...CORNER }, SHEAR),
    /packing template 5\.0 of a grid this fine, expected 5\.41/,
  ],
  [
    'another product',
    gribFile(pngPacking(NUMBERS, PICTURE, LAW), { columns: 6, rows: 4, ...CORNER }),
    /step 0\.005 x 0\.005 degrees, expected 0\.01 x 0\.01/,
  ],
  [
    'more points than the lattice has room for',
    gribFile(
      constantPacking(5 * MAX_POINTS, LAW),
      { columns: 14_000, rows: 8750, la1: 54_997_500, lo1: 230_002_500, step: 5000 },
      SHEAR,
    ),
    /packing template|expected a window of the CONUS lattice/,
  ],
] as const)
  test(`a fine grid with ${what} is refused`, (t) => {
    t.throws(() => readGrid(file, 'shear.grib2'), { instanceOf: BadInput, message });
  });
