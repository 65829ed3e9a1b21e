import test from 'ava';
import fc from 'fast-check';
import { type CellLattice, gaussianMean } from '../../../pipeline/forecast/smooth.ts';

const ROWS = 21;
const COLS = 23;
const LATTICE: CellLattice = { rows: ROWS, cols: COLS, row_km: 20, col_km: new Array(ROWS).fill(20) };
const EVERYWHERE = new Uint8Array(ROWS * COLS).fill(1);
const MIDDLE = 10 * COLS + 11;

test('a single value spreads as a Gaussian of the asked width', (t) => {
  const values = new Float64Array(ROWS * COLS);
  values[MIDDLE] = 1;
  const mean = gaussianMean(values, EVERYWHERE, LATTICE, 40);
  for (const [steps, at] of [
    [1, MIDDLE + 1],
    [2, MIDDLE - 2],
    [3, MIDDLE + 3 * COLS],
  ] as const)
    t.true(
      Math.abs((mean[at] ?? 0) / (mean[MIDDLE] ?? 1) - Math.exp(-0.5 * ((20 * steps) / 40) ** 2)) < 0.01,
      `${steps}`,
    );
});

test('a constant stays what it is, at the edges too', (t) => {
  const mean = gaussianMean(new Float64Array(ROWS * COLS).fill(0.3), EVERYWHERE, LATTICE, 60);
  t.true(mean.every((value) => Math.abs(value - 0.3) < 1e-12));
});

test('cells that do not count take no part, and the mean stays between the values that do', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.boolean()), {
          minLength: ROWS * COLS,
          maxLength: ROWS * COLS,
        }),
        (cells) => {
          const weights = Uint8Array.from(cells, ([, counts]) => (counts ? 1 : 0));
          const values = Float64Array.from(cells, ([value, counts]) => (counts ? value : 99));
          const counted = cells.filter(([, counts]) => counts).map(([value]) => value);
          const [low, high] = [Math.min(...counted), Math.max(...counted)];
          return gaussianMean(values, weights, LATTICE, 40).every(
            (mean) => mean === 0 || (mean >= low - 1e-12 && mean <= high + 1e-12),
          );
        },
      ),
      { numRuns: 30 },
    ),
  );
});

test('where nothing counts the mean is 0', (t) => {
  t.true(
    gaussianMean(new Float64Array(ROWS * COLS).fill(5), new Uint8Array(ROWS * COLS), LATTICE, 40).every((v) => v === 0),
  );
});
