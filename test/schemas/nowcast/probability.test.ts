import test from 'ava';
import { destination } from '../../../schemas/geo/distance.ts';
import {
  fitFor,
  type NowcastStorm,
  nowcast,
  nowcastStorm,
  predictors,
  rawNowcast,
  survival,
  weighed,
} from '../../../schemas/nowcast/probability.ts';
import { NOWCAST_MODEL } from '../../../schemas/reference/nowcast-model.ts';
import { DAY_MS, trackPoint } from '../../support/data/rows.ts';

const AT = { lat: 39.995, lon: -99.995 };

test('hail of 19 to 25 mm is seldom there a quarter of an hour later, hail of 38 mm and more nearly always', (t) => {
  t.true(survival(15, 19) < 0.3 && survival(15, 25) < 0.6);
  t.true(survival(15, 38) > 0.85);
});

test('hail lives on less the longer the lead, and more the larger it is', (t) => {
  const leads = [0, 15, 30, 45].map((lead) => survival(lead, 30));
  t.deepEqual(
    leads,
    leads.toSorted((a, b) => b - a),
  );
  t.true(survival(30, 25) < survival(30, 38) && survival(30, 38) < survival(30, 63));
});

function storm(fields: Parameters<typeof trackPoint>[0] = {}): NowcastStorm {
  const seen = trackPoint({
    ...AT,
    scan_count: 8,
    duration_min: 20,
    estimated_size_mm: 30,
    confidence: 0.7,
    ...fields,
  });
  return nowcastStorm(seen, []);
}

test('without storms nothing strikes', (t) => {
  t.deepEqual(rawNowcast(AT, [], DAY_MS), { t15: 0, t30: 0, t45: 0 });
});

test('under the storm the raw probability is its survival times its confidence, for every lead', (t) => {
  const one = storm();
  const expected = survival(0, 30) * 0.7;
  const { t15, t30, t45 } = rawNowcast(AT, [one], DAY_MS);
  for (const value of [t15, t30, t45]) t.true(Math.abs(value - expected) < 1e-12);
});

test('two storms strike unless both spare the point', (t) => {
  const { t15: one } = rawNowcast(AT, [storm()], DAY_MS);
  const { t15: both } = rawNowcast(AT, [storm(), storm()], DAY_MS);
  t.true(Math.abs(both - (1 - (1 - one) ** 2)) < 1e-12);
});

test('a longer lead never strikes less, at any place around a storm', (t) => {
  for (let bearing = 0; bearing < 360; bearing += 45)
    for (const km of [2, 10, 25, 45]) {
      const { t15, t30, t45 } = nowcast(destination(AT, bearing, km), [storm()], DAY_MS, NOWCAST_MODEL.observed);
      t.true(t15 <= t30 && t30 <= t45);
    }
});

test('ahead of the storm strikes more than beside it, and behind it least', (t) => {
  const at = (bearing: number) => rawNowcast(destination(AT, bearing, 12), [storm({ direction_deg: 90 })], DAY_MS).t30;
  t.true(at(90) > at(45) && at(45) > at(270));
});

test('a storm seen five minutes ago is where its motion took it since', (t) => {
  const ahead = destination(AT, 90, 5); // 60 km/h for five minutes
  const late = DAY_MS + 5 * 60_000;
  t.true(rawNowcast(ahead, [storm()], late).t15 > 1.3 * rawNowcast(AT, [storm()], late).t15);
});

test('a young track spreads more: less ahead, more beside', (t) => {
  const young = storm({ scan_count: 3 });
  const ahead = destination(AT, 90, 20);
  const beside = destination(AT, 40, 14);
  t.true(rawNowcast(ahead, [young], DAY_MS).t30 < rawNowcast(ahead, [storm()], DAY_MS).t30);
  t.true(rawNowcast(beside, [young], DAY_MS).t30 > rawNowcast(beside, [storm()], DAY_MS).t30);
});

test('a storm of unknown motion may go anywhere', (t) => {
  const unknown = storm({ speed_kmh: null, direction_deg: null });
  const strikes = [0, 90, 180, 270].map((bearing) => rawNowcast(destination(AT, bearing, 8), [unknown], DAY_MS).t30);
  t.true(Math.min(...strikes) > 0.4 * Math.max(...strikes) && Math.min(...strikes) > 0);
});

const COURSE = { now_km: 0.4, path_km: { t15: 0.4, t30: 0.2, t45: 0.2 } };

test('the logistic of a lead goes by its raw probability, hail on its path, hail now, and the distance to its path', (t) => {
  const [raw, path, now, distance] = predictors({ raw: { t15: 0.5, t30: 0.6, t45: 0.7 }, course: COURSE }, 't15');
  t.deepEqual([raw, path, now, distance], [0, 1, 1, Math.log(1.4)]);
  const far = { now_km: 9, path_km: { t15: 6, t30: 1, t45: 1 } };
  t.deepEqual(predictors({ raw: { t15: 0, t30: 0.5, t45: 0.5 }, course: far }, 't15').slice(1), [0, 0, Math.log(7)]);
  t.deepEqual(predictors({ raw: { t15: 0, t30: 0.5, t45: 0.5 }, course: far }, 't30').slice(1), [1, 0, Math.log(2)]);
});

test('raw probabilities of 0 and 1 have scores that end', (t) => {
  for (const raw of [0, 1]) {
    const { t15 } = weighed({ raw: { t15: raw, t30: raw, t45: raw }, course: COURSE }, NOWCAST_MODEL.observed.leads);
    t.true(t15 > 0 && t15 < 1);
  }
});

test('a weighed probability is the logistic of its predictors, and never below that of a shorter lead', (t) => {
  const none = { base: 0, raw: 0, path: 0, now: 0, distance: 0 };
  const leads = { t15: { ...none, base: -1, now: 2 }, t30: { ...none, base: -1 }, t45: { ...none, path: 2 } };
  const { t15, t30, t45 } = weighed({ raw: { t15: 0.1, t30: 0.1, t45: 0.1 }, course: COURSE }, leads);
  t.is(t15, 1 / (1 + Math.exp(-1)));
  t.is(t30, t15);
  t.is(t45, 1 / (1 + Math.exp(-2)));
});

test('what was fitted on simulations holds for nothing but simulated data', (t) => {
  t.is(fitFor('simulated'), NOWCAST_MODEL.simulated);
  for (const source of ['observed', 'mixed', null] as const) t.is(fitFor(source), NOWCAST_MODEL.observed);
});

test('under hail that is there now a strike is likelier than beside it, and far away it is rare, by either fit', (t) => {
  const under = nowcastStorm(storm().seen, [AT, destination(AT, 90, 1), destination(AT, 180, 1)]);
  for (const fit of [NOWCAST_MODEL.observed, NOWCAST_MODEL.simulated]) {
    const at = (km: number) => nowcast(destination(AT, 0, km), [under], DAY_MS, fit).t15;
    t.true(at(0) > 0.5 && at(0) > at(4) && at(4) > at(12));
    t.true(at(45) < 0.03);
  }
});
