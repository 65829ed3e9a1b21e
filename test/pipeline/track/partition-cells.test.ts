import test from 'ava';
import fc from 'fast-check';
import { findObjects } from '../../../pipeline/detect/cells.ts';
import { advanceTracks } from '../../../pipeline/track/advance.ts';
import type { Prediction } from '../../../pipeline/track/gate.ts';
import { noLiveTracks } from '../../../pipeline/track/live-tracks.ts';
import { partitionCells } from '../../../pipeline/track/partition-cells.ts';
import type { CellPart, TrackCell } from '../../../pipeline/track/track-cell.ts';
import { draw, drawTenths } from '../../support/data/draw.ts';
import { trackCells } from '../../support/data/track-cells.ts';

const STILL = { east: 0, north: 0 };

function picture(drawing: string): TrackCell[] {
  const field = draw(drawing);
  return trackCells(field, findObjects(field, 1, 1));
}

/** What the tracks of these cells are two minutes later, without motion. */
function predictions(cells: readonly TrackCell[]): Prediction[] {
  const { tracks } = advanceTracks(noLiveTracks, { scan_time: 0, cells, pattern_motion: null }).live;
  return tracks
    .toSorted((a, b) => a.centroid_lon - b.centroid_lon)
    .map((track) => ({ track, minutes: 2, motion: track.motion, rows_south: 0, cols_east: 0 }));
}

function divided(before: string, after: string): CellPart[] {
  const cells = picture(after);
  return partitionCells(
    cells,
    predictions(picture(before)),
    cells.map(() => STILL),
  );
}

const APART = `
  3 3 3 3 . . . 3 3 3
  3 3 3 3 . . . 3 3 3
  3 3 3 3 . . . 3 3 3`;
const JOINED = `
  3 3 3 3 2 2 2 3 3 3
  3 3 3 3 . . . 3 3 3
  3 3 3 3 . . . 3 3 3`;

test('a cell over the masks of two tracks is divided at the middle of what joins them', (t) => {
  const parts = divided(APART, JOINED);
  t.deepEqual(
    parts.map(({ cell, part, held_by, rows }) => [cell, part, held_by, rows.length]),
    [
      [0, 0, 0, 14],
      [0, 1, 1, 10],
    ],
  );
  t.deepEqual([...(parts[0]?.cols ?? [])].slice(0, 6), [3500, 3501, 3502, 3503, 3504, 3505]);
});

test('a cell over one mask stays whole', (t) => {
  const [part, ...more] = divided('3 3 3 3', '3 3 3 3 3');
  t.is(more.length, 0);
  t.is(part?.held_by, null);
  t.is(part?.rows.length, 5);
});

test('cores nearer than 5 km are one', (t) => {
  const parts = divided(
    `
    3 3 . 3 3
    3 3 . 3 3
    3 3 . 3 3`,
    `
    3 3 3 3 3
    3 3 . 3 3
    3 3 . 3 3`,
  );
  t.is(parts.length, 1);
});

test('a track whose part shrank to less than 30 % has been absorbed', (t) => {
  const parts = divided(
    APART,
    `
    3 3 3 3 3 3 3 3 3 .
    3 3 3 3 . . . . . .
    3 3 3 3 . . . . . .`,
  );
  t.is(parts.length, 1);
  t.is(parts[0]?.held_by, null);
});

test('a part whose centre moved too far is free: no track holds it, the other keeps its own', (t) => {
  const [west, east] = divided(
    APART,
    `
    3 3 3 3 2 2 2 3 3 3 . . . . . . . . . .
    3 3 3 3 . . . 3 3 9 9 9 9 9 9 9 9 9 9 9
    3 3 3 3 . . . 3 3 9 9 9 9 9 9 9 9 9 9 9`,
  );
  t.is(west?.held_by, 0);
  t.is(east?.held_by, null);
  t.is(east?.part, 1);
});

test('parts have the centre, area and largest value of their own pixels', (t) => {
  const [west, east] = divided(APART, JOINED.replaceAll('3 3 3\n', '4 5 4\n'));
  t.is(west?.estimated_size_mm, 30);
  t.is(east?.estimated_size_mm, 50);
  t.true((east?.centroid_lon ?? 0) - (west?.centroid_lon ?? 0) > 0.055);
  t.true(Math.abs((west?.area_km2 ?? 0) / 14 - (east?.area_km2 ?? 0) / 10) < 0.001);
});

test('whatever the picture, each pixel of a cell is in exactly one part', (t) => {
  const grid = fc.array(fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 24, maxLength: 24 }), {
    minLength: 8,
    maxLength: 8,
  });
  const cellsOf = (digits: number[][], least: number) => {
    const field = drawTenths(digits.map((row) => row.map((digit) => (digit >= least ? 100 * digit : 0))));
    return trackCells(field, findObjects(field, 1, 1));
  };
  fc.assert(
    fc.property(grid, (digits) => {
      const cells = cellsOf(digits, 1);
      const parts = partitionCells(
        cells,
        predictions(cellsOf(digits, 2)),
        cells.map(() => STILL),
      );
      const pixels = (list: readonly TrackCell[]) =>
        list.flatMap((part) => Array.from(part.rows, (row, i) => row * 7000 + part.cols[i])).sort((a, b) => a - b);
      t.deepEqual(pixels(parts), pixels(cells));
      t.deepEqual(pixels(parts).length, new Set(pixels(parts)).size);
    }),
    { numRuns: 100, seed: 3 },
  );
});
