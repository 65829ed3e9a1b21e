import test from 'ava';
import { CONUS_CELLS, cellsIn } from '../../../schemas/geo/geohash4.ts';
import type { Bbox } from '../../../schemas/geo/position.ts';

const BOXES: readonly (readonly [what: string, box: Bbox])[] = [
  ['inside', [-98.3, 34.2, -96.1, 36.9]],
  ['smaller than a cell, around a centre', [-97.57, 35.24, -97.55, 35.25]],
  ['smaller than a cell, beside every centre', [-97.5, 35.2, -97.45, 35.21]],
  ['over the south-western corner', [-130, 20, -123.9, 24.6]],
  ['over the north-eastern corner', [-67, 49.5, -60, 55]],
  ['over everything', [-180, -90, 180, 90]],
  ['far away', [-10, 40, 10, 55]],
  ['far in the south', [-100, -40, -90, -30]],
];

for (const [what, box] of BOXES)
  test(`cells of a box ${what} are those whose centre lies in it, in their order`, (t) => {
    const [west, south, east, north] = box;
    const expected = CONUS_CELLS.filter(({ lat, lon }) => lat >= south && lat <= north && lon >= west && lon <= east);
    t.deepEqual(cellsIn(box), expected);
  });

test('a centre on the edge of a box lies in it', (t) => {
  const cell = CONUS_CELLS[5000] as (typeof CONUS_CELLS)[number];
  const next = CONUS_CELLS[5001] as (typeof CONUS_CELLS)[number];
  t.deepEqual(cellsIn([cell.lon, cell.lat, next.lon, next.lat]), [cell, next]);
});
