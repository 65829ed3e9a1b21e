import test from 'ava';
import { PipelineError } from '../../../pipeline/error.ts';
import { fitLogistic, sigmoid } from '../../../pipeline/train/logistic.ts';
import fixture from './logistic.fixture.json' with { type: 'json' };

const { rows, targets, weights, fits } = fixture;

for (const [ridge, expected] of Object.entries(fits))
  test(`with a ridge of ${ridge} the coefficients are those of a general minimiser`, (t) => {
    const fit = fitLogistic(rows, targets, weights, Number(ridge));
    [fit.intercept, ...fit.weights].forEach((value, n) => {
      t.true(Math.abs(value - expected[n]) < 1e-6, `coefficient ${n}`);
    });
  });

test('without predictors the intercept is the logit of the mean', (t) => {
  const { intercept } = fitLogistic([[], [], [], []], [1, 0, 0, 0], [1, 1, 1, 1], 1);
  t.true(Math.abs(sigmoid(intercept) - 0.25) < 1e-9);
});

test('a case of weight 2 counts like two cases', (t) => {
  const twice = fitLogistic([[0], [1], [1], [2], [3]], [0, 1, 1, 0, 1], [1, 1, 1, 1, 1], 0.5);
  const heavy = fitLogistic([[0], [1], [2], [3]], [0, 1, 0, 1], [1, 2, 1, 1], 0.5);
  t.true(Math.abs(twice.intercept - heavy.intercept) < 1e-9);
});

test('predictors that copy one another are an error without a ridge, and share the weight with one', (t) => {
  const copies = [
    [0, 0],
    [1, 1],
    [2, 2],
    [3, 3],
  ];
  t.throws(() => fitLogistic(copies, [0, 1, 0, 1], [1, 1, 1, 1], 0), { instanceOf: PipelineError });
  const { weights: shared } = fitLogistic(copies, [0, 1, 0, 1], [1, 1, 1, 1], 1);
  t.true(Math.abs(shared[0] - shared[1]) < 1e-9);
});

for (const [targets, came] of [
  [[0, 0, 0], '3 cases with 0 true'],
  [[1, 1], '2 cases with 2 true'],
  [[], '0 cases with 0 true'],
] as const)
  test(`${came} are an error that says so, because the intercept would have no end`, (t) => {
    const rows = targets.map((_, n) => [n]);
    const ones = targets.map(() => 1);
    t.throws(() => fitLogistic(rows, targets, ones, 1), {
      instanceOf: PipelineError,
      message: `train logistic regression: ${came}, expected true and false ones`,
    });
  });

for (const [scale, ridge] of [
  [1, 1],
  [10, 1e-6],
  [100, 1e-4],
  [1000, 1e-2],
] as const)
  test(`a predictor of size ${scale} that separates all cases has a finite weight with a ridge of ${ridge}`, (t) => {
    const { intercept, weights } = fitLogistic(
      [[-2], [-1], [1], [2]].map(([x]) => [scale * x]),
      [0, 0, 1, 1],
      [1, 1, 1, 1],
      ridge,
    );
    t.true(Math.abs(intercept) < 1e-6);
    // Where the loss is least the ridge pulls as hard as the cases push.
    const push = [1, 2].reduce((sum, x) => sum + 2 * scale * x * sigmoid(-scale * x * weights[0]), 0);
    t.true(Math.abs(push / (ridge * weights[0]) - 1) < 1e-3);
  });

for (const count of [354, 444, 453, 966])
  test(`of ${count} cases the search ends, though their summed loss is rounded`, (t) => {
    const rows = Array.from({ length: count }, (_, n) => [
      3 * Math.sin(n),
      Math.log(1 + (n % 31)),
      n % 3 === 0 ? 1 : 0,
    ]);
    const truth = [0.8, -1, 1];
    const targets = rows.map((row, n) => {
      const p = sigmoid(row.reduce((sum, value, j) => sum + value * truth[j], 0));
      return (n * 0.6180339887) % 1 < p ? 1 : 0;
    });
    const ones = targets.map(() => 1);
    const { intercept, weights } = fitLogistic(rows, targets, ones, 1);
    // Where the loss is least each weight is pulled by its ridge as hard as the cases push it.
    const misses = rows.map(
      (row, n) => targets[n] - sigmoid(row.reduce((sum, x, j) => sum + x * weights[j], intercept)),
    );
    for (const [j, weight] of weights.entries()) {
      const push = misses.reduce((sum, miss, n) => sum + miss * (rows[n]?.[j] as number), 0);
      t.true(Math.abs(push - weight) < 1e-6);
    }
  });
