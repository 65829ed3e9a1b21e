import test from 'ava';
import { heightWindow } from '../../../pipeline/derive/height-window.ts';
import type { HeightGrid } from '../../../pipeline/grid.ts';

/** Ten rows of eight cells of one degree, the first centre at 49.5 N 109.5 W; 100 m for each degree north of 40. */
function grid(changes: Partial<HeightGrid> = {}) {
  const read: number[] = [];
  const made: HeightGrid = {
    rows: 10,
    cols: 8,
    north_lat: 49.5,
    west_lon: -109.5,
    lat_step_deg: 1,
    lon_step_deg: 1,
    readRows: async (first, count) =>
      Array.from({ length: count }, (_, k) => {
        read.push(first + k);
        return new Float32Array(8).fill(100 * (9.5 - first - k));
      }),
    ...changes,
  };
  return { made, read };
}

test('heights between cells are bilinear', async (t) => {
  const at = await heightWindow(grid().made)([-109, 41, -103, 49]);
  t.is(at(45.5, -106.5), 550);
  t.is(at(45.75, -106.2), 575);
});

test('a longitude counted from 0 to 360 is the same place', async (t) => {
  const sloping = grid({
    west_lon: 250.5,
    readRows: async (_, count) =>
      Array.from({ length: count }, () => Float32Array.from({ length: 8 }, (_, col) => col)),
  });
  const at = await heightWindow(sloping.made)([-109, 41, -103, 49]);
  t.is(at(45, -109.5), 0);
  t.is(at(45, -107.25), 2.25);
});

test('outside the outermost centres, and beside an unknown cell, the height is not known', async (t) => {
  const at = await heightWindow(grid().made)([-120, 30, -90, 60]);
  for (const [lat, lon] of [
    [49.6, -106],
    [40.4, -106],
    [45, -109.6],
    [45, -102.4],
    [45, 70],
  ] as const)
    t.true(Number.isNaN(at(lat, lon)), `${lat} ${lon}`);
  t.is(Math.round(at(49.4, -102.6)), 940);
  const void_ = grid({
    readRows: async (_, count) => Array.from({ length: count }, () => new Float32Array(8).fill(Number.NaN)),
  });
  t.true(Number.isNaN((await heightWindow(void_.made)([-109, 41, -103, 49]))(45, -106)));
});

test('boxes from north to south read every row once', async (t) => {
  const { made, read } = grid();
  const windowOf = heightWindow(made);
  for (const [south, north] of [
    [47, 49],
    [45, 48],
    [45.2, 47],
    [41, 44],
  ] as const) {
    const at = await windowOf([-109, south, -103, north]);
    t.is(Math.round(at((south + north) / 2, -106)), Math.round(100 * ((south + north) / 2 - 40)));
  }
  t.deepEqual(
    read,
    read.toSorted((a, b) => a - b),
  );
  t.is(new Set(read).size, read.length);
});
