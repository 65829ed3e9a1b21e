import test from 'ava';
import fc from 'fast-check';
import { onCurve } from '../../../pipeline/detect/model.ts';
import { fitCurve, poolAdjacent } from '../../../pipeline/train/isotonic.ts';

const ones = (values: readonly unknown[]) => values.map(() => 1);

test('violators are pooled to their mean', (t) => {
  const values = [1, 3, 2, 4, 3.5, 5];
  t.deepEqual(poolAdjacent(values, ones(values)), [1, 2.5, 2.5, 3.75, 3.75, 5]);
});

test('a pool weighs its cases', (t) => {
  t.deepEqual(poolAdjacent([4, 1], [1, 3]), [1.75, 1.75]);
});

test('a falling sequence becomes its mean, a rising one stays', (t) => {
  t.deepEqual(poolAdjacent([3, 2, 1], [1, 1, 1]), [2, 2, 2]);
  t.deepEqual(poolAdjacent([1, 2, 3], [1, 1, 1]), [1, 2, 3]);
  t.deepEqual(poolAdjacent([], []), []);
});

/** Max-min formula: the slow definition of isotonic regression. */
const maxMin = (values: readonly number[]) =>
  values.map((_, i) =>
    Math.max(
      ...values.slice(0, i + 1).map((_, from) =>
        Math.min(
          ...values.slice(i).map((_, to) => {
            const part = values.slice(from, i + to + 1);
            return part.reduce((sum, value) => sum + value, 0) / part.length;
          }),
        ),
      ),
    ),
  );

test('pooling gives what the max-min formula gives', (t) => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -20, max: 20 }), { minLength: 1, maxLength: 12 }), (values) => {
      const pooled = poolAdjacent(values, ones(values));
      for (const [n, expected] of maxMin(values).entries()) t.true(Math.abs(pooled[n] - expected) < 1e-9);
    }),
    { numRuns: 200 },
  );
});

test('a curve has at most the knots asked for, rises, and stays off certainty', (t) => {
  const scores = Array.from({ length: 500 }, (_, n) => n / 50);
  const targets = scores.map((score, n) => (n % 7 < score - 2 ? 1 : 0));
  const { score, probability } = fitCurve(scores, targets, ones(scores), 30);
  t.true(score.length <= 30 && score.length > 3);
  t.deepEqual(
    score,
    score.toSorted((a, b) => a - b),
  );
  t.deepEqual(
    probability,
    probability.toSorted((a, b) => a - b),
  );
  t.is(probability[0], 0.005);
  t.is(probability.at(-1), 0.995);
});

test('a curve is straight between knots and constant beyond them', (t) => {
  const curve = { score: [0, 2], probability: [0.2, 0.6] };
  t.deepEqual(
    [-9, 0, 1, 2, 9].map((score) => Math.round(1e6 * onCurve(curve, score)) / 1e6),
    [0.2, 0.2, 0.4, 0.6, 0.6],
  );
});
