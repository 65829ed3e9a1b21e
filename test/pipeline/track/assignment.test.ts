import test from 'ava';
import fc from 'fast-check';
import { findObjects } from '../../../pipeline/detect/cells.ts';
import { advanceTracks } from '../../../pipeline/track/advance.ts';
import type { Prediction } from '../../../pipeline/track/gate.ts';
import { noLiveTracks } from '../../../pipeline/track/live-tracks.ts';
import { assign } from '../../../pipeline/track/match.ts';
import { partitionCells } from '../../../pipeline/track/partition-cells.ts';
import {
  type CellPart,
  cellAtPixel,
  maskOf,
  maskPixels,
  sharedPixels,
  type TrackCell,
} from '../../../pipeline/track/track-cell.ts';
import { csi, type ObjectFrame, overlapAt } from '../../bench/track-scores.ts';
import { draw, drawTenths } from '../../support/data/draw.ts';
import { START } from '../../support/data/parting.ts';
import { square } from '../../support/data/square.ts';
import { trackCells } from '../../support/data/track-cells.ts';
import stored from './assignment-totals.json' with { type: 'json' };

const ALONE = 9;
const NO = Number.POSITIVE_INFINITY;

function solve(cost: readonly (readonly number[])[], alone = ALONE): number[] {
  return [...assign(Float64Array.from(cost.flat()), cost.length, cost[0]?.length ?? 0, alone)];
}

function totalOf(cost: readonly (readonly number[])[], columnOfRow: readonly number[]): number {
  return columnOfRow.reduce((sum, column, row) => sum + (column < 0 ? ALONE : cost[row]?.[column]), 0);
}

/** Cheapest total by trying every choice: the slow and obvious way. */
function cheapest(cost: readonly (readonly number[])[], row = 0, taken: readonly number[] = []): number {
  if (row === cost.length) return 0;
  const choices = (cost[row] as readonly number[]).flatMap((price, column) =>
    taken.includes(column) ? [] : [price + cheapest(cost, row + 1, [...taken, column])],
  );
  return Math.min(ALONE + cheapest(cost, row + 1, taken), ...choices);
}

const matrix = fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5 })).chain(([rows, columns]) =>
  fc.array(
    fc.array(fc.oneof(fc.integer({ min: 0, max: 20 }), fc.double({ min: 0, max: 20, noNaN: true }), fc.constant(NO)), {
      minLength: columns,
      maxLength: columns,
    }),
    { minLength: rows, maxLength: rows },
  ),
);

test('the cheapest pairing beats the greedy one', (t) => {
  t.deepEqual(
    solve([
      [1, 2],
      [1, 8],
    ]),
    [1, 0],
  );
});

test('a row stays alone when every pair costs more than that', (t) => {
  t.deepEqual(solve([[9.1, 12]]), [-1]);
  t.deepEqual(solve([[9.1, 8.9]]), [1]);
});

test('a forbidden pair is never made, whatever it would save', (t) => {
  t.deepEqual(
    solve([
      [NO, NO],
      [NO, 3],
    ]),
    [-1, 1],
  );
});

test('equal costs go to the lowest column, row by row', (t) => {
  t.deepEqual(
    solve([
      [5, 5, 5],
      [5, 5, 5],
    ]),
    [0, 1],
  );
});

test('no rows and no columns are answered, not refused', (t) => {
  t.deepEqual(solve([]), []);
  t.deepEqual([...assign(new Float64Array(0), 2, 0, ALONE)], [-1, -1]);
});

test('every column is used at most once, and the total equals that of trying everything', (t) => {
  fc.assert(
    fc.property(matrix, (cost) => {
      const answer = solve(cost);
      const used = answer.filter((column) => column >= 0);
      t.is(new Set(used).size, used.length);
      t.true(Math.abs(totalOf(cost, answer) - cheapest(cost)) < 1e-9);
    }),
    { numRuns: 300, seed: 1 },
  );
});

test('1000 totals with ties, forbidden pairs and rectangles up to 60 x 60 equal those of scipy', (t) => {
  let state = 20190610;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 16;
  };
  const totals = Array.from({ length: 1000 }, (_, i) => {
    const columns = 1 + ((i * 7) % 60);
    const cost = Array.from({ length: 1 + (i % 60) }, () =>
      Array.from({ length: columns }, () => {
        const value = next();
        return value % 4 === 0 ? NO : value % 21;
      }),
    );
    return totalOf(cost, solve(cost));
  });
  t.deepEqual(totals, stored.totals);
});

test('permuting the rows never changes the total', (t) => {
  fc.assert(
    fc.property(matrix, (cost) => {
      const turned = [...cost.slice(1), ...cost.slice(0, 1)];
      t.true(Math.abs(totalOf(cost, solve(cost)) - totalOf(turned, solve(turned))) < 1e-9);
    }),
    { numRuns: 200, seed: 2 },
  );
});

const EAST_KM_MIN = 0.01 * 85.4; // one pixel of longitude a minute at 40 N

/** Frames two minutes apart with a square of 6 pixels that starts in a column and drifts two pixels east a frame. */
function frames(count: number, east_km_min: number | null): ObjectFrame[] {
  return Array.from({ length: count }, (_, k) => {
    const { rows, cols } = square(1500, 3500 + 2 * k);
    const velocity = east_km_min === null ? null : { east: east_km_min, north: 0 };
    return {
      scan_time: START + k * 120_000,
      objects: [{ mask: maskOf(rows, cols), velocity }],
    };
  });
}

test('an object moved by its true motion covers what came, at every lead', (t) => {
  for (const lead of [2, 4, 8]) t.is(csi(overlapAt(frames(6, EAST_KM_MIN), lead)), 1);
});

test('an object that is left where it was shares 4 of 6 columns after two minutes: 24 pixels of 48', (t) => {
  t.deepEqual(overlapAt(frames(2, null), 2), { frames: 1, hits: 24, misses: 12, false_alarms: 12 });
});

test('frames without a later one at the lead, within a minute, do not count', (t) => {
  const all = frames(4, EAST_KM_MIN);
  t.is(overlapAt(all, 4).frames, 2);
  t.is(overlapAt([all[0], all[3]] as ObjectFrame[], 4).frames, 0);
  t.is(csi(overlapAt(all, 20)), null);
});

test('the way is that of the minutes between the two frames, not of the lead that was asked for', (t) => {
  const [first, second] = frames(2, EAST_KM_MIN) as [ObjectFrame, ObjectFrame];
  const late = { ...second, scan_time: second.scan_time + 60_000 }; // 3 minutes: a third pixel too far
  t.deepEqual(overlapAt([first, late], 2), { frames: 1, hits: 30, misses: 6, false_alarms: 6 });
});

test('pixels under two objects that move onto each other count once', (t) => {
  const [a, b] = [square(1500, 3500), square(1500, 3512)];
  const towards = (east: number) => ({ east: east * EAST_KM_MIN, north: 0 });
  const first = {
    scan_time: START,
    objects: [
      { mask: maskOf(a.rows, a.cols), velocity: towards(3) },
      { mask: maskOf(b.rows, b.cols), velocity: towards(-3) },
    ],
  };
  const { rows, cols } = square(1500, 3506);
  const second = {
    scan_time: START + 120_000,
    objects: [{ mask: maskOf(rows, cols), velocity: null }],
  };
  t.deepEqual(overlapAt([first, second], 2), { frames: 1, hits: 36, misses: 0, false_alarms: 0 });
});

function cellsOf(picture: string) {
  const field = draw(picture, { row0: 100, col0: 200 });
  return trackCells(field, findObjects(field, 1, 1));
}

const TWO = cellsOf(`
  . 1 1 . . . 2
  1 1 . . . 2 2
  1 . 1 . . . 2`);

test('a mask is the runs of a cell, row by row', (t) => {
  const [first] = TWO;
  t.deepEqual(first && maskOf(first.rows, first.cols), [100, 201, 2, 101, 200, 2, 102, 200, 1, 102, 202, 1]);
});

test('a mask counts its pixels', (t) => {
  t.deepEqual(
    TWO.map((cell) => maskPixels(maskOf(cell.rows, cell.cols))),
    [6, 4],
  );
});

test('a mask moved over another cell shares pixels with it, and none where it came from', (t) => {
  const [first] = TWO;
  const mask = first ? maskOf(first.rows, first.cols) : [];
  const owner = cellAtPixel(TWO);
  t.deepEqual([...sharedPixels(mask, 0, 0, owner)], [[0, 6]]);
  t.deepEqual([...sharedPixels(mask, 0, 5, owner)], [[1, 3]]);
  t.deepEqual([...sharedPixels(mask, 40, 0, owner)], []);
});

test('a mask moved over the edge of the lattice meets nothing on the other side', (t) => {
  const field = draw('1 1', { row0: 0, col0: 0 });
  const owner = cellAtPixel(trackCells(field, findObjects(field, 1, 1)));
  t.deepEqual([...sharedPixels([1, 6998, 2], -1, 2, owner)], []);
  t.deepEqual([...sharedPixels([0, 0, 2], 0, -1, owner)], [[0, 1]]);
});

const STILL = { east: 0, north: 0 };

function picture(drawing: string): TrackCell[] {
  const field = draw(drawing);
  return trackCells(field, findObjects(field, 1, 1));
}

/** What the tracks of these cells are two minutes later, without motion. */
function predictions(cells: readonly TrackCell[]): Prediction[] {
  const { tracks } = advanceTracks(noLiveTracks, {
    scan_time: 0,
    cells,
    pattern_motion: null,
  }).live;
  return tracks
    .toSorted((a, b) => a.centroid_lon - b.centroid_lon)
    .map((track) => ({
      track,
      minutes: 2,
      motion: track.motion,
      rows_south: 0,
      cols_east: 0,
    }));
}

function divided(before: string, after: string): CellPart[] {
  const cells = picture(after);
  return partitionCells(
    cells,
    cellAtPixel(cells),
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
        cellAtPixel(cells),
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
