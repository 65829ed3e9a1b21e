import test from 'ava';
import { modelProbability, type Predictors } from '../../../pipeline/detect/model.ts';
import { PipelineError } from '../../../pipeline/error.ts';
import { sigmoid } from '../../../pipeline/train/logistic.ts';
import { measure } from '../../../pipeline/train/skill.ts';
import { startLaw, type TrainingSample, trainModel } from '../../../pipeline/train/train-model.ts';

const NONE = {
  posh_pct: null,
  vil_density_g_m3: null,
  echo_top_50_above_freezing_km: null,
  area_km2: null,
  growth_mm_per_min: null,
  duration_min: null,
};

/** Cases spread evenly over MESH and echo top, targets by a given law. */
function cases(law: (predictors: Predictors) => number, count = 600): TrainingSample[] {
  return Array.from({ length: count }, (_, n) => {
    const predictors = {
      ...NONE,
      mesh_mm: 8 + ((n * 37) % 60),
      echo_top_50_above_freezing_km: ((n * 53) % 100) / 20,
    };
    return { source: 'simulated', group: `evening-${n % 6}`, target: law(predictors), predictors };
  });
}
const rising = ({ mesh_mm, echo_top_50_above_freezing_km }: Predictors) =>
  sigmoid(-0.3 + 3 * Math.log(mesh_mm / 25.4) + 0.5 * ((echo_top_50_above_freezing_km ?? 2.5) - 2.5));
const OPTIONS = { version: 'hail-lr-test', seed: 1 };

test('the one-variable law has the stored values', (t) => {
  t.deepEqual(
    [10, 15, 19, 25.4, 30, 38, 50, 63].map((mesh_mm) => Math.round(100 * startLaw(mesh_mm)) / 100),
    [0.03, 0.1, 0.21, 0.44, 0.59, 0.77, 0.9, 0.95],
  );
});

test('a law of two predictors is found again, and held-out cases are calibrated', (t) => {
  const { model, report } = trainModel(cases(rising), OPTIONS);
  for (const mesh_mm of [12, 20, 25.4, 40, 60])
    for (const echo_top_50_above_freezing_km of [1, 4]) {
      const predictors = { ...NONE, mesh_mm, echo_top_50_above_freezing_km };
      const found = modelProbability(model, predictors).probability;
      t.true(
        Math.abs(found - rising(predictors)) < 0.04,
        `${mesh_mm} mm ${echo_top_50_above_freezing_km} km: ${found}`,
      );
    }
  t.true((report.held_out.simulated?.ece ?? 1) < 0.02);
  t.true((report.held_out.simulated?.skill_start ?? 0) > 0.5);
  t.is(report.held_out.probsevere, undefined);
});

test('the same samples and seed give the same bytes, other samples another hash', (t) => {
  const first = JSON.stringify(trainModel(cases(rising), OPTIONS));
  t.is(JSON.stringify(trainModel(cases(rising), OPTIONS)), first);
  const other = trainModel(cases(rising, 599), OPTIONS).report;
  t.not(other.training_sha256, trainModel(cases(rising), OPTIONS).report.training_sha256);
});

test('a predictor of intensity that would lower the probability is left out', (t) => {
  const { model } = trainModel(
    cases(({ mesh_mm, echo_top_50_above_freezing_km }) =>
      sigmoid(3 * Math.log(mesh_mm / 25.4) - 0.5 * (echo_top_50_above_freezing_km ?? 0)),
    ),
    OPTIONS,
  );
  t.is(model.terms.echo_top_50_above_freezing.weight, 0);
  t.true(model.terms.ln_mesh.weight > 0);
});

test('a predictor known in hardly any case has no weight', (t) => {
  const { model, report } = trainModel(
    cases(rising).map((sample, n) =>
      n < 49 ? { ...sample, predictors: { ...sample.predictors, area_km2: n + 1 } } : sample,
    ),
    OPTIONS,
  );
  t.is(report.known.ln_area, 49);
  t.is(model.terms.ln_area.weight, 0);
});

test('a material in which larger MESH means less hail is refused', (t) => {
  t.throws(
    () =>
      trainModel(
        cases(({ mesh_mm }) => sigmoid(-3 * Math.log(mesh_mm / 25.4))),
        OPTIONS,
      ),
    {
      instanceOf: PipelineError,
      message: /weight of MESH is negative/,
    },
  );
});

test('fewer than 50 samples are refused with their number', (t) => {
  t.throws(() => trainModel(cases(rising, 49), OPTIONS), {
    instanceOf: PipelineError,
    message: 'train small model: 49 samples, expected at least 50',
  });
});

test('scores of perfect and of constant forecasts are what they must be', (t) => {
  const outcomes = Array.from({ length: 100 }, (_, n) => (n % 4 === 0 ? 1 : 0));
  const held = (probability: (target: number) => number) =>
    outcomes.map((target, n) => ({ group: `g${n % 5}`, target, probability: probability(target), start: 0.25 }));
  const perfect = measure(
    held((target) => target),
    1,
  );
  t.like(perfect, { cases: 100, groups: 5, base_rate: 0.25, brier: 0, skill_climatology: 1, skill_start: 1, ece: 0 });
  const constant = measure(
    held(() => 0.35),
    1,
  );
  t.true(Math.abs(constant.brier - (0.25 * 0.65 ** 2 + 0.75 * 0.35 ** 2)) < 1e-12);
  t.true(constant.skill_climatology < 0);
});

test('the Brier score of five cases worked by hand is .116 at a base rate of .4', (t) => {
  const probabilities = [0.1, 0.1, 0.4, 0.4, 0.8];
  const targets = [0, 0, 0, 1, 1];
  const metrics = measure(
    probabilities.map((probability, n) => ({ group: 'g', target: targets[n], probability, start: 0.4 })),
    1,
  );
  t.true(Math.abs(metrics.brier - 0.116) < 1e-12);
  t.true(Math.abs(metrics.skill_climatology - (1 - 0.116 / 0.24)) < 1e-12);
});
