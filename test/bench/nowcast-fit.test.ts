import test from 'ava';
import { weighed } from '../../api/rules/nowcast.ts';
import type { Case } from './nowcast-cases.ts';
import { fitLeads } from './nowcast-fit.ts';

/** A case at a distance from the path of the hail, and whether each lead came true. */
function caseAt(path_km: number, came: boolean | null): Case {
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
  const leads = fitLeads(CASES);
  const said = [0.5, 3, 20].map((km) => weighed(caseAt(km, null), leads).t15);
  for (const [n, came] of [0.8, 0.3, 0.02].entries()) t.true(Math.abs(said[n] - came) < 0.01);
});

test('a lead that no case reaches takes the weights of the lead before', (t) => {
  const leads = fitLeads(CASES);
  t.deepEqual(leads.t45, leads.t30);
  t.deepEqual(fitLeads(CASES.map((one) => ({ ...one, struck: { ...one.struck, t30: null } }))).t30, leads.t15);
});
