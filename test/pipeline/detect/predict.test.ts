import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import fc from 'fast-check';
import weights from '../../../data/reference/hail-model.json' with { type: 'json' };
import {
  FEATURES,
  type HailModel,
  modelProbability,
  type Predictors,
  vilDensity,
} from '../../../pipeline/detect/model.ts';
import { cellProbability, hailProbability, predictedSize } from '../../../pipeline/detect/predict.ts';
import type { ObjectMatch } from '../../../pipeline/detect/probsevere.ts';
import type { ProbSevereObject } from '../../../schemas/tables/probsevere.ts';

for (const [mesh_mm, size_mm] of [
  [10, 13.6],
  [19, 20.2],
  [25, 23.9],
  [38, 31],
  [50, 36.8],
  [63, 42.5],
  [75, 47.3],
  [100, 56.6],
] as const)
  test(`a MESH of ${mesh_mm} mm predicts a report of ${size_mm} mm`, (t) => t.is(predictedSize(mesh_mm), size_mm));

test('predicted sizes stay within 5 and 120 mm, and MESH counts up to 150 mm', (t) => {
  t.is(predictedSize(0.8), 5);
  t.is(predictedSize(680), predictedSize(150));
  t.true(predictedSize(680) <= 120);
});

const ALONE: Predictors = {
  mesh_mm: 25.4,
  posh_pct: null,
  vil_density_g_m3: null,
  echo_top_50_above_freezing_km: null,
  area_km2: null,
  growth_mm_per_min: null,
  duration_min: null,
};

const maybe = (min: number, max: number) => fc.option(fc.double({ min, max, noNaN: true }), { nil: null });
const others = fc.record({
  posh_pct: maybe(0, 100),
  vil_density_g_m3: maybe(0, 8),
  echo_top_50_above_freezing_km: maybe(-5, 15),
  area_km2: maybe(1, 5000),
  growth_mm_per_min: maybe(-10, 10),
  duration_min: maybe(0, 500),
});

test('the probability never falls when MESH rises, whatever else is known or missing', (t) => {
  fc.assert(
    fc.property(
      others,
      fc.double({ min: 1, max: 150, noNaN: true }),
      fc.double({ min: 1, max: 150, noNaN: true }),
      (rest, a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)].map(
          (mesh_mm) => hailProbability({ ...rest, mesh_mm }).probability,
        );
        t.true((low as number) <= (high as number));
        t.true((low as number) >= 0.005 && (high as number) <= 0.995);
      },
    ),
    { numRuns: 500 },
  );
});

test('with MESH alone the model stays within .16 of the one-variable law of ProbHail', (t) => {
  for (const mesh_mm of [10, 15, 19, 25.4, 30, 38, 50, 63]) {
    const law = 1 / (1 + Math.exp(0.26 - 3.63 * Math.log(mesh_mm / 25.4)));
    const { probability, out_of_range } = hailProbability({ ...ALONE, mesh_mm });
    t.true(Math.abs(probability - law) < 0.16, `${mesh_mm} mm: ${probability}, law ${law}`);
    t.false(out_of_range);
  }
});

test('a predictor outside what the model was fitted on is held at the edge and flagged', (t) => {
  const edge = hailProbability({ ...ALONE, area_km2: Math.exp(weights.terms.ln_area.high) });
  const far = hailProbability({ ...ALONE, area_km2: 1e6 });
  t.true(far.out_of_range);
  t.is(far.probability, edge.probability);
});

test('a missing predictor is taken at its mean beside such a MESH', (t) => {
  const term = { weight: 0, mean: 0, scale: 1, low: -100, high: 100, missing: { base: 0, slope: 0 } };
  const model: HailModel = {
    version: 'test',
    intercept: 0,
    terms: {
      ...(Object.fromEntries(FEATURES.map((feature) => [feature, term])) as HailModel['terms']),
      vil_density: { ...term, weight: 1, missing: { base: 0.5, slope: 2 } },
    },
    curve: { score: [0, 10], probability: [0, 1] },
  };
  const expected = 0.5 + 2 * Math.log(25.4);
  t.is(modelProbability(model, ALONE).probability, Math.round(expected * 1000) / 10_000);
  t.is(modelProbability(model, { ...ALONE, vil_density_g_m3: 3 }).probability, 0.3);
});

test('VIL density is VIL over the echo top, null when either is missing or the top is at the ground', (t) => {
  t.is(vilDensity(42, 12), 3.5);
  t.deepEqual([vilDensity(null, 12), vilDensity(42, null), vilDensity(42, 0)], [null, null, null]);
});

const match = (probability: number, capped: boolean): ObjectMatch => ({
  probsevere_id: '1',
  probability,
  capped,
  object: { model: 'probsevere-3' } as ProbSevereObject,
});

test('a cell with a ProbSevere object takes its probability and its model version', (t) => {
  t.deepEqual(cellProbability(ALONE, match(0.07, false)), {
    probability: 0.07,
    model_version: 'probsevere-3',
    out_of_range: false,
  });
});

test('a capped cell takes the smaller of its object and of the small model', (t) => {
  const own = hailProbability(ALONE);
  t.deepEqual(cellProbability(ALONE, match(0.99, true)), own);
  t.is(cellProbability(ALONE, match(0.01, true)).model_version, 'probsevere-3');
});

test('a cell without an object takes the small model, and the version says so', (t) => {
  const found = cellProbability(ALONE, null);
  t.deepEqual(found, hailProbability(ALONE));
  t.regex(found.model_version, /^hail-lr-\d/);
});

test('the weights are a small file with version, hash, seed and scores, and a curve of at most 30 knots', (t) => {
  t.true(statSync(fileURLToPath(new URL('../../../data/reference/hail-model.json', import.meta.url))).size < 10_000);
  t.regex(weights.training.training_sha256, /^[0-9a-f]{64}$/);
  t.is(weights.training.version, weights.version);
  t.true(Number.isInteger(weights.training.seed));
  t.true(weights.curve.score.length <= 30);
  for (const metrics of Object.values(weights.training.held_out)) t.true(metrics.ece <= 0.05);
});
