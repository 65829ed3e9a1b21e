import { readFileSync } from 'node:fs';
import test from 'ava';
import type { Grid } from '../../../pipeline/grid.ts';
import { readGrid } from '../../../pipeline/read/mrms.ts';
import { uncoveredBlocks } from '../../../pipeline/read/uncovered.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const NO_COVERAGE = 0;
const DRY = 20;

/** A MESH grid of whole blocks of 10 x 10 pixels: 'x' is no coverage, '.' is covered and dry. */
function blocks(picture: string, no_coverage: number | null = -3): Grid {
  const lines = picture.trim().split('\n');
  const rows = lines.flatMap((line) => {
    const row = [...line.trim()].flatMap((mark) => Array(10).fill(mark === 'x' ? NO_COVERAGE : DRY));
    return Array(10).fill(row);
  });
  return {
    product: 'MESH',
    unit: 'mm',
    scan_time: 0,
    simulated: false,
    window: { row0: 1500, col0: 3000, rows: rows.length, cols: rows[0].length },
    packed: Uint8Array.from(rows.flat()),
    reference: -30,
    binary_scale: 0,
    decimal_scale: 1,
    no_coverage,
    missing: -1,
    missing_as: 0,
  };
}

test('blocks without coverage are runs along their rows, from the north-western corner of the grid', (t) => {
  const found = uncoveredBlocks(
    blocks(`
      xx..x
      .....
      ..xxx`),
  );
  t.deepEqual(found, {
    north: 40,
    west: -100,
    step_deg: 0.1,
    rows: 3,
    cols: 5,
    runs: [
      [0, 0, 2],
      [0, 4, 5],
      [2, 2, 5],
    ],
  });
});

test('a grid that radars see throughout, or whose product has no such value, has no runs', (t) => {
  t.deepEqual(uncoveredBlocks(blocks('...')).runs, []);
  t.deepEqual(uncoveredBlocks(blocks('xxx', null)).runs, []);
});

test('a grid that is not a whole number of blocks keeps its last, cut block', (t) => {
  const whole = blocks('.x');
  const cut = {
    ...whole,
    window: { ...whole.window, rows: 3, cols: 13 },
    packed: Uint8Array.from({ length: 39 }, (_, at) => (at % 13 < 10 ? DRY : NO_COVERAGE)),
  };
  t.deepEqual(uncoveredBlocks(cut).runs, [[0, 1, 2]]);
});

sharedTest('on a real scan the blocks cover what its pixels without coverage cover, to a hundredth', (t) => {
  const file = sharedData('mrms/MRMS_MESH_00.50_20240228-025239.grib2');
  const { runs, rows, cols } = uncoveredBlocks(readGrid(readFileSync(file), file));
  const share = runs.reduce((sum, [, start, end]) => sum + end - start, 0) / (rows * cols);
  t.true(Math.abs(share - 8_205_495 / 24_500_000) < 0.01, `${share}`);
});
