import test from 'ava';
import { surrounding } from '../../../../api/rules/geo/nesting.ts';
import type { Ring } from '../../../../schemas/geo/rings.ts';

/** A ring around a box. */
function box(west: number, south: number, east: number, north: number): Ring {
  return [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ];
}

const YARD = [[box(-100, 40, -99.9, 40.1), box(-99.96, 40.04, -99.94, 40.06).toReversed()]];
const { reachesOut } = surrounding(YARD);

test('a ring inside, or along the edge, reaches out by nothing', (t) => {
  t.false(reachesOut(box(-99.99, 40.01, -99.97, 40.02), 1));
  t.false(reachesOut(box(-100, 40, -99.9, 40.1), 1));
});

test('a ring reaches out as far as its farthest point is from the edge', (t) => {
  const north = box(-99.99, 40.01, -99.97, 40.11); // a hundredth of a degree beyond: 1117 m
  t.true(reachesOut(north, 1100));
  t.false(reachesOut(north, 1120));
  const bay = [
    [
      [-100, 40],
      [-99.9, 40],
      [-99.9, 40.1],
      [-99.95, 40.05],
      [-100, 40.1],
      [-100, 40],
    ],
  ];
  // Only the middle of its northern edge is far from the bay's shores: 0.05 degrees on the flat, 3394 m across.
  const over = box(-100, 40, -99.9, 40.1);
  t.true(surrounding([bay]).reachesOut(over, 3300));
  t.false(surrounding([bay]).reachesOut(over, 3450));
});

test('a hole is outside, and a ring far from everything reaches out at any slack', (t) => {
  t.true(reachesOut(box(-99.955, 40.045, -99.945, 40.055), 100));
  t.true(reachesOut(box(-90, 40, -89.9, 40.1), 5000));
});
