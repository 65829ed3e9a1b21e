import test from 'ava';
import { UsageError } from '../../../pipeline/error.ts';
import { fitLeads, type NowcastCase } from '../../../pipeline/train/nowcast-fit.ts';
import { weighed } from '../../../schemas/nowcast/probability.ts';

/** A case of a raw probability, and whether each lead came true. */
function caseOf(raw: number, came: boolean | null, evening = 'one'): NowcastCase {
  const path_km = 5;
  return {
    block: 'a',
    distance_km: path_km,
    evening,
    raw: { t15: raw, t30: raw, t45: raw },
    now: false,
    struck: { t15: came === true, t30: came, t45: null },
  };
}

/** So many cases of each raw probability, of which a share comes true. */
function cases(count: number, cameOf: (raw: number) => number, evening = 'one'): NowcastCase[] {
  return [0.05, 0.3, 0.8].flatMap((raw) =>
    Array.from({ length: count }, (_, n) => caseOf(raw, n < count * cameOf(raw), evening)),
  );
}

const CASES = cases(200, (raw) => raw);

function saidBy(learnt: readonly NowcastCase[], raw: number): number {
  return weighed(caseOf(raw, null).raw, fitLeads(learnt, 'cases')).t15;
}

test('raw probabilities that come true as often as they say are left as they are', (t) => {
  for (const raw of [0.05, 0.3, 0.8]) t.true(Math.abs(saidBy(CASES, raw) - raw) < 0.001);
});

test('fitted weights go a tenth of the way from the raw probability to how often hail came', (t) => {
  const half = cases(200, (raw) => raw / 2);
  for (const raw of [0.05, 0.3, 0.8]) t.true(Math.abs(saidBy(half, raw) - 0.95 * raw) < 0.01);
});

test('an evening of few cases counts as much as one of many', (t) => {
  const many = [...cases(1000, (raw) => raw / 2, 'one'), ...cases(200, (raw) => raw, 'two')];
  const alike = [...cases(200, (raw) => raw / 2, 'one'), ...cases(200, (raw) => raw, 'two')];
  for (const raw of [0.05, 0.3, 0.8]) t.true(Math.abs(saidBy(many, raw) - saidBy(alike, raw)) < 0.001);
});

test('a lead that no case reaches takes the weights of the lead before', (t) => {
  const leads = fitLeads(CASES, 'cases');
  t.deepEqual(leads.t45, leads.t30);
  const short = CASES.map((one) => ({ ...one, struck: { ...one.struck, t30: null } }));
  t.deepEqual(fitLeads(short, 'cases').t30, leads.t15);
});

for (const [name, cases, count] of [
  ['none', CASES.map((one) => ({ ...one, struck: { ...one.struck, t15: false } })), '0'],
  ['all', CASES.map((one) => ({ ...one, struck: { ...one.struck, t15: true } })), '600'],
] as const)
  test(`cases of which ${name} are struck are an error that names the material and counts both`, (t) => {
    t.throws(() => fitLeads(cases, '2 simulated evenings'), {
      instanceOf: UsageError,
      message: `nowcast weights: 2 simulated evenings have 600 cases of t15 with ${count} struck, expected some of both; give more of them`,
    });
  });

test('where the raw probability separates struck from spared cases the weights are finite and still tell them apart', (t) => {
  const apart = cases(50, (raw) => Number(raw > 0.5));
  const leads = fitLeads(apart, 'cases');
  for (const weight of Object.values(leads.t15)) t.true(Number.isFinite(weight) && Math.abs(weight) < 10);
  t.true(saidBy(apart, 0.8) > 0.8 && saidBy(apart, 0.05) < 0.05);
});
