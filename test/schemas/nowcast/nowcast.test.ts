import test from 'ava';
import { destination, distanceKm } from '../../../schemas/geo/distance.ts';
import { colLon, rowLat } from '../../../schemas/geo/lattice.ts';
import { COURSE_MAX_KM, courseOf } from '../../../schemas/nowcast/course.ts';
import { footprint } from '../../../schemas/nowcast/footprint.ts';
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
import { normalQuantile, radicalInverse } from '../../../schemas/nowcast/quasi-random.ts';
import { arrivals, reachKm } from '../../../schemas/nowcast/swept-ellipse.ts';
import { NOWCAST_MODEL } from '../../../schemas/reference/nowcast-model.ts';
import { DAY_MS, trackPoint } from '../../support/data/rows.ts';

const AT = { lat: 39.995, lon: -99.995 };
/** 60 km/h towards east: a kilometre a minute. */
const EAST = { scan_time: DAY_MS, speed_kmh: 60, direction_deg: 90 };

/** Bearing and distance of the hail from the point; then how near it is now, and within 15, 30 and 45 min. */
const COURSES = [
  [270, 10, 10, 0, 0, 0],
  [270, 20, 20, 5, 0, 0],
  [90, 5, 5, 5, 5, 5],
  [0, 4, 4, 4, 4, 4],
] as const;

for (const [bearing, km, now_km, t15, t30, t45] of COURSES)
  test(`hail ${km} km off at ${bearing} degrees that moves east at 60 km/h comes within ${t15}, ${t30} and ${t45} km`, (t) => {
    const course = courseOf(AT, [{ seen: EAST, hail: [destination(AT, bearing, km)] }], DAY_MS);
    const found = [course.now_km, course.path_km.t15, course.path_km.t30, course.path_km.t45];
    t.deepEqual(
      found.map((value) => Math.round(10 * value) / 10),
      [now_km, t15, t30, t45],
    );
  });

test('hail of a scan four minutes ago has moved on by now', (t) => {
  const { now_km } = courseOf(AT, [{ seen: EAST, hail: [destination(AT, 270, 10)] }], DAY_MS + 4 * 60_000);
  t.true(Math.abs(now_km - 6) < 0.02);
});

test('the nearest pixel of any storm counts', (t) => {
  const storms = [
    { seen: EAST, hail: [destination(AT, 0, 20), destination(AT, 0, 12)] },
    { seen: { ...EAST, direction_deg: 0 }, hail: [destination(AT, 180, 25)] },
  ];
  const { now_km, path_km } = courseOf(AT, storms, DAY_MS);
  t.deepEqual(
    [now_km, path_km.t15, path_km.t30].map((value) => Math.round(10 * value) / 10),
    [12, 10, 0],
  );
});

test('hail of unknown motion stays where it is', (t) => {
  const seen = { scan_time: DAY_MS, speed_kmh: null, direction_deg: null };
  const { now_km, path_km } = courseOf(AT, [{ seen, hail: [destination(AT, 45, 7)] }], DAY_MS + 10 * 60_000);
  t.is(now_km, path_km.t45);
  t.true(Math.abs(now_km - 7) < 0.02);
});

test('without hail near, the course is as far as it may be', (t) => {
  const far = { now_km: COURSE_MAX_KM, path_km: { t15: COURSE_MAX_KM, t30: COURSE_MAX_KM, t45: COURSE_MAX_KM } };
  t.deepEqual(courseOf(AT, [], DAY_MS), far);
  t.deepEqual(courseOf(AT, [{ seen: EAST, hail: [destination(AT, 90, 200)] }], DAY_MS), far);
});

test('distances are those of the geodesic within a hundredth, at any latitude of the lattice', (t) => {
  for (const lat of [21, 35, 49, 54])
    for (const bearing of [30, 120, 225, 300]) {
      const pixel = destination({ lat, lon: -90 }, bearing, 25);
      const { now_km } = courseOf({ lat, lon: -90 }, [{ seen: { ...EAST, speed_kmh: null }, hail: [pixel] }], DAY_MS);
      t.true(Math.abs(now_km - distanceKm({ lat, lon: -90 }, pixel)) < 0.25);
    }
});

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

const SPREAD = { speed_error_kmh: 12, direction_error_deg: 18 };

/** Point east and north, speed, direction, lead, axes (the major one towards east); shares with 256 points and by Monte Carlo. */
const REFERENCE = [
  [10, 0, 40, 90, 15, 4, 2, 0.4609, 0.457],
  [10, 3, 40, 90, 30, 4, 2, 0.3359, 0.339],
  [20, 5, 50, 90, 30, 5, 3, 0.2617, 0.263],
  [25, 0, 60, 90, 45, 6, 3, 0.3086, 0.31],
  [25, 10, 60, 90, 45, 6, 3, 0.1602, 0.16],
  [15, -8, 30, 120, 45, 3, 3, 0.3477, 0.352],
] as const;

for (const [east_km, north_km, speed_kmh, direction_deg, lead, major_km, minor_km, share, random] of REFERENCE)
  test(`a storm at ${speed_kmh} km/h towards ${direction_deg} reaches (${east_km}, ${north_km}) in ${lead} min in ${share} of its futures`, (t) => {
    const times = arrivals(
      { east_km, north_km },
      { major_km, minor_km, orientation_deg: 90 },
      { speed_kmh, direction_deg, ...SPREAD },
      0,
      lead,
    );
    const hit = times.filter((time) => !Number.isNaN(time));
    t.is(Math.round((10_000 * hit.length) / times.length) / 10_000, share);
    t.true(Math.abs(hit.length / times.length - random) <= 0.006);
    t.true(hit.every((time) => time >= 0 && time <= lead));
  });

test('a point under the storm is reached at once by every future', (t) => {
  const motion = { speed_kmh: 50, direction_deg: 45, ...SPREAD };
  const times = arrivals({ east_km: 0, north_km: 0 }, { major_km: 4, minor_km: 2, orientation_deg: 0 }, motion, 0, 15);
  t.true(times.every((time) => time === 0));
});

test('arrival times follow from distance and speed when nothing is uncertain', (t) => {
  const motion = { speed_kmh: 60, direction_deg: 0, speed_error_kmh: 0, direction_error_deg: 0 };
  const circle = { major_km: 2, minor_km: 2, orientation_deg: 0 };
  const times = arrivals({ east_km: 0, north_km: 20 }, circle, motion, 0, 60);
  // At 1 km a minute the front of the circle, 2 km exp(0.2 z) ahead, comes after about 18 minutes.
  const sorted = [...times].sort((a, b) => a - b);
  t.true(Math.abs(sorted[128] - 18) < 0.05);
  t.true(sorted.every((time) => time > 20 - 2 * Math.exp(0.2 * 3) && time < 20));
});

test('a storm that moves away never comes', (t) => {
  const motion = { speed_kmh: 60, direction_deg: 180, speed_error_kmh: 5, direction_error_deg: 5 };
  const times = arrivals({ east_km: 0, north_km: 20 }, { major_km: 3, minor_km: 3, orientation_deg: 0 }, motion, 0, 45);
  t.true(times.every(Number.isNaN));
});

test('the normal quantile meets its table', (t) => {
  for (const [probability, value] of [
    [0.5, 0],
    [0.975, 1.959963984540054],
    [0.99, 2.3263478740408408],
    [0.001, -3.090232306167813],
  ] as const)
    t.true(Math.abs(normalQuantile(probability) - value) < 1e-8);
});

test('the Halton sequence begins as published', (t) => {
  t.deepEqual(
    [1, 2, 3, 4, 5, 6].map((index) => radicalInverse(index, 2)),
    [0.5, 0.25, 0.75, 0.125, 0.625, 0.375],
  );
  t.deepEqual(
    [1, 2, 3].map((index) => radicalInverse(index, 3).toFixed(6)),
    ['0.333333', '0.666667', '0.111111'],
  );
});

test('a point out of reach is reached in no future, and one as far as the fastest and largest goes is reached in some', (t) => {
  const motion = { speed_kmh: 50, direction_deg: 90, ...SPREAD };
  const circle = { major_km: 4, minor_km: 4, orientation_deg: 0 };
  const reach = reachKm(circle, motion, 45);
  const reachedAt = (km: number) =>
    arrivals({ east_km: km, north_km: 0 }, circle, motion, 0, 45).some((time) => !Number.isNaN(time));
  t.false(reachedAt(reach));
  t.true(reachedAt(0.8 * reach));
});

/** Pixels of a block of the lattice around 39.995 N, 99.995 W. */
function block(rows: number, cols: number) {
  return Array.from({ length: rows * cols }, (_, index) => ({
    lat: rowLat(1500 + Math.floor(index / cols)),
    lon: colLon(3000 + (index % cols)),
  }));
}

test('no pixel and one pixel are circles of 1.5 km', (t) => {
  const centre = { lat: 40, lon: -100 };
  t.deepEqual(footprint([], centre), { centre, ellipse: { major_km: 1.5, minor_km: 1.5, orientation_deg: 0 } });
  t.like(footprint(block(1, 1), centre).ellipse, { major_km: 1.5, minor_km: 1.5 });
});

test('a long block north to south is an ellipse of its second moments, pointing north', (t) => {
  const { centre, ellipse } = footprint(block(21, 3), { lat: 0, lon: 0 });
  t.true(Math.abs(centre.lat - 39.895) < 1e-9 && Math.abs(centre.lon - -99.985) < 1e-9);
  // Variance of 21 equal steps of 1.1103 km: (21^2 - 1) / 12 x 1.1103^2; the semi-axis is twice its root.
  t.true(Math.abs(ellipse.major_km - 2 * 1.1103 * Math.sqrt(440 / 12)) < 0.01);
  t.is(ellipse.minor_km, 1.5);
  t.true(Math.min(ellipse.orientation_deg, 180 - ellipse.orientation_deg) < 1e-6);
});

test('a block west to east points east, one along the diagonal north-east', (t) => {
  t.true(Math.abs(footprint(block(3, 21), { lat: 0, lon: 0 }).ellipse.orientation_deg - 90) < 1e-6);
  const diagonal = Array.from({ length: 15 }, (_, k) => ({ lat: rowLat(1500 - k), lon: colLon(3000 + k) }));
  // A step is 1.1103 km north and 0.8545 km east.
  const expected = (Math.atan2(0.8545, 1.1103) * 180) / Math.PI;
  t.true(Math.abs(footprint(diagonal, { lat: 0, lon: 0 }).ellipse.orientation_deg - expected) < 0.3);
});
