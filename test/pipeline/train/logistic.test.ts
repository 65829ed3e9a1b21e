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
