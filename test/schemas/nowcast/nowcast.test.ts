import test from 'ava';
import { destination } from '../../../schemas/geo/distance.ts';
import { arrivals, fastestKmh } from '../../../schemas/nowcast/arrivals.ts';
import { clumps } from '../../../schemas/nowcast/clumps.ts';
import {
  fitFor,
  type HailSource,
  nowcast,
  rawLogit,
  rawNowcast,
  stormSource,
  survival,
  untrackedSources,
  weighed,
} from '../../../schemas/nowcast/probability.ts';
import { normalQuantile, radicalInverse } from '../../../schemas/nowcast/quasi-random.ts';
import { NOWCAST_MODEL } from '../../../schemas/reference/nowcast-model.ts';
import { DAY_MS, trackPoint } from '../../support/data/rows.ts';

const AT = { lat: 39.995, lon: -99.995 };
test('half of the hail is gone after ten minutes, and most of it after three quarters of an hour', (t) => {
  t.is(survival(0), 1);
  t.true(Math.abs(survival(10.4) - 0.5) < 0.001 && survival(45) === 0.049787068367863944);
});

function storm(fields: Parameters<typeof trackPoint>[0] = {}): HailSource {
  const seen = trackPoint({
    ...AT,
    scan_count: 8,
    duration_min: 20,
    estimated_size_mm: 30,
    confidence: 0.7,
    ...fields,
  });
  return stormSource(seen, [seen]);
}

test('without storms nothing strikes', (t) => {
  t.deepEqual(rawNowcast(AT, [], DAY_MS), { t15: 0, t30: 0, t45: 0 });
});

test('under hail the raw probability is what survived since its scan, for every lead', (t) => {
  const { t15, t30, t45 } = rawNowcast(AT, [storm({ speed_kmh: 0 })], DAY_MS);
  for (const value of [t15, t30, t45]) t.true(Math.abs(value - 1) < 1e-12);
  const late = stormSource(storm().seen, [destination(AT, 270, 5)]);
  t.true(rawNowcast(AT, [late], DAY_MS + 5 * 60_000).t15 < survival(5) + 1e-12);
});

test('a storm without hail of the size strikes nothing', (t) => {
  t.is(rawNowcast(AT, [stormSource(storm().seen, [])], DAY_MS).t45, 0);
});

test('two storms strike unless both spare the point', (t) => {
  const ahead = destination(AT, 90, 10);
  const { t15: one } = rawNowcast(ahead, [storm()], DAY_MS);
  const { t15: both } = rawNowcast(ahead, [storm(), storm()], DAY_MS);
  t.true(one > 0.02 && one < 0.98);
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
  const ahead = destination(AT, 90, 10);
  const beside = destination(AT, 10, 8);
  t.true(rawNowcast(ahead, [young], DAY_MS).t30 < rawNowcast(ahead, [storm()], DAY_MS).t30);
  t.true(rawNowcast(beside, [young], DAY_MS).t30 > rawNowcast(beside, [storm()], DAY_MS).t30);
});

test('a storm of unknown motion may go anywhere', (t) => {
  const unknown = storm({ speed_kmh: null, direction_deg: null });
  const strikes = [0, 90, 180, 270].map((bearing) => rawNowcast(destination(AT, bearing, 8), [unknown], DAY_MS).t30);
  t.true(Math.min(...strikes) > 0.4 * Math.max(...strikes) && Math.min(...strikes) > 0);
});

test('raw probabilities of 0 and 1 have logits that end', (t) => {
  t.is(rawLogit(0.5), 0);
  t.true(
    Number.isFinite(rawLogit(0)) && rawLogit(0) === rawLogit(0.0005) && Math.abs(rawLogit(1) + rawLogit(0)) < 1e-9,
  );
});

test('a weighed probability is the logistic of the logit of the raw one, and never below that of a shorter lead', (t) => {
  const leads = { t15: { base: 1, raw: 2 }, t30: { base: -1, raw: 1 }, t45: { base: 2, raw: 0 } };
  const { t15, t30, t45 } = weighed({ t15: 0.5, t30: 0.5, t45: 0.1 }, leads);
  t.is(t15, 1 / (1 + Math.exp(-1)));
  t.is(t30, t15);
  t.is(t45, 1 / (1 + Math.exp(-2)));
});

test('hail without a track is as many sources as it has clumps, each moving as the nearest storm that has a motion', (t) => {
  const far = storm({ ...destination(AT, 90, 90), speed_kmh: 30, direction_deg: 10 });
  const near = storm({ ...destination(AT, 0, 30), speed_kmh: 50, direction_deg: 70 });
  const still = storm({ ...destination(AT, 0, 10), speed_kmh: null, direction_deg: null });
  const pixels = [AT, destination(AT, 90, 1), destination(AT, 90, 40)];
  const [first, second, ...rest] = untrackedSources(pixels, DAY_MS, [far, near, still]);
  t.deepEqual([first?.hail, second?.hail, rest], [pixels.slice(0, 2), pixels.slice(2), []]);
  t.like(first?.seen, { scan_time: DAY_MS, speed_kmh: 50, direction_deg: 70, scan_count: 1 });
});

test('hail without a track and without a storm near has no motion, and strikes where it is', (t) => {
  const far = storm({ ...destination(AT, 90, 101) });
  const sources = untrackedSources([AT], DAY_MS, [far]);
  t.like(sources[0]?.seen, { speed_kmh: null, direction_deg: null });
  t.is(rawNowcast(AT, sources, DAY_MS).t15, 1);
  t.deepEqual(untrackedSources([], DAY_MS, [far]), []);
});

test('pixels that touch are one clump, whatever their order, and those 10 km off another', (t) => {
  const line = Array.from({ length: 12 }, (_, k) => destination(AT, 90, 2 * k));
  const apart = destination(AT, 0, 10);
  t.deepEqual(
    clumps([...line, apart])
      .map((clump) => clump.length)
      .sort(),
    [1, 12],
  );
  t.deepEqual(
    clumps([apart, ...line.toReversed()]).map((clump) => clump.length),
    [1, 12],
  );
});

test('what was fitted on simulations holds for nothing but simulated data', (t) => {
  t.is(fitFor('simulated'), NOWCAST_MODEL.simulated);
  for (const source of ['observed', 'mixed', null] as const) t.is(fitFor(source), NOWCAST_MODEL.observed);
});

test('under hail that is there now a strike is likelier than beside it, and far away it is rare, by either fit', (t) => {
  const under = stormSource(storm().seen, [AT, destination(AT, 90, 1), destination(AT, 180, 1)]);
  for (const fit of [NOWCAST_MODEL.observed, NOWCAST_MODEL.simulated]) {
    const at = (km: number) => nowcast(destination(AT, 0, km), [under], DAY_MS, fit).t15;
    t.true(at(0) > 0.5 && at(0) > at(2) && at(2) > at(12));
    t.true(at(45) < 0.03);
  }
});

const SPREAD = { speed_error_kmh: 12, direction_error_deg: 26 };
const SURE = { speed_error_kmh: 0, direction_error_deg: 0 };

/** Minutes until each future of hail at a distance and bearing comes within 1 km. */
function comes(km: number, bearing: number, motion: Parameters<typeof arrivals>[2], from_min = 0, lead_min = 45) {
  const hail = [destination(AT, bearing, km)];
  return arrivals(AT, hail, motion, { within_km: 1, from_min, to_min: from_min + lead_min });
}

test('arrival times follow from distance and speed when nothing is uncertain', (t) => {
  for (const after of comes(20, 270, { speed_kmh: 60, direction_deg: 90, ...SURE }))
    t.true(Math.abs(after - 19) < 0.05);
  for (const after of comes(20, 270, { speed_kmh: 60, direction_deg: 90, ...SURE }, 5))
    t.true(Math.abs(after - 14) < 0.05);
});

test('hail within 1 km is there at once in every future, hail that moves away never comes', (t) => {
  t.true(comes(0.9, 45, { speed_kmh: 50, direction_deg: 45, ...SPREAD }).every((after) => after === 0));
  t.true(
    comes(20, 90, { speed_kmh: 60, direction_deg: 90, speed_error_kmh: 5, direction_error_deg: 5 }).every(Number.isNaN),
  );
});

test('the first of several pixels to come counts', (t) => {
  const hail = [destination(AT, 270, 30), destination(AT, 270, 11), destination(AT, 200, 5)];
  const times = arrivals(
    AT,
    hail,
    { speed_kmh: 60, direction_deg: 90, ...SURE },
    { within_km: 1, from_min: 0, to_min: 45 },
  );
  t.true(times.every((after) => Math.abs(after - 10) < 0.05));
});

test('128 futures hit as often as many random ones', (t) => {
  let seed = 1;
  const random = () => {
    seed = (seed * 16807) % 2147483647;
    return seed / 2147483647;
  };
  for (const [km, bearing] of [
    [5, 270],
    [10, 260],
    [15, 280],
  ] as const) {
    const place = { x: km * Math.sin((bearing * Math.PI) / 180), y: km * Math.cos((bearing * Math.PI) / 180) };
    let hits = 0;
    for (let n = 0; n < 20_000; n++) {
      const km_min = (50 + 12 * normalQuantile(random())) / 60;
      const towards = ((90 + 26 * normalQuantile(random())) * Math.PI) / 180;
      const [vx, vy] = [km_min * Math.sin(towards), km_min * Math.cos(towards)];
      const at_min = Math.min(30, Math.max(0, -(place.x * vx + place.y * vy) / (km_min * km_min)));
      if (Math.hypot(place.x + vx * at_min, place.y + vy * at_min) <= 1) hits += 1;
    }
    const times = comes(km, bearing, { speed_kmh: 50, direction_deg: 90, ...SPREAD }, 0, 30);
    const share = times.filter((after) => !Number.isNaN(after)).length / times.length;
    t.true(Math.abs(share - hits / 20_000) < 0.03, `${km} km: ${share} and ${hits / 20_000}`);
  }
});

test('hail out of reach of the fastest future comes in none', (t) => {
  const motion = { speed_kmh: 50, direction_deg: 90, speed_error_kmh: 12, direction_error_deg: 0 };
  const reach = 1 + (fastestKmh(motion) * 45) / 60;
  t.true(comes(1.001 * reach, 270, motion).every(Number.isNaN));
  t.false(comes(0.8 * reach, 270, motion).every(Number.isNaN));
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
