import test from 'ava';
import type { Ring } from '../../../schemas/geo/rings.ts';
import { findConflicts } from '../../../schemas/geo/validity.ts';
import { isValidMultiPolygon } from '../../support/data/valid-multi-polygon.ts';

/** A closed ring from corners in hundredths of a degree. */
function ring(...corners: (readonly [number, number])[]): Ring {
  return [...corners, corners[0] as [number, number]].map(([x, y]) => [x / 100, y / 100]);
}

function box(west: number, south: number, east: number, north: number): Ring {
  return ring([west, south], [east, south], [east, north], [west, north]);
}

const shell = box(0, 0, 10, 10);
const hole = (west: number, south: number, east: number, north: number) => box(west, south, east, north).toReversed();

for (const [what, polygons] of [
  ['nothing at all', []],
  ['a shell with a hole', [[shell, hole(2, 2, 4, 4)]]],
  [
    'a hole that touches its shell at a vertex of both',
    [[ring([0, 0], [10, 0], [10, 10], [5, 10], [0, 10]), ring([5, 10], [6, 8], [4, 8])]],
  ],
  ['two holes that touch at a corner', [[shell, hole(2, 2, 4, 4), hole(4, 4, 6, 6)]]],
  ['two polygons that touch at two corners', [[shell], [ring([10, 0], [14, 5], [10, 10], [12, 5])]]],
  ['a polygon inside the hole of another', [[shell, hole(2, 2, 8, 8)], [box(4, 4, 6, 6)]]],
] as const)
  test(`${what} is valid`, (t) =>
    t.is(isValidMultiPolygon(polygons.map((rings) => rings.map((r) => r as Ring))), null));

for (const [what, polygons, reason] of [
  ['a ring of three positions', [[ring([0, 0], [1, 0])]], 'ring 0 has 3 positions, expected 4 or more'],
  ['an open ring', [[shell.slice(0, -1)]], 'ring 0 is not closed'],
  [
    'a ring that passes a position twice',
    [[ring([0, 0], [4, 0], [4, 4], [2, 2], [0, 4], [2, 2])]],
    'ring 0 passes a position twice',
  ],
  ['a figure of eight', [[ring([0, 0], [4, 4], [4, 0], [0, 4])]], 'rings 0 and 0 cross or overlap'],
  ['a spike', [[ring([0, 0], [4, 0], [4, 4], [4, 9], [4, 5], [0, 4])]], 'rings 0 and 0 cross or overlap'],
  ['a clockwise shell', [[shell.toReversed()]], 'ring 0 winds the wrong way, expected counter-clockwise'],
  ['a counter-clockwise hole', [[shell, box(2, 2, 4, 4)]], 'ring 1 winds the wrong way, expected clockwise'],
  ['a hole across its shell', [[shell, hole(8, 2, 12, 4)]], 'rings 0 and 1 cross or overlap'],
  ['a hole along its shell', [[shell, hole(0, 2, 4, 4)]], 'rings 0 and 1 cross or overlap'],
  ['a hole outside its shell', [[shell, hole(20, 2, 24, 4)]], 'hole 1 is outside its shell 0'],
  ['a hole in a hole', [[shell, hole(2, 2, 8, 8), hole(4, 4, 6, 6)]], 'holes 1 and 2 are nested'],
  ['overlapping polygons', [[shell], [box(5, 5, 15, 15)]], 'rings 0 and 1 cross or overlap'],
  ['a polygon inside another', [[shell], [box(4, 4, 6, 6)]], 'shell 1 lies inside the polygon of shell 0'],
  [
    'polygons that cross at a common vertex',
    [[ring([0, 0], [10, 0], [10, 10], [5, 5])], [ring([2, 8], [4, 0.5], [5, 5])]],
    'rings 0 and 1 cross',
  ],
  [
    'a polygon cut in two by a hole',
    [[ring([0, 0], [5, 0], [10, 0], [10, 10], [5, 10], [0, 10]), ring([5, 0], [4, 5], [5, 10], [6, 5])]],
    'polygon 0 is cut in two',
  ],
] as const)
  test(`${what} is not valid`, (t) => {
    const found = isValidMultiPolygon(polygons.map((rings) => rings.map((r) => r as Ring)));
    t.true(found?.startsWith(reason), `found '${found}', expected '${reason}'`);
  });

test('a conflict names the rings involved, counted through all polygons', (t) => {
  const conflicts = findConflicts([[box(20, 20, 30, 30)], [shell, hole(2, 2, 4, 4)], [box(3, 3, 5, 5)]]);
  t.deepEqual([...new Set(conflicts.flatMap((conflict) => conflict.rings))].sort(), [2, 3]);
});
