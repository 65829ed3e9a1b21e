import test from 'ava';
import type { NowcastCase } from '../../pipeline/train/nowcast-fit.ts';
import { leadScores, type Material } from './nowcast-material.ts';

/** A case so far from a storm, on the path of its hail where that is near, told `said`, and what came at 15 minutes. */
function told(block: number, distance_km: number, said: number, came: boolean) {
  const one: NowcastCase = {
    block: String(block),
    distance_km,
    raw: { t15: 0.5, t30: 0.5, t45: 0.5 },
    course: { now_km: distance_km, path_km: { t15: distance_km, t30: distance_km, t45: distance_km } },
    now: false,
    struck: { t15: came, t30: null, t45: null },
  };
  return { one, forecast: { t15: said, t30: said, t45: said } };
}

function materialOf(rows: readonly ReturnType<typeof told>[]): Material {
  const said = rows.map(({ forecast }) => forecast);
  return { name: 'rows', cases: rows.map(({ one }) => one), said, published: said };
}

/** Ten blocks of four points: hail comes where its path is, in three of four blocks. */
const ROWS = Array.from({ length: 10 }, (_, block) => [
  told(block, 0.5, 0.8, block % 4 !== 0),
  told(block, 8, 0.1, false),
  told(block, 15, 0.1, block % 5 === 0),
  told(block, 15.1, 0.3, false),
]).flat();

test('points farther than 15 km from a storm are counted beside the scores and not in them', (t) => {
  const { scores, far } = leadScores('t15', materialOf(ROWS));
  t.is(scores?.cases, 30);
  t.deepEqual([far.cases, far.came], [10, 0]);
  t.true(Math.abs(far.said - 0.3) < 1e-12);
});

test('advection says two probabilities, of points on the path of hail and of others, learnt on other blocks', (t) => {
  const { scores } = leadScores('t15', materialOf(ROWS));
  const bins = scores?.rival_bins.advection ?? [];
  t.true(bins.length <= 4 && bins.every(({ said }) => said < 0.2 || said > 0.6));
  t.true((scores?.rival_brier.advection as number) < (scores?.rival_brier['base rate'] as number));
});

test('persistence says that nothing comes where no hail is now', (t) => {
  const { scores } = leadScores('t15', materialOf(ROWS));
  t.is(scores?.rival_brier.persistence, scores?.base_rate);
});

test('a lead that no scan reaches is not scored, and says so', (t) => {
  const { scores, why } = leadScores('t30', materialOf(ROWS));
  t.is(scores, null);
  t.is(why, 'the scans do not reach so far');
});

test('a lead at which nothing came is not scored, and says how many cases there were', (t) => {
  const { scores, why } = leadScores('t15', materialOf([1, 2, 3].map((block) => told(block, 3, 0.1, false))));
  t.is(scores, null);
  t.is(why, '3 cases, 0 struck, expected some of both');
});
