import { readFileSync } from 'node:fs';
import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import type { Grid } from '../../../pipeline/grid.ts';
import { checkGridValues, readGrid } from '../../../pipeline/read/mrms.ts';
import { PRODUCTS, type Product } from '../../../pipeline/read/products.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const SIDE = 120;

function productOf(name: string): Product {
  return PRODUCTS.find((product) => product.name === name) as Product;
}

/** A window of values that lie so many tenths apart. */
function windowOf(product: Product, values: readonly number[], step_tenths = 1): Grid {
  const reference = Math.round(Math.min(...values) * 10);
  const packed = Uint16Array.from(values, (value) => Math.round((value * 10 - reference) / step_tenths));
  return {
    ...product,
    product: product.name,
    scan_time: 0,
    simulated: false,
    window: { row0: 1500, col0: 3000, rows: packed.length / SIDE, cols: SIDE },
    packed,
    reference,
    binary_scale: Math.log2(step_tenths),
    decimal_scale: 1,
  };
}

/** Values between two bounds, as weather that fills the window has them; in its middle they are highest. */
function weather(low: number, high: number, rows = SIDE): number[] {
  return Array.from({ length: rows * SIDE }, (_, i) => {
    const [y, x] = [Math.floor(i / SIDE) / rows - 0.5, (i % SIDE) / SIDE - 0.5];
    return Math.round(10 * (low + (high - low) * Math.exp(-12 * (x * x + y * y)))) / 10;
  });
}

for (const [title, name, values] of [
  ['rain', 'PrecipRate', weather(0.1, 40)],
  ['drizzle', 'PrecipRate', weather(0.1, 0.8)],
  ['echoes', 'MergedReflectivityQCComposite', weather(5, 50)],
  ['water', 'VIL', weather(0.1, 0.3)],
  [
    'echoes beyond whose edge no radar sees',
    'MergedReflectivityQCComposite',
    [...Array(SIDE).fill(-999), ...weather(5, 50)],
  ],
] as const)
  test(`a window of ${name} that is full of ${title} is taken`, (t) => {
    const product = productOf(name);
    t.notThrows(() => checkGridValues(windowOf(product, values), product, 'x'));
  });

for (const [title, name, values, step_tenths] of [
  [
    'all raised by 6: -3 to 3, -1 to 5',
    'VIL',
    [...Array(SIDE).fill(3), ...Array(20 * SIDE).fill(5), ...weather(6, 30)],
    1,
  ],
  [
    'doubled from -3 on: -1 to 1',
    'VIL',
    [...Array(SIDE).fill(-3), ...Array(20 * SIDE).fill(1), ...weather(3.2, 60)],
    2,
  ],
  ['a hundredth: -99 to -1', 'Reflectivity_-20C', [...Array(20 * SIDE).fill(-1), ...weather(0.1, 0.6)], 1],
  ['all raised by 6: 0 to 6', 'PrecipRate', [...Array(SIDE * SIDE).fill(6), ...weather(6.1, 40, 60)], 1],
] as const)
  test(`a window of ${name} whose quiet pixels have another value is refused: ${title}`, (t) => {
    const product = productOf(name);
    t.throws(() => checkGridValues(windowOf(product, values, step_tenths), product, 'x'), {
      instanceOf: BadInput,
      message: /x: the value [\d.-]+ has the pixels of a background and [\d.-]+ has none, expected the reverse/,
    });
  });

for (const [name, file] of [
  ['VIL', 'MRMS_VIL_00.50_20240509-082840.grib2.gz'],
  ['MergedReflectivityQCComposite', 'MRMS_MergedReflectivityQCComposite_00.50_20220704-110040.grib2'],
] as const)
  sharedTest(
    `every window of one by one degree of a real ${name}, those that weather fills among them, is taken`,
    (t) => {
      const grid = readGrid(readFileSync(sharedData('mrms', file)), file);
      const product = productOf(name);
      const { rows, cols } = grid.window;
      let taken = 0;
      for (let row0 = 0; row0 + 100 <= rows; row0 += 100)
        for (let col0 = 0; col0 + 100 <= cols; col0 += 100) {
          const packed = grid.packed.slice(0, 10_000);
          for (let r = 0; r < 100; r++)
            packed.set(grid.packed.subarray((row0 + r) * cols + col0, (row0 + r) * cols + col0 + 100), 100 * r);
          const cut = { ...grid, packed, window: { row0, col0, rows: 100, cols: 100 } };
          checkGridValues(cut, product, `row ${row0}, column ${col0}`);
          taken += 1;
        }
      t.is(taken, Math.floor(rows / 100) * Math.floor(cols / 100));
    },
  );
