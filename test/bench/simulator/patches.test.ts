import test from 'ava';
import { patchesOf } from './patches.ts';

const WINDOW = { row0: 2000, col0: 3000, rows: 5, cols: 10 };

const members = (drawing: readonly string[]) =>
  drawing.flatMap((line, row) => [...line].flatMap((mark, col) => (mark === '#' ? [row * WINDOW.cols + col] : [])));

test('pixels that touch at a corner are one patch, and a row does not go on in the next', (t) => {
  const patches = patchesOf(
    members([
      '##.......#', //
      '..#.......',
      '..........',
      '#....#####',
      '.....#####',
    ]),
    WINDOW,
  );
  t.deepEqual(
    patches.map(({ pixels }) => pixels),
    [3, 1, 1, 10],
  );
});

test('a bar has its length and width in kilometres', (t) => {
  const [bar] = patchesOf(members(['##########', '##########']), WINDOW);
  // 10 pixels of 0.912 km at 35 N, 2 of 1.112 km; sqrt(12 x eigenvalue) of n points is sqrt(n^2 - 1) steps.
  t.true(Math.abs((bar?.length_km ?? 0) - Math.sqrt(99) * 0.912) < 0.02);
  t.true(Math.abs((bar?.width_km ?? 0) - Math.sqrt(3) * 1.112) < 0.02);
  t.true(Math.abs((bar?.area_km2 ?? 0) - 20 * 1.014) < 0.2);
});
