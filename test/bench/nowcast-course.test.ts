import test from 'ava';
import { destination, distanceKm } from '../../schemas/geo/distance.ts';
import { DAY_MS } from '../support/data/rows.ts';
import { COURSE_MAX_KM, courseOf } from './nowcast-course.ts';

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
