import test from 'ava';
import fc from 'fast-check';
import { fitLogistic, sigmoid } from '../../../pipeline/train/logistic.ts';
import { type HeldOut, measure } from '../../../pipeline/train/skill.ts';

const count = fc.integer({ min: 1, max: 40 });

test('without a ridge one predictor of two values has the odds of its two groups', (t) => {
  fc.assert(
    fc.property(count, count, count, count, (hits, misses, more_hits, more_misses) => {
      const rows = [0, 0, 1, 1].map((value) => [value]);
      const { intercept, weights } = fitLogistic(rows, [1, 0, 1, 0], [hits, misses, more_hits, more_misses], 0);
      t.true(Math.abs(sigmoid(intercept) - hits / (hits + misses)) < 1e-8);
      t.true(Math.abs(sigmoid(intercept + weights[0]) - more_hits / (more_hits + more_misses)) < 1e-8);
    }),
    { numRuns: 100 },
  );
});

test('probabilities of a fit add up to the cases that came true, whatever the ridge', (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: -5, max: 5 }), fc.integer({ min: -5, max: 5 }), fc.boolean()), {
        minLength: 6,
        maxLength: 40,
      }),
      fc.constantFrom(0.1, 1, 10),
      (cases, ridge) => {
        const targets = cases.map(([, , came]) => (came ? 1 : 0));
        fc.pre(targets.includes(0) && targets.includes(1));
        const rows = cases.map(([a, b]) => [a, b]);
        const { intercept, weights } = fitLogistic(
          rows,
          targets,
          rows.map(() => 1),
          ridge,
        );
        const forecast = rows.map(([a, b]) => sigmoid(intercept + weights[0] * a + weights[1] * b));
        const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
        t.true(Math.abs(sum(forecast) - sum(targets)) < 1e-6);
      },
    ),
    { numRuns: 100 },
  );
});

/** Ten blocks of twenty cases, each of one probability: the bins of the reliability are the blocks. */
function blocks(truths: readonly number[]): HeldOut[] {
  return truths.flatMap((came, block) =>
    Array.from({ length: 20 }, (_, n) => ({
      group: `day ${n % 4}`,
      target: n < came ? 1 : 0,
      probability: 0.05 + block / 10,
      start: 0.5,
    })),
  );
}

test('the Brier score is uncertainty less resolution plus reliability (Murphy 1973)', (t) => {
  fc.assert(
    fc.property(
      fc
        .array(fc.integer({ min: 0, max: 20 }), { minLength: 10, maxLength: 10 })
        .filter((all) => all.some((n) => n > 0)),
      (truths) => {
        const { brier, base_rate, reliability } = measure(blocks(truths), 1);
        t.is(reliability.length, 10);
        const share = (term: (bin: (typeof reliability)[number]) => number) =>
          reliability.reduce((sum, bin) => sum + (bin.cases / 200) * term(bin), 0);
        const miscalibration = share(({ forecast, observed }) => (forecast - observed) ** 2);
        const resolution = share(({ observed }) => (observed - base_rate) ** 2);
        t.true(Math.abs(brier - (base_rate * (1 - base_rate) - resolution + miscalibration)) < 1e-9);
      },
    ),
    { numRuns: 30 },
  );
});

test('the base rate has no skill over climatology, certainty that is right has all of it', (t) => {
  const cases = blocks([0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
  const rate = cases.filter(({ target }) => target === 1).length / cases.length;
  const scored = (probability: (one: HeldOut) => number) =>
    measure(
      cases.map((one) => ({ ...one, probability: probability(one) })),
      1,
    );
  t.true(Math.abs(scored(() => rate).skill_climatology) < 1e-12);
  t.deepEqual([scored(({ target }) => target).skill_climatology, scored(({ target }) => target).ece], [1, 0]);
  t.is(scored(({ start }) => start).skill_start, 0);
});
