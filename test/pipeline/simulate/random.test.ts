import test from 'ava';
import { between, drawsOf, gamma2, hashOf, lognormal, normal, poisson } from '../../../pipeline/simulate/random.ts';

test('the same key gives the same number on every machine', (t) => {
  t.deepEqual([hashOf(1), hashOf(1, 2, 3), hashOf(-5, 2 ** 40)], [2031924701, 2796823407, 3488929027]);
  const draw = drawsOf(7, 1);
  t.deepEqual([draw(), draw(), draw()], [0.6288583385758102, 0.026964002987369895, 0.5970295034348965]);
});

test('keys that differ in one bit, in order or beyond 32 bits give other numbers', (t) => {
  const keys = [[1, 2], [2, 1], [1, 3], [1], [1, 2, 0], [1, 2 + 2 ** 32], [-1, 2]];
  t.is(new Set(keys.map((key) => hashOf(...key))).size, keys.length);
});

const COUNT = 20_000;
const moments = (values: readonly number[]) => {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return { mean, sd: Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length) };
};
const sample = (one: (draw: () => number) => number) => {
  const draw = drawsOf(3);
  return Array.from({ length: COUNT }, () => one(draw));
};

for (const [name, one, mean, sd] of [
  ['uniform in [2, 4)', (draw) => between(draw, 2, 4), 3, 0.577],
  ['standard normal', normal, 0, 1],
  ['gamma of shape 2 with mean 24', (draw) => gamma2(draw, 24), 24, 16.97],
  ['Poisson with mean 3', (draw) => poisson(draw, 3), 3, 1.732],
  ['logarithm of a lognormal with median 10', (draw) => Math.log(lognormal(draw, 10, 0.6)), Math.log(10), 0.6],
] as const satisfies readonly (readonly [string, (draw: () => number) => number, number, number])[])
  test(`mean and spread are right: ${name}`, (t) => {
    const found = moments(sample(one));
    t.true(Math.abs(found.mean - mean) < 0.03 * sd, `mean ${found.mean}`);
    t.true(Math.abs(found.sd / sd - 1) < 0.03, `spread ${found.sd}`);
  });

test('a Poisson draw with mean 0 is 0', (t) => {
  t.deepEqual(new Set(sample((draw) => poisson(draw, 0))), new Set([0]));
});
