import test from 'ava';
import fc from 'fast-check';
import { findObjects } from '../../../pipeline/detect/cells.ts';
import type { HailField } from '../../../pipeline/grid.ts';
import { advanceTracks } from '../../../pipeline/track/advance.ts';
import type { Prediction } from '../../../pipeline/track/gate.ts';
import { extendTrail, hindcast, motionShare, type TrailStep } from '../../../pipeline/track/hindcast.ts';
import { firstMotion, type Motion, mahalanobis2, predictMotion, updateMotion } from '../../../pipeline/track/kalman.ts';
import { noLiveTracks } from '../../../pipeline/track/live-tracks.ts';
import { assign } from '../../../pipeline/track/match.ts';
import {
  addOffset,
  headingOf,
  kmPerDegree,
  medianVelocity,
  offsetKm,
  regionalVelocity,
  velocityOf,
} from '../../../pipeline/track/motion.ts';
import { partitionCells } from '../../../pipeline/track/partition-cells.ts';
import { patternMotion } from '../../../pipeline/track/pattern-motion.ts';
import {
  type CellPart,
  cellAtPixel,
  maskOf,
  sharedPixels,
  type TrackCell,
} from '../../../pipeline/track/track-cell.ts';
import { destination } from '../../../schemas/geo/distance.ts';
import { rowLat } from '../../../schemas/geo/lattice.ts';
import { draw, drawTenths } from '../../support/data/draw.ts';
import { START } from '../../support/data/parting.ts';
import { square } from '../../support/data/square.ts';
import { trackCells } from '../../support/data/track-cells.ts';
import stored from './assignment-totals.json' with { type: 'json' };

const HERE = { lat: 40, lon: -97 };

for (const [east, north, direction] of [
  [0, 1, 0],
  [1, 0, 90],
  [0, -1, 180],
  [-1, 0, 270],
  [1, 1, 45],
] as const)
  test(`${east} km/min east and ${north} north go towards ${direction} degrees`, (t) => {
    const heading = headingOf({ east, north });
    t.is(heading.direction_deg, direction);
    t.true(Math.abs(heading.speed_kmh - 60 * Math.hypot(east, north)) < 1e-9);
  });

test('no motion goes north whatever the sign of its zeros, so that memory out of JSON says the same', (t) => {
  for (const east of [0, -0]) for (const north of [0, -0]) t.is(headingOf({ east, north }).direction_deg, 0);
});

test('a direction just west of north stays below 360 degrees', (t) => {
  const { direction_deg } = headingOf({ east: -1e-18, north: 1 });
  t.true(direction_deg >= 0 && direction_deg < 360);
});

test('the median takes east and north apart and is not moved by one outlier', (t) => {
  const velocities = [
    { east: 1, north: 5 },
    { east: 2, north: 4 },
    { east: 90, north: 3 },
  ];
  t.deepEqual(medianVelocity(velocities), { east: 2, north: 4 });
  t.is(medianVelocity([]), null);
});

test('only movers within 100 km make the regional motion', (t) => {
  const near = { ...destination(HERE, 60, 99.9), velocity: { east: 1, north: 0 } };
  const far = { ...destination(HERE, 240, 100.1), velocity: { east: 0, north: 9 } };
  t.deepEqual(regionalVelocity(HERE, [far, near]), { east: 1, north: 0 });
  t.is(regionalVelocity(HERE, [far]), null);
});

const SIDE = 200;
const CENTRES = [
  [40, 50],
  [60, 150],
  [150, 60],
  [140, 140],
] as const;

/** Four storms of 60 mm, moved by pixels. */
function storms(south: number, east: number): HailField {
  const rows = Array.from({ length: SIDE }, (_, r) =>
    Array.from({ length: SIDE }, (_, c) => {
      const mm = CENTRES.map(([y, x]) => 60 * Math.exp(-((r - y - south) ** 2 + (c - x - east) ** 2) / 18));
      const tenths = Math.round(10 * Math.max(...mm));
      return tenths >= 20 ? tenths : 0;
    }),
  );
  return drawTenths(rows);
}

for (const [south, east] of [
  [0, 0],
  [1, 2],
  [-2, 1],
  [0.5, 1.5],
  [-1.3, -0.4],
] as const)
  test(`storms that moved ${south} pixels south and ${east} east in two minutes are found to have done so`, (t) => {
    const heading = patternMotion(storms(0, 0), storms(south, east), 2);
    const velocity = heading && velocityOf(heading);
    const km = kmPerDegree(rowLat(1600));
    t.true(Math.abs((velocity?.north ?? Number.NaN) + (south * 0.01 * km.north) / 2) < 0.05);
    t.true(Math.abs((velocity?.east ?? Number.NaN) - (east * 0.01 * km.east) / 2) < 0.05);
  });

test('fields without resemblance, without pixels or too far apart in time say nothing', (t) => {
  const dry = draw('. . .');
  t.is(patternMotion(storms(0, 0), dry, 2), null);
  t.is(patternMotion(dry, storms(0, 0), 2), null);
  t.is(patternMotion(storms(0, 0), storms(0, 1), 11), null);
  t.is(patternMotion(storms(0, 0), storms(0, 1), 0), null);
});

const KALMAN_HERE = { lat: 38, lon: -97 };
const AT_REST = { east: 0, north: 0 };

function sd(motion: Motion): number {
  return Math.sqrt(motion.pp);
}

test('acceleration noise alone spreads a known motion to 3.4, 9.5 and 17.4 km in 15, 30 and 45 minutes', (t) => {
  const known = firstMotion(KALMAN_HERE, 0, AT_REST, 0);
  t.deepEqual(
    [15, 30, 45].map((minutes) => Number(sd(predictMotion(known, minutes)).toFixed(1))),
    [3.4, 9.5, 17.4],
  );
});

test('a measurement pulls by its share of the variances: equal ones meet half way', (t) => {
  const predicted = firstMotion(KALMAN_HERE, 1, AT_REST, 0.4);
  const updated = updateMotion(predicted, addOffset(KALMAN_HERE, { east: 2, north: 0 }), 1);
  t.true(Math.abs(offsetKm(KALMAN_HERE, updated).east - 1) < 1e-6);
  t.is(updated.pp, 0.5);
});

test('measurements along a straight line teach the velocity', (t) => {
  const velocity = { east: 0.9, north: 0.4 };
  let motion = firstMotion(KALMAN_HERE, 1, AT_REST, 1);
  for (let k = 1; k <= 10; k++) {
    const at = addOffset(KALMAN_HERE, { east: velocity.east * 2 * k, north: velocity.north * 2 * k });
    motion = updateMotion(predictMotion(motion, 2), at, 1);
  }
  t.true(Math.abs(motion.east_km_min - 0.9) < 0.05 && Math.abs(motion.north_km_min - 0.4) < 0.05);
  t.true(motion.vv < 0.1);
});

test('the Mahalanobis distance counts prediction and measurement alike', (t) => {
  const predicted = firstMotion(KALMAN_HERE, 3, AT_REST, 0.4);
  t.true(Math.abs(mahalanobis2(predicted, addOffset(KALMAN_HERE, { east: 0, north: 4 }), 1) - 4) < 1e-6);
});

const PLACES = [25, 33, 40, 49].map((lat) => ({ lat, lon: -97.3 }));

test('the length of an offset is within 10 m of the geodesic up to 100 km', (t) => {
  for (const from of PLACES)
    for (const bearing of [0, 37, 90, 145, 200, 271, 333])
      for (const km of [0.5, 5, 30, 100]) {
        const offset = offsetKm(from, destination(from, bearing, km));
        t.true(Math.abs(Math.hypot(offset.east, offset.north) - km) < 0.01, `${from.lat} N, ${bearing} deg, ${km} km`);
      }
});

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

test('equal costs go to the lowest column, row by row', (t) => {
  t.deepEqual(
    solve([
      [5, 5, 5],
      [5, 5, 5],
    ]),
    [0, 1],
  );
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

function cellsOf(picture: string) {
  const field = draw(picture, { row0: 100, col0: 200 });
  return trackCells(field, findObjects(field, 1, 1));
}

const TWO = cellsOf(`
  . 1 1 . . . 2
  1 1 . . . 2 2
  1 . 1 . . . 2`);

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

/** A square seen some minutes ago that seemed to move east by one kilometre a minute. */
function step(minutes_ago: number, col: number): TrailStep {
  const { rows, cols } = square(1500, col, 10);
  return { scan_time: START - minutes_ago * 60_000, velocity: { east: 1, north: 0 }, mask: maskOf(rows, cols) };
}

/** Share of that motion after the square was found at a column now. */
function shareOf(found: number, around: readonly number[] = []): number {
  const judge = (col: number) => hindcast([step(10, 3500)], START, cellAtPixel([square(1500, col, 10)]));
  return motionShare(judge(found), around.map(judge));
}

test('all of a motion is published while it forecasts the storm at least as well as no motion', (t) => {
  t.is(shareOf(3512), 1); // 10 km are 12 columns
  t.is(shareOf(3506), 1); // half way between: both overlap by four columns
});

test('a storm that stayed in place is published without motion, one that crept with a part of it', (t) => {
  t.is(shareOf(3500), 0);
  t.is(shareOf(3503), 0.5);
});

test('nothing known is no reason to shrink a motion', (t) => {
  t.is(motionShare(hindcast([], START, new Map()), []), 1);
  t.is(shareOf(3600), 1);
});

test('the storms around speak for a storm without a past, and hardly against one that has its own', (t) => {
  t.is(shareOf(3600, [3500, 3500]), 0);
  t.is(shareOf(3512, [3500, 3500]), 1);
});

test('a trail keeps half an hour, with four minutes between its steps', (t) => {
  let trail: TrailStep[] = [];
  for (let minute = 0; minute <= 60; minute += 2)
    trail = extendTrail(trail, { ...step(0, 3500), scan_time: START + minute * 60_000 });
  t.deepEqual(
    trail.map(({ scan_time }) => (scan_time - START) / 60_000),
    [32, 36, 40, 44, 48, 52, 56, 60],
  );
});
