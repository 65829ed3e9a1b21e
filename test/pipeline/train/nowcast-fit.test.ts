import test from 'ava';
import { UsageError } from '../../../pipeline/error.ts';
import { fitLeads, type NowcastCase } from '../../../pipeline/train/nowcast-fit.ts';
import { weighed } from '../../../schemas/nowcast/probability.ts';

/** A case at a distance from the path of the hail, and whether each lead came true. */
function caseAt(path_km: number, came: boolean | null): NowcastCase {
  return {
    block: 'a',
    distance_km: path_km,
    raw: { t15: 0.2, t30: 0.2, t45: 0.2 },
    course: { now_km: path_km, path_km: { t15: path_km, t30: path_km, t45: path_km } },
    now: path_km <= 1,
    struck: { t15: came === true, t30: came, t45: null },
  };
}

const CASES = [0.5, 3, 20].flatMap((km, ring) =>
  Array.from({ length: 200 }, (_, n) => caseAt(km, n < 200 * ([0.8, 0.3, 0.02][ring] as number))),
);

test('fitted weights say of each place how often hail came there', (t) => {
  const leads = fitLeads(CASES, 'cases');
  const said = [0.5, 3, 20].map((km) => weighed(caseAt(km, null), leads).t15);
  for (const [n, came] of [0.8, 0.3, 0.02].entries()) t.true(Math.abs(said[n] - came) < 0.01);
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

test('where distance separates struck from spared cases the weights are finite and still tell them apart', (t) => {
  const apart = [0.5, 20].flatMap((km) => Array.from({ length: 50 }, () => caseAt(km, km < 1)));
  const leads = fitLeads(apart, 'cases');
  for (const weight of Object.values(leads.t15)) t.true(Number.isFinite(weight) && Math.abs(weight) < 10);
  t.true(weighed(caseAt(0.5, null), leads).t15 > 0.95 && weighed(caseAt(20, null), leads).t15 < 0.05);
});
