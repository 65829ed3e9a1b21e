import test from 'ava';
import { crossValidated, recalibration, reliability, scoresOf, twoProbabilities } from './nowcast-scores.ts';

/** Forecasts p, each made 1000 times, of which a share `came(p)` comes true. */
function recalibrated(came: (p: number) => number) {
  const said = [0.01, 0.05, 0.2, 0.5, 0.8, 0.95];
  return recalibration(said.map((p) => ({ logit: Math.log(p / (1 - p)), cases: 1000, came: 1000 * came(p) })));
}

test('forecasts that come true as often as they say are recalibrated with slope 1 and intercept 0', (t) => {
  const { slope, intercept } = recalibrated((p) => p);
  t.true(Math.abs(slope - 1) < 1e-9 && Math.abs(intercept) < 1e-9);
});

test('recalibration recovers the logistic that what came follows', (t) => {
  const { slope, intercept } = recalibrated((p) => 1 / (1 + Math.exp(-(0.4 + 0.7 * Math.log(p / (1 - p))))));
  t.true(Math.abs(slope - 0.7) < 1e-9 && Math.abs(intercept - 0.4) < 1e-9);
});

test('saying nothing anywhere has no reliability to show, and no skill', (t) => {
  const came = Array.from({ length: 100 }, (_, n) => (n % 20 === 0 ? 1 : 0));
  const zeros = came.map(() => 0);
  const block = came.map((_, n) => String(n % 10));
  const { bins, skill } = scoresOf({ block, came, said: zeros, rivals: { 'base rate': came.map(() => 0.05) } });
  t.deepEqual(bins, []);
  t.true((skill['base rate']?.value ?? 1) < 0);
});

test('reliability leaves out what is said with less than .02', (t) => {
  t.deepEqual(reliability([0.019, 0.02, 0.04, 0.95], [1, 0, 1, 1]), [
    { cases: 2, said: 0.03, came: { value: 0.5, low: null, high: null } },
    { cases: 1, said: 0.95, came: { value: 1, low: null, high: null } },
  ]);
});

test('how often forecasts of a bin came true lies between what its blocks say', (t) => {
  const said = Array.from({ length: 300 }, () => 0.5);
  const came = said.map((_, n) => (n % 3 === 0 || n < 60 ? 1 : 0));
  const { bins } = scoresOf({ block: said.map((_, n) => String(Math.floor(n / 20))), came, said, rivals: {} });
  const [{ value, low, high }] = bins.map(({ came }) => came) as [{ value: number; low: number; high: number }];
  t.true(0.33 < low && low < value && value < high && high < 0.7);
});

test('the slope is that of single cases, though draws add up forecasts of about one logit', (t) => {
  const said = Array.from({ length: 600 }, (_, n) => 0.03 + (0.9 * n) / 600);
  const came = said.map((p, n) => ((n * 0.6180339887) % 1 < 0.1 + 0.7 * p ? 1 : 0));
  const { slope, intercept } = scoresOf({ block: said.map((_, n) => String(n % 30)), came, said, rivals: {} });
  const exact = recalibration(said.map((p, n) => ({ logit: Math.log(p / (1 - p)), cases: 1, came: came[n] })));
  t.true(Math.abs(slope.value - exact.slope) < 1e-3 && Math.abs(intercept.value - exact.intercept) < 1e-3);
  t.true((slope.low as number) < slope.value && slope.value < (slope.high as number));
});

test('skill is the share of the Brier score of a rival that is saved', (t) => {
  const { brier, rival_brier, skill } = scoresOf({
    block: ['a', 'a', 'b', 'b'],
    came: [1, 0, 1, 0],
    said: [0.8, 0.2, 0.8, 0.2],
    rivals: { even: [0.5, 0.5, 0.5, 0.5] },
  });
  t.true(Math.abs(brier - 0.04) < 1e-12);
  t.is(rival_brier.even, 0.25);
  t.true(Math.abs((skill.even?.value ?? 0) - 0.84) < 1e-12);
});

test('an interval is wider where what came alike hangs together', (t) => {
  const came = Array.from({ length: 400 }, (_, n) => (n < 200 ? 1 : 0));
  const rivals = { even: came.map(() => 0.5) };
  const width = (blockOf: (n: number) => number) => {
    const { skill } = scoresOf({
      block: came.map((_, n) => String(blockOf(n))),
      came,
      said: came.map(() => 0.7),
      rivals,
    });
    return (skill.even?.high ?? 0) - (skill.even?.low ?? 0);
  };
  t.true(width((n) => Math.floor(n / 10)) > 3 * width((n) => n % 40));
});

test('no case is forecast by what learnt from its own block', (t) => {
  const block = ['a', 'b', 'c', 'a', 'd', 'e', 'f'];
  const said = crossValidated(block, (learn) => (index) => (learn.some((n) => block[n] === block[index]) ? 1 : 0.25));
  t.deepEqual(
    said,
    block.map(() => 0.25),
  );
});

test('two probabilities are how often it came where a forecast held and where it did not', (t) => {
  const forecast = twoProbabilities([true, true, false, false, false], [1, 0, 0, 0, 1])([0, 1, 2, 3]);
  t.deepEqual([0, 4].map(forecast), [0.5, 0]);
});
