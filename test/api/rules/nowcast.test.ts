import test from 'ava';
import { type NowcastStorm, nowcast, nowcastStorm, onCurve, rawNowcast, survival } from '../../../api/rules/nowcast.ts';
import { travel } from '../../../schemas/geo/distance.ts';
import { NOWCAST_CALIBRATION } from '../../../schemas/reference/nowcast-calibration.ts';
import { DAY_MS, trackPoint } from '../../support/data/rows.ts';

const AT = { lat: 39.995, lon: -99.995 };

/** Lead, size, growth, duration, area: survival of SCIENCE.md, "Nowcast". */
const SURVIVAL = [
  [15, 25, 0, 20, 15, 0.94],
  [30, 25, 0, 20, 15, 0.873],
  [45, 25, 0, 20, 15, 0.75],
  [15, 19, -1, 6, 6, 0.811],
  [45, 19, -1, 6, 6, 0.452],
  [45, 50, 1, 60, 40, 0.952],
] as const;

for (const [lead, estimated_size_mm, growth, duration_min, area_km2, expected] of SURVIVAL)
  test(`a storm of ${estimated_size_mm} mm growing ${growth} mm/min for ${duration_min} min lives ${lead} min more with ${expected}`, (t) => {
    const storm = { estimated_size_mm, size_growth_rate_mm_per_min: growth, duration_min, area_km2 };
    t.is(Math.round(1000 * survival(lead, storm)) / 1000, expected);
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
  const expected = survival(0, one.seen) * 0.7;
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
      const { t15, t30, t45 } = nowcast(travel(AT, bearing, km), [storm()], DAY_MS);
      t.true(t15 <= t30 && t30 <= t45);
    }
});

test('ahead of the storm strikes more than beside it, and behind it least', (t) => {
  const at = (bearing: number) => rawNowcast(travel(AT, bearing, 12), [storm({ direction_deg: 90 })], DAY_MS).t30;
  t.true(at(90) > at(45) && at(45) > at(270));
});

test('a storm seen five minutes ago is where its motion took it since', (t) => {
  const ahead = travel(AT, 90, 5); // 60 km/h for five minutes
  const late = DAY_MS + 5 * 60_000;
  t.true(rawNowcast(ahead, [storm()], late).t15 > 1.3 * rawNowcast(AT, [storm()], late).t15);
});

test('a young track spreads more: less ahead, more beside', (t) => {
  const young = storm({ scan_count: 3 });
  const ahead = travel(AT, 90, 20);
  const beside = travel(AT, 40, 14);
  t.true(rawNowcast(ahead, [young], DAY_MS).t30 < rawNowcast(ahead, [storm()], DAY_MS).t30);
  t.true(rawNowcast(beside, [young], DAY_MS).t30 > rawNowcast(beside, [storm()], DAY_MS).t30);
});

test('a storm of unknown motion may go anywhere', (t) => {
  const unknown = storm({ speed_kmh: null, direction_deg: null });
  const strikes = [0, 90, 180, 270].map((bearing) => rawNowcast(travel(AT, bearing, 8), [unknown], DAY_MS).t30);
  t.true(Math.min(...strikes) > 0.4 * Math.max(...strikes) && Math.min(...strikes) > 0);
});

test('the calibration rises and stays within 0 and 1 at every lead', (t) => {
  for (const { raw, probability } of Object.values(NOWCAST_CALIBRATION.leads)) {
    t.is(raw.length, probability.length);
    for (const values of [raw, probability]) {
      t.deepEqual(
        values,
        values.toSorted((a, b) => a - b),
      );
      t.true(values.every((value) => value >= 0 && value <= 1));
    }
  }
});

test('a curve is constant outside its knots and straight between them', (t) => {
  const curve = { raw: [0.2, 0.4], probability: [0.1, 0.5] };
  t.deepEqual(
    [0, 0.2, 0.3, 0.4, 1].map((at) => Math.round(1000 * onCurve(curve, at)) / 1000),
    [0.1, 0.1, 0.3, 0.5, 0.5],
  );
});
