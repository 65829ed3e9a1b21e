import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { modelProbability, onCurve, type Predictors } from '../../../pipeline/detect/hail-model.ts';
import { PipelineError } from '../../../pipeline/error.ts';
import { publishedTrainingPairs } from '../../../pipeline/run/training-pairs.ts';
import { dayScores, type ScoredDay } from '../../../pipeline/train/day-scores.ts';
import { fitCurve, poolAdjacent } from '../../../pipeline/train/isotonic.ts';
import { fitLogistic, sigmoid } from '../../../pipeline/train/logistic.ts';
import { modelCard } from '../../../pipeline/train/model-card.ts';
import { type NowcastDay, nowcastBrier } from '../../../pipeline/train/nowcast-brier.ts';
import { liveSources, pointsAround } from '../../../pipeline/train/nowcast-points.ts';
import { ENOUGH, refitPublished } from '../../../pipeline/train/refit.ts';
import { reliabilitySvg } from '../../../pipeline/train/reliability-svg.ts';
import { fitSizeLaw, type ReportPair, reportPairs } from '../../../pipeline/train/report-pairs.ts';
import { measure } from '../../../pipeline/train/skill.ts';
import { startLaw, type TrainingSample, trainModel } from '../../../pipeline/train/train-model.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';
import { fitFor, nowcast } from '../../../schemas/nowcast/probability.ts';
import { driftingSquare } from '../../support/data/drifting-square.ts';
import { START } from '../../support/data/parting.ts';
import { midnight, publishedRoot } from '../../support/data/world.ts';
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

const NONE = {
  posh_pct: null,
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

test('a storm without a predictor is as likely as the cases of its MESH that lacked it, not as those that had it', (t) => {
  const known = cases(rising, 1200);
  const lacking: TrainingSample[] = known.map(({ predictors, group }) => ({
    source: 'probsevere',
    group: `other ${group}`,
    target: sigmoid(-1.3 + 3 * Math.log(predictors.mesh_mm / 25.4)),
    predictors: { ...NONE, mesh_mm: predictors.mesh_mm },
  }));
  const { model } = trainModel([...known, ...lacking], OPTIONS);
  const { shift } = model.terms.echo_top_50_above_freezing.missing;
  t.true(shift < -0.4 && shift > -1, `${shift}`); // the two differ by 1, and the fit is penalised
  for (const mesh_mm of [20, 25.4, 40]) {
    const known_echo = { ...NONE, mesh_mm, echo_top_50_above_freezing_km: 2.5 };
    t.true(Math.abs(modelProbability(model, known_echo).probability - rising(known_echo)) < 0.07);
    const alone = modelProbability(model, { ...NONE, mesh_mm }).probability;
    t.true(Math.abs(alone - sigmoid(-1.3 + 3 * Math.log(mesh_mm / 25.4))) < 0.07, `${mesh_mm} mm: ${alone}`);
  }
});

test('cases that lack a predictor by chance have hardly any shift', (t) => {
  const { model } = trainModel(
    cases(rising, 1200).map((sample, n) =>
      n % 3 === 0 ? { ...sample, predictors: { ...sample.predictors, echo_top_50_above_freezing_km: null } } : sample,
    ),
    OPTIONS,
  );
  t.true(Math.abs(model.terms.echo_top_50_above_freezing.missing.shift) < 0.05);
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

const REFERENCE = resolve(import.meta.dirname, '../../../data/reference');
const CARD = `${REFERENCE}/model-card.md`;

type Card = Parameters<typeof modelCard>;

test('the card beside the weights says what their training would write today', (t) => {
  const card = readFileSync(CARD, 'utf8');
  const [, date = ''] = /on (\d{4}-\d{2}-\d{2}), together/.exec(card) ?? [];
  const weights: Card[0] & { training: Card[1] } = JSON.parse(readFileSync(`${REFERENCE}/hail-model.json`, 'utf8'));
  const { training, ...model } = weights;
  t.is(card, modelCard(model, training, date));
});

const date = (n: number) => `2026-05-${String(1 + n).padStart(2, '0')}`;

/** So many pairs of radar and ProbSevere, dealt over dates. */
function samples(count: number, dates: number): TrainingSample[] {
  return Array.from({ length: count }, (_, n) => {
    const mesh_mm = 5 + ((n * 37) % 60);
    return {
      source: 'probsevere',
      group: date(n % dates),
      target: sigmoid(3 * Math.log(mesh_mm / 25.4)),
      predictors: {
        mesh_mm,
        posh_pct: null,
        echo_top_50_above_freezing_km: null,
        area_km2: null,
        growth_mm_per_min: null,
        duration_min: null,
      },
    };
  });
}

/** Reports that follow ln D = 1.5 + 0.5 ln MESH. */
function pairs(count: number, dates: number): ReportPair[] {
  return Array.from({ length: count }, (_, n) => {
    const mesh_mm = 10 + ((n * 13) % 50);
    return { date: date(n % dates), mesh_mm, size_mm: Math.exp(1.5 + 0.5 * Math.log(mesh_mm)) };
  });
}

async function target(t: ExecutionContext) {
  const out = await mkdtemp(join(tmpdir(), 'hail-refit-'));
  t.teardown(() => rm(out, { recursive: true }));
  return { out, seed: 1, date: '2026-06-01' };
}

test('too few pairs, or too few dates, change nothing and say what it takes', async (t) => {
  const { pairs: least, dates } = ENOUGH.probsevere;
  for (const material of [samples(least - 1, dates), samples(least, dates - 1)]) {
    const to = await target(t);
    const refit = await refitPublished(material, null, to);
    t.is(refit.report, null);
    t.is(refit.reports, null);
    t.like(refit.probsevere, { pairs: material.length, pairs_needed: least, dates_needed: dates, enough: false });
    t.deepEqual(await readdir(to.out), []);
  }
});

test('enough pairs of both kinds refit probability and size; the card says from how many', async (t) => {
  const to = await target(t);
  const reports = pairs(ENOUGH.reports.pairs, ENOUGH.reports.dates);
  const refit = await refitPublished(samples(ENOUGH.probsevere.pairs, ENOUGH.probsevere.dates), reports, to);
  t.true(refit.reports?.enough);
  t.deepEqual((await readdir(to.out)).sort(), ['hail-model.json', 'model-card.md', 'reliability.svg']);
  const { size_law } = JSON.parse(await readFile(join(to.out, 'hail-model.json'), 'utf8'));
  t.true(Math.abs(size_law.base - 1.5) < 1e-6 && Math.abs(size_law.slope - 0.5) < 1e-6);
  const card = await readFile(join(to.out, 'model-card.md'), 'utf8');
  t.true(card.includes('fitted to 300 ground reports'));
  t.false(card.includes('No ground report was used'));
  t.true(card.includes('![Reliability on cases held out](reliability.svg)'));
});

test('weights stay as they are when their card cannot be written', async (t) => {
  const to = await target(t);
  await mkdir(join(to.out, 'model-card.md'));
  await writeFile(join(to.out, 'hail-model.json'), 'those before');
  const refit = refitPublished(samples(ENOUGH.probsevere.pairs, ENOUGH.probsevere.dates), null, to);
  await t.throwsAsync(refit, { code: 'EISDIR' });
  t.is(await readFile(join(to.out, 'hail-model.json'), 'utf8'), 'those before');
  t.deepEqual(
    (await readdir(to.out)).filter((name) => name.endsWith('.part')),
    [],
  );
});

test('enough pairs of ProbSevere beside too few reports leave the law of sizes as it is', async (t) => {
  const to = await target(t);
  const refit = await refitPublished(samples(ENOUGH.probsevere.pairs, ENOUGH.probsevere.dates), pairs(10, 5), to);
  t.false(refit.reports?.enough);
  t.false('size_law' in JSON.parse(await readFile(join(to.out, 'hail-model.json'), 'utf8')));
});

test('every date left out is judged by a model and by a law that never saw it', async (t) => {
  const refit = await refitPublished(samples(ENOUGH.probsevere.pairs, ENOUGH.probsevere.dates), null, await target(t));
  const unseen = refit.report?.unseen ?? [];
  t.is(unseen.length, ENOUGH.probsevere.dates);
  t.true(unseen.every(({ law, printed_law }) => law < 0.005 && printed_law > 0.02)); // the samples follow another law
});

test('a report goes with the largest MESH within 8 km and a quarter of an hour, and with none farther off', (t) => {
  const at = { lat: 38, lon: -97 };
  const report = { storm_date: '2026-05-01', time: START, size_mm: 25.4, ...at };
  const seen = (minutes: number, lat: number, estimated_size_mm: number) => ({
    scan_time: START + minutes * 60_000,
    lat,
    lon: -97,
    estimated_size_mm,
  });
  const near = [seen(-14, 38.05, 30), seen(5, 38.01, 20), seen(16, 38, 90), seen(0, 38.1, 80)];
  t.deepEqual(reportPairs([report], near), [{ date: '2026-05-01', mesh_mm: 30, size_mm: 25.4 }]);
  t.deepEqual(reportPairs([report], near.slice(2)), []);
});

test('the card of published pairs says nothing of simulations, of few dates, or of objects that the printed law saw', async (t) => {
  const to = await target(t);
  await refitPublished(samples(ENOUGH.probsevere.pairs, ENOUGH.probsevere.dates), null, to);
  const card = await readFile(join(to.out, 'model-card.md'), 'utf8');
  t.true(card.includes('the model imitates another model there.\n'));
  for (const untrue of ['Simulated targets', 'In the simulator', 'few', 'has seen it', 'these very objects'])
    t.false(card.includes(untrue), untrue);
});

for (const [what, poisoned] of [
  ['fall with MESH', ({ mesh_mm }: ReportPair) => 1000 / mesh_mm],
  ['are nothing', ({ mesh_mm }: ReportPair) => (mesh_mm > 30 ? 0 : mesh_mm)],
] as const)
  test(`reports whose sizes ${what} are refused, and nothing is written`, async (t) => {
    const to = await target(t);
    const reports = pairs(ENOUGH.reports.pairs, ENOUGH.reports.dates);
    const wrong = reports.map((pair) => ({ ...pair, size_mm: poisoned(pair) }));
    const refit = refitPublished(samples(ENOUGH.probsevere.pairs, ENOUGH.probsevere.dates), wrong, to);
    await t.throwsAsync(refit, {
      instanceOf: PipelineError,
      message: /^train size law: sizes of 300 reports go with MESH/,
    });
    t.deepEqual(await readdir(to.out), []);
  });

test('no law of sizes follows from one MESH alone', (t) => {
  t.is(fitSizeLaw([]), null);
  t.is(fitSizeLaw(pairs(1, 1)), null);
});

test('simulated dates are counted and teach nothing; without a list of reports there is none', async (t) => {
  const found = await publishedTrainingPairs(await publishedRoot(t, await midnight()));
  t.deepEqual(found, { dates: [], simulated_dates: 2, samples: [], report_pairs: null });
});

test('the diagram has a circle for every bin and one for the legend, and no raw markup of its titles', (t) => {
  const bins = [
    { cases: 100, forecast: 0, observed: 0 },
    { cases: 25, forecast: 1, observed: 0.5 },
  ];
  const svg = reliabilitySvg('a < b', [{ title: 'storms & hail', bins }]);
  t.is(svg.match(/<circle /g)?.length, 3);
  t.true(svg.includes('cx="376.0" cy="200.0" r="6.0"'));
  t.true(svg.includes('a &lt; b') && svg.includes('storms &amp; hail, 125 cases held out'));
});

/** A square of hail of 30 mm, seen every two minutes, that goes so many columns east with each scan. */
const day = (scans: number, columns: number): NowcastDay =>
  driftingSquare({ scans, columns, speed_kmh: 25.6 * columns, direction_deg: 90 });

test('hail that stays where it is makes persistence perfect, and the probabilities less so', (t) => {
  const [t15, t30, t45] = nowcastBrier(day(25, 0));
  t.deepEqual(
    [t15, t30, t45].map((score) => [score?.lead_min, score?.baseline]),
    [
      [15, 0],
      [30, 0],
      [45, 0],
    ],
  );
  t.true((t15?.value as number) > 0 && (t15?.value as number) < 0.25, `${t15?.value}`);
});

test('the score is the mean square of what the service said less what came, hail looked for pixel by pixel', (t) => {
  const moving = day(25, 2);
  const [first] = moving.scan_times as [number];
  const storms = liveSources(
    moving.tracks.filter(({ scan_time }) => scan_time === first),
    moving.detections.filter(({ scan_time }) => scan_time === first),
  );
  const squares = pointsAround(storms, 0, 0).map((point) => {
    const said = nowcast(point, storms, first, fitFor('simulated')).t30;
    const came = moving.detections.some(
      (pixel) => pixel.scan_time >= first && pixel.scan_time <= first + 30 * 60_000 && distanceKm(pixel, point) <= 1,
    );
    return (said - Number(came)) ** 2;
  });
  const score = nowcastBrier(moving).find(({ lead_min }) => lead_min === 30);
  t.is(storms[0]?.seen.scan_count, 1, 'no track has two scans yet: the hail itself is asked about');
  t.is(score?.n, squares.length);
  t.true(squares.length > 0);
  t.true(
    Math.abs((score?.value as number) - squares.reduce((sum, square) => sum + square, 0) / squares.length) < 1e-12,
  );
});

test('a storm that a scan missed is asked about where it was seen last, as the service does, until it ends', (t) => {
  const seen = day(25, 0);
  const missed_ms = seen.scan_times[10] as number; // the second time that is asked: 20 minutes after the first scan
  const cases = (state: 'coasted' | 'ended') => {
    const tracks = seen.tracks
      .filter(({ scan_time }) => scan_time <= missed_ms)
      .map((row) => (row.scan_time === missed_ms ? { ...row, state, cell_index: null } : row));
    const detections = seen.detections.filter(({ scan_time }) => scan_time !== missed_ms);
    return nowcastBrier({ ...seen, tracks, detections }).find(({ lead_min }) => lead_min === 15)?.n;
  };
  // 4 points around hail without a track, in the first scan and after the end; 12 around the storm.
  t.deepEqual([cases('ended'), cases('coasted')], [4 + 4, 4 + 12]);
});

test('a lead that the scans do not reach, or only over a gap of more than ten minutes, has no score', (t) => {
  t.deepEqual(
    nowcastBrier(day(12, 1)).map(({ lead_min }) => lead_min),
    [15],
  );
  t.deepEqual(nowcastBrier(day(7, 1)), []);
  const whole = day(25, 1);
  const gap = (time: number) => time < whole.scan_times[6] || time > whole.scan_times[12];
  const cut = {
    ...whole,
    scan_times: whole.scan_times.filter(gap),
    tracks: whole.tracks.filter(({ scan_time }) => gap(scan_time)),
    detections: whole.detections.filter(({ scan_time }) => gap(scan_time)),
  };
  t.deepEqual(
    nowcastBrier(cut).map(({ lead_min }) => lead_min),
    [15],
  );
});

test('hail below 19 mm is no strike', (t) => {
  const small = day(25, 0);
  const detections = small.detections.map((pixel) => ({ ...pixel, estimated_size_mm: 18.9 }));
  for (const { baseline, value } of nowcastBrier({ ...small, detections })) {
    t.is(baseline, 0);
    t.true(value < 0.25);
  }
});

const SCANS = 25;
const KM_PER_COLUMN = 0.854; // at 40 N
const SPEED_KMH = 60 * KM_PER_COLUMN; // two columns in a scan of two minutes

/** A square of hail that drifts east, with the motion that its rows claim. */
const scoresDay = (claimed: { readonly speed_kmh: number; readonly direction_deg: number }) =>
  driftingSquare({ scans: SCANS, columns: 2, ...claimed });

function found(scored: ScoredDay, name: string, lead_min: number | null) {
  return dayScores(scored).find((score) => score.score === name && score.lead_min === lead_min);
}

test('a storm that goes where its motion says scores one, and its errors are none', (t) => {
  const steady = scoresDay({ speed_kmh: SPEED_KMH, direction_deg: 90 });
  t.is(found(steady, 'overlap_csi', 8)?.value, 1);
  t.is(found(steady, 'swath_csi', 15)?.value, 1);
  t.true((found(steady, 'position_error_km', 14)?.value as number) < 0.1);
  t.true((found(steady, 'direction_error_deg', 15)?.value as number) < 0.5);
  t.true((found(steady, 'straightness_km', null)?.value as number) < 0.01);
  t.is(found(steady, 'duration_min', null)?.value, 48);
});

test('a storm that goes east while its motion says north is off by 90 degrees and by the diagonal', (t) => {
  const wrong = scoresDay({ speed_kmh: SPEED_KMH, direction_deg: 0 });
  t.true(Math.abs((found(wrong, 'direction_error_deg', 15)?.value as number) - 90) < 0.5);
  const error = found(wrong, 'position_error_km', 14);
  const way_km = (14 / 60) * SPEED_KMH;
  t.true(Math.abs((error?.value as number) - way_km * Math.SQRT2) < 0.2, `${error?.value}`);
  t.true(Math.abs((error?.baseline as number) - way_km) < 0.2, `${error?.baseline}`);
  t.is(found(wrong, 'overlap_csi', 8)?.value, 0);
});

test('the baseline is the storm left where it is: of six columns four are the same after two minutes', (t) => {
  const steady = scoresDay({ speed_kmh: SPEED_KMH, direction_deg: 90 });
  t.is(found(steady, 'overlap_csi', 4)?.baseline, 12 / 60); // 2 of 6 columns: 12 pixels of 36 + 36 - 12
  t.is(found(steady, 'overlap_csi', 4)?.n, SCANS - 2);
});

test('a date without storms has no scores, and every score names its source', (t) => {
  const quiet = { ...scoresDay({ speed_kmh: 0, direction_deg: 0 }), tracks: [], detections: [] };
  t.deepEqual(dayScores(quiet), []);
  t.true(
    dayScores(scoresDay({ speed_kmh: 1, direction_deg: 0 })).every(({ data_source }) => data_source === 'simulated'),
  );
});
