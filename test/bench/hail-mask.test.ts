import { readFileSync } from 'node:fs';
import test from 'ava';
import type { HailField } from '../../pipeline/grid.ts';
import { hailField, readGrid } from '../../pipeline/read/mrms.ts';
import { processScan } from '../../pipeline/scans/scan.ts';
import { emptyTrackingState } from '../../pipeline/scans/tracking-state.ts';
import { standInField, standInScan } from '../support/data/hail-mask.ts';
import { sharedData, sharedTest } from '../support/data/shared-data.ts';

/** Rain rates, mm/h, as a drawn grid: rows from north. */
function ratesOf(rows: readonly (readonly number[])[]): HailField {
  const cells = rows.flatMap((row, r) => row.flatMap((rate, c) => (rate > 0 ? [{ r, c, rate }] : [])));
  return {
    window: { row0: 1000, col0: 2000, rows: rows.length, cols: rows[0]?.length ?? 0 },
    rowStart: Uint32Array.from({ length: rows.length + 1 }, (_, row) => cells.filter(({ r }) => r < row).length),
    col: Uint16Array.from(cells, ({ c }) => 2000 + c),
    tenths: Uint16Array.from(cells, ({ rate }) => Math.round(10 * rate)),
    covered_px: rows.flat().length,
    uncovered_px: 0,
  };
}

/** The sizes of a field, mm, drawn like the rates. */
function drawn({ window, rowStart, col, tenths }: HailField): number[][] {
  return Array.from({ length: window.rows }, (_, row) => {
    const sizes = new Array<number>(window.cols).fill(0);
    for (let n = rowStart[row]; n < rowStart[row + 1]; n++) sizes[col[n] - window.col0] = tenths[n] / 10;
    return sizes;
  });
}

test('only rates at the cap of 53.8 mm/h are hail: heavier and lighter ones are rain', (t) => {
  const field = standInField(ratesOf([[53.7, 53.8, 53.9, 150, 0, 53.8]]), 'hail');
  t.deepEqual(drawn(field), [[0, 19, 0, 0, 0, 19]]);
});

test('hail of the mask has 19 mm at its edge and 5 mm more with each pixel inwards', (t) => {
  const cap = 53.8;
  const field = standInField(
    ratesOf([
      [0, 0, 0, 0, 0, 0, 0],
      [0, cap, cap, cap, cap, cap, 0],
      [0, cap, cap, cap, cap, cap, 0],
      [0, cap, cap, cap, cap, cap, 0],
      [0, cap, cap, cap, cap, cap, 0],
      [0, cap, cap, cap, cap, cap, 0],
      [0, 0, 0, 0, 0, 0, 0],
    ]),
    'hail',
  );
  t.deepEqual(drawn(field), [
    [0, 0, 0, 0, 0, 0, 0],
    [0, 19, 19, 19, 19, 19, 0],
    [0, 19, 24, 24, 24, 19, 0],
    [0, 19, 24, 29, 24, 19, 0],
    [0, 19, 24, 24, 24, 19, 0],
    [0, 19, 19, 19, 19, 19, 0],
    [0, 0, 0, 0, 0, 0, 0],
  ]);
});

test('50 mm/h of rain stands for 19 mm, and cores are nothing but rates from there on', (t) => {
  const rates = ratesOf([[10, 30, 49.9, 50, 100]]);
  t.deepEqual(drawn(standInField(rates, 'rain')), [[0, 11.4, 18.9, 19, 38]]);
  t.deepEqual(drawn(standInField(rates, 'cores')), [[0, 0, 0, 19, 38]]);
});

sharedTest('of the pixels from 50 mm/h on in a real frame, 45 of 100 are hail and make 46 storm cells', (t) => {
  const grid = readGrid(readFileSync(sharedData('mrms-sequence', 'PrecipRate_00.00_20190610-000000.grib2')), 'R3');
  const rates = hailField(grid);
  const scan = standInScan(grid.scan_time, rates, 'hail');
  t.is(scan.mesh.tenths.length, 1284);
  t.is(rates.tenths.filter((tenths) => tenths >= 500).length, 2857);
  t.true(scan.mesh.tenths.every((tenths) => tenths >= 190));
  const { cells, detections } = processScan(scan, emptyTrackingState, {
    storm_date: '2019-06-10',
    inputs: '',
    terrain: null,
  }).products;
  t.is(detections.length, 1284);
  t.is(cells.length, 46);
});
