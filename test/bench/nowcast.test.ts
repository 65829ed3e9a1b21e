import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { UsageError } from '../../pipeline/error.ts';
import { weighed } from '../../schemas/nowcast/probability.ts';
import { NOWCAST_MODEL } from '../../schemas/reference/nowcast-model.ts';
import { sharedTest } from '../support/data/shared-data.ts';
import { nowcast } from './nowcast.ts';
import type { BenchCase } from './nowcast-cases.ts';
import { type RainFrame, rainFrames } from './nowcast-frames.ts';
import { type LeadScores, leadScores, type Material, type Reading, realMaterial } from './nowcast-material.ts';
import { fitModel } from './nowcast-model-file.ts';
import { leadQualities } from './nowcast-quality.ts';
import { crossValidated, recalibration, reliability, scoresOf } from './nowcast-scores.ts';
import { LEGEND, leadTable, type Row, shown } from './nowcast-table.ts';
import { fitLeads, type NowcastCase, nowcastModelText } from './train/nowcast-fit.ts';

test('a folder without two PrecipRate files is an error that counts them', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'hail-frames-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'MRMS_MESH_00.50_20240228-025239.grib2'), '');
  t.throws(() => rainFrames(folder), {
    instanceOf: UsageError,
    message: `--real ${folder} holds 0 PrecipRate files, expected at least 2`,
  });
});

for (const [args, message] of [
  [['--evenings', '0'], "--evenings is '0', expected a whole number from 1 to 999"],
  [['--seed', '-1'], "--seed is '-1', expected a whole number from 0 to 999999"],
  [['--every', '2.5'], "--every is '2.5', expected whole minutes from 0 to 99"],
] as const)
  test(`nowcast ${args.join(' ')} is a usage error`, async (t) => {
    await t.throwsAsync(nowcast([...args]), { instanceOf: UsageError, message });
  });

/** What baselines know of a point so far from the path of hail, without hail now. */
function rivalsAt(km: number): BenchCase['rivals'] {
  const [passes, share] = [km <= 1, Math.max(0, 1 - km / 10)];
  const shares = { t15: share, t30: share, t45: share };
  return { persistence: false, advection: { t15: passes, t30: passes, t45: passes }, lagrangian: shares, flow: shares };
}

/** A case so far from a storm, on the path of its hail where that is near, told `said`, and what came at 15 minutes. */
function told(block: number, distance_km: number, said: number, came: boolean) {
  const one: BenchCase = {
    block: String(block),
    distance_km,
    evening: 'one',
    raw: { t15: 0.5, t30: 0.5, t45: 0.5 },
    rivals: rivalsAt(distance_km),
    now: false,
    struck: { t15: came, t30: null, t45: null },
  };
  return { one, forecast: { t15: said, t30: said, t45: said } };
}

function materialOf(rows: readonly ReturnType<typeof told>[]): Material {
  const forecasts = rows.map(({ forecast }) => forecast);
  const said = [{ weights: 'published', forecasts, why: null }] as const;
  return { name: 'rows', cases: rows.map(({ one }) => one), said, others: [] };
}

/** Ten blocks of four points: hail comes where its path is, in three of four blocks. */
const ROWS = Array.from({ length: 10 }, (_, block) => [
  told(block, 0.5, 0.8, block % 4 !== 0),
  told(block, 8, 0.1, false),
  told(block, 15, 0.1, block % 5 === 0),
  told(block, 15.1, 0.3, false),
]).flat();

test('points farther than 15 km from a storm are counted beside the scores and not in them', (t) => {
  const [published] = leadScores('t15', materialOf(ROWS)).byWeights;
  t.is(published?.scores.cases, 30);
  t.deepEqual([published?.far.cases, published?.far.came], [10, 0]);
  t.true(Math.abs((published?.far.said ?? 0) - 0.3) < 1e-12);
});

test('advection says two probabilities, of points on the path of hail and of others, learnt on other blocks', (t) => {
  const { byWeights, learnt_from } = leadScores('t15', materialOf(ROWS));
  const { rival_bins = {}, rival_brier = {} } = byWeights[0]?.scores ?? {};
  const bins = rival_bins.advection ?? [];
  t.true(bins.length <= 4 && bins.every(({ said }) => said < 0.2 || said > 0.6));
  t.true((rival_brier.advection as number) < (rival_brier['base rate'] as number));
  t.is(learnt_from, 'other blocks');
});

test('baselines learn from other evenings where there are some, and from nothing of the evening itself', (t) => {
  const others = [told(1, 0.5, 0.5, true), told(1, 0.6, 0.5, false), told(1, 9, 0.5, false)].map(({ one }) => one);
  const { byWeights, learnt_from } = leadScores('t15', { ...materialOf(ROWS), others });
  const bins = byWeights[0]?.scores.rival_bins.advection ?? [];
  t.is(learnt_from, 'other evenings');
  t.deepEqual(
    bins.map(({ said }) => said),
    [0.5],
  );
});

test('persistence says that nothing comes where no hail is now', (t) => {
  const scores = leadScores('t15', materialOf(ROWS)).byWeights[0]?.scores;
  t.is(scores?.rival_brier.persistence, scores?.base_rate);
});

test('the best baseline is the one with the lowest Brier score', (t) => {
  const { best, byWeights } = leadScores('t15', materialOf(ROWS));
  const brier = byWeights[0]?.scores.rival_brier ?? {};
  for (const rival of ['persistence', 'advection', 'lagrangian', 'flow'])
    t.true((brier[best] as number) <= (brier[rival] as number));
});

test('a lead that no scan reaches is not scored, and says so', (t) => {
  const { byWeights, why } = leadScores('t30', materialOf(ROWS));
  t.deepEqual([byWeights, why], [[], ['no frames show what came by then']]);
});

test('a lead at which nothing came is not scored, and says how many cases there were', (t) => {
  const { byWeights, why } = leadScores('t15', materialOf([1, 2, 3].map((block) => told(block, 3, 0.1, false))));
  t.deepEqual([byWeights, why], [[], ['3 cases, 0 struck, expected some of both']]);
});

/** A hundred cases over ten blocks, near hail and far from it, of which a share near it is struck at both shorter leads. */
function casesOf(share: number): BenchCase[] {
  return Array.from({ length: 100 }, (_, n) => {
    const km = n % 2 === 0 ? 0.5 : 12;
    const struck = km < 1 && (n * 0.6180339887) % 1 < share;
    return {
      block: String(n % 10),
      distance_km: km,
      evening: 'one',
      raw: { t15: 0.3, t30: 0.3, t45: 0.3 },
      rivals: rivalsAt(km),
      now: km < 1,
      struck: { t15: struck, t30: struck, t45: null },
    };
  });
}

/** Readings of evenings by so many shares. */
function readingsOf(shares: readonly number[]): Reading[] {
  return shares.map((share, n) => ({
    name: `evening ${n} hail`,
    evening: `evening ${n}`,
    standIn: 'hail',
    cases: casesOf(share),
  }));
}

test('weights of the other evenings never learn from the evening itself', (t) => {
  const readings = readingsOf([0.2, 0.9, 0.9]);
  const material = realMaterial(readings[0] as Reading, readings, NOWCAST_MODEL.observed);
  const others = material.said.find(({ weights }) => weights === 'other evenings')?.forecasts ?? [];
  const near = readings[0]?.cases[0] as NowcastCase;
  t.is(others[0]?.t15, weighed(near.raw, fitLeads([...casesOf(0.9), ...casesOf(0.9)], 'the others')).t15);
  t.is(material.others.length, 200);
});

test('weights that cannot be learnt say why, and the others are scored', (t) => {
  const readings = readingsOf([0.4, 0]);
  const material = realMaterial(readings[0] as Reading, readings, NOWCAST_MODEL.observed);
  const { byWeights, why } = leadScores('t15', material);
  t.deepEqual(
    byWeights.map(({ weights }) => weights),
    ['published', 'other regions'],
  );
  t.regex(why.join(), /the evenings but evening 0 have 100 cases of t15 with 0 struck/);
});

test('a single evening has no weights of other evenings, and says nothing of quality', (t) => {
  const readings = readingsOf([0.4]);
  const { said } = realMaterial(readings[0] as Reading, readings, NOWCAST_MODEL.observed);
  t.deepEqual(
    said.map(({ weights }) => weights),
    ['published', 'other regions'],
  );
  t.deepEqual(leadQualities(readings), { t15: [], t30: [], t45: [] });
});

test('each evening says of each lead that its frames reach how its weights did against the best baseline', (t) => {
  const { t15, t30, t45 } = leadQualities(readingsOf([0.4, 0.6]));
  for (const evenings of [t15, t30]) {
    t.deepEqual(
      evenings.map(({ evening }) => evening),
      ['evening 0', 'evening 1'],
    );
    for (const { low, high } of evenings) t.true(low !== null && high !== null && low <= high);
  }
  t.deepEqual(t45, []);
});

const RATES = {
  window: { row0: 0, col0: 0, rows: 0, cols: 0 },
  rowStart: new Uint32Array(1),
  col: new Uint16Array(0),
  tenths: new Uint16Array(0),
  covered_px: 0,
  uncovered_px: 0,
};
const FRAMES: RainFrame[] = ['00:00', '00:38'].map((clock) => ({
  scan_time: Date.parse(`2019-06-10T${clock}:00Z`),
  rates: RATES,
}));

test('the coefficient file is what the bench writes of it', (t) => {
  t.is(
    nowcastModelText(NOWCAST_MODEL),
    readFileSync(new URL('../../data/reference/nowcast-model.json', import.meta.url), 'utf8'),
  );
});

sharedTest(
  'weights for observed data come from real cases alone, those for simulated data from simulated alone',
  (t) => {
    const evenings = [{ name: '2019-06-10', sequences: [FRAMES] }];
    const readings = readingsOf([0.4]);
    const model = fitModel(evenings, readings, casesOf(0.9), '2 simulated evenings');
    t.deepEqual(model.observed.leads, fitLeads(casesOf(0.4), 'real cases'));
    t.deepEqual(model.simulated.leads, fitLeads(casesOf(0.9), 'simulated cases'));
    t.regex(model.observed.material.source, /^38 minutes \(2019-06-10\) of rain rates/);
    t.deepEqual([model.observed.material.cases, model.observed.material.blocks], [100, 10]);
    t.is(model.simulated.material.source, '2 simulated evenings');
    t.deepEqual(model.quality.t15, []);
  },
);

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
    { cases: 2, said: 0.03, came: 0.5 },
    { cases: 1, said: 0.95, came: 1 },
  ]);
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

const came = Array.from({ length: 200 }, (_, n) => (n % 4 === 0 || n < 20 ? 1 : 0));
const said = came.map((value, n) => 0.1 + 0.3 * value + 0.004 * ((n * 37) % 100));
const rivals = Object.fromEntries(
  ['persistence', 'advection', 'lagrangian', 'flow', 'not weighed', 'base rate'].map((name) => [
    name,
    came.map(() => 0.3),
  ]),
);
const scores = scoresOf({ block: came.map((_, n) => String(n % 12)), came, said, rivals });
const FAR = { cases: 7, said: 0.01, came: 0 };
const UNSCORED: LeadScores = { byWeights: [], best: 'flow', learnt_from: 'other blocks', why: ['no frames'] };
const TABLE_ROWS: Row[] = [
  {
    name: '2019-06-10 hail',
    byWeights: (['published', 'other evenings'] as const).map((weights) => ({ weights, scores, far: FAR })),
    best: 'flow',
    learnt_from: 'other evenings',
    why: [],
  },
  { name: '2015-05-15 cores', ...UNSCORED },
];

test('the table of a lead shows the published weights first, with intervals of slope, intercept and skill over four baselines', (t) => {
  const lines = leadTable('t15', TABLE_ROWS).split('\n');
  t.regex(lines[1] as string, /^ {2}PUBLISHED WEIGHTS +Brier/);
  const interval = '-?\\d\\.\\d\\d \\[-?\\d\\.\\d\\d, -?\\d\\.\\d\\d\\]';
  t.regex(lines[2] as string, new RegExp(`^ {4}2019-06-10 hail .* ${interval} +${interval} +\\d+ % `));
  t.regex(lines[4] as string, new RegExp(`^ {4}2019-06-10 hail +(${interval} +){4}flow$`));
  t.true(lines.findIndex((line) => line.includes('other evenings')) > 4);
});

test('tables stay within 120 columns', (t) => {
  const wide = { value: -1.234, low: -9.34, high: -1.23 };
  const widest = { ...scores, slope: wide, intercept: wide, skill: { ...scores.skill, flow: wide, persistence: wide } };
  const table = leadTable('t15', [
    { ...(TABLE_ROWS[0] as Row), byWeights: [{ weights: 'published', scores: widest, far: FAR }], best: 'lagrangian' },
  ]);
  for (const line of [...table.split('\n'), ...LEGEND]) t.true(line.length <= 120, line);
});

test('the table of a lead names what is not scored, and why', (t) => {
  t.true(leadTable('t30', TABLE_ROWS).includes('not scored: 2015-05-15 cores: no frames'));
});

test('a lead that nothing can be scored on has no rows without figures', (t) => {
  t.is(leadTable('t45', TABLE_ROWS.slice(1)), 't45\n  not scored: 2015-05-15 cores: no frames');
});

test('a figure that is not to be had is a dash', (t) => {
  t.is(shown({ value: Number.NaN, low: null, high: null }), '-');
  t.is(shown({ value: 0.5, low: null, high: null }), '0.500');
});
