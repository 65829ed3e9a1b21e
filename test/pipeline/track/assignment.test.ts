import test from 'ava';
import fc from 'fast-check';
import { assign } from '../../../pipeline/track/assignment.ts';
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
