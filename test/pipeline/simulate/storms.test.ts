import test from 'ava';
import { bearingOf, supercellMotion, windTowards } from '../../../pipeline/simulate/hodograph.ts';
import { pulsesAt } from '../../../pipeline/simulate/pulses.ts';
import { between, drawsOf, gamma2, hashOf, lognormal, normal, poisson } from '../../../pipeline/simulate/random.ts';
import { scanTimes } from '../../../pipeline/simulate/scan-times.ts';
import { conusScenario, defaultScenario, isInWindow } from '../../../pipeline/simulate/scenario.ts';
import { lifeCurve, type Storm, stormAt, stormsBetween } from '../../../pipeline/simulate/storms.ts';
import { strengthAt } from '../../../pipeline/simulate/strength.ts';
import { truthAt, truthCsv } from '../../../pipeline/simulate/truth.ts';
import { boundariesAt } from '../../../pipeline/simulate/weather.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';
import { MS_PER_HOUR } from '../../../schemas/time.ts';
import { EVENING_MS, MS_PER_MINUTE, SITES, SMALL } from '../../support/data/small-evening.ts';

const HOUR = 60 * MS_PER_MINUTE;
const DAY = 24 * HOUR;
const plains = defaultScenario(7, SITES);
const aDay = stormsBetween(plains, EVENING_MS, EVENING_MS + DAY);
const ids = (storms: readonly Storm[]) => storms.map((storm) => storm.storm_id);

test('the storms of two adjoining stretches are the storms of the whole', (t) => {
  const middle = EVENING_MS + 95 * MS_PER_MINUTE;
  const halves = [...stormsBetween(SMALL, EVENING_MS, middle), ...stormsBetween(SMALL, middle, EVENING_MS + DAY)];
  t.deepEqual([...new Set(ids(halves))].sort(), ids(stormsBetween(SMALL, EVENING_MS, EVENING_MS + DAY)).sort());
});

test('what was asked before does not matter', (t) => {
  const fresh = { ...SMALL };
  for (let day = -5; day < 5; day += 1) stormsBetween(SMALL, EVENING_MS + day * DAY, EVENING_MS + day * DAY);
  t.deepEqual(stormsBetween(SMALL, EVENING_MS, EVENING_MS), stormsBetween(fresh, EVENING_MS, EVENING_MS));
});

test('every storm that lives at an instant is found, however old it is', (t) => {
  for (const storm of aDay) {
    const last = storm.birth_ms + storm.life_ms;
    t.true(ids(stormsBetween(plains, last, last)).includes(storm.storm_id));
    t.true(ids(stormsBetween(plains, storm.birth_ms, storm.birth_ms)).includes(storm.storm_id));
  }
});

test('names are unique', (t) => {
  t.is(new Set(ids(aDay)).size, aDay.length);
});

test('a storm moves at its speed: no jumps between scans', (t) => {
  for (const storm of aDay)
    for (let time_ms = storm.birth_ms; time_ms < storm.birth_ms + storm.life_ms; time_ms += 20 * MS_PER_MINUTE) {
      const step_km = distanceKm(stormAt(storm, time_ms), stormAt(storm, time_ms + 2 * MS_PER_MINUTE));
      const { speed_ms } = stormAt(storm, time_ms + MS_PER_MINUTE);
      t.true(Math.abs(step_km - speed_ms * 0.12) < 0.35, `${storm.storm_id} ${step_km} km`);
    }
});

test('a left mover starts beside its parent, 30 to 60 minutes old, and goes to its left', (t) => {
  const splits = aDay.filter((storm) => storm.split_from !== null);
  t.true(splits.length >= 5);
  for (const child of splits) {
    const parent = aDay.find((storm) => storm.storm_id === child.split_from);
    if (!parent) continue;
    const before = stormAt(parent, child.birth_ms);
    t.true(before.age_min >= 30 && before.age_min <= 60);
    t.true(distanceKm(before, stormAt(child, child.birth_ms)) < 8);
    const turn = ((child.direction_deg - before.direction_deg + 540) % 360) - 180;
    t.true(turn < 0, `${turn}`);
  }
});

test('a storm that merges meets its target late in its life', (t) => {
  const feeders = aDay.filter((storm) => storm.merges_into !== null);
  t.true(feeders.length >= 5);
  for (const feeder of feeders) {
    const target = aDay.find((storm) => storm.storm_id === feeder.merges_into);
    if (!target) continue;
    const apart = (age: number) => {
      const time_ms = feeder.birth_ms + age * feeder.life_ms;
      return distanceKm(stormAt(feeder, time_ms), stormAt(target, time_ms));
    };
    t.true(apart(0.85) < 2 && apart(0.2) > 4, `${apart(0.2)} then ${apart(0.85)} km`);
  }
});

test('a storm goes with the mean wind of its line, or off it to the right or left: within 10 degrees, an ordinary cell 14, and 10 %', (t) => {
  for (const storm of aDay) {
    const most_deg = storm.kind === 'ordinary' ? 14.01 : 10.01;
    const slot_ms = Number.parseInt(storm.storm_id, 36) * HOUR;
    const winds = boundariesAt(plains, slot_ms).flatMap(({ mean, right, left }) => [mean, right, left]);
    const isNear = (age: number) => {
      const { direction_deg, speed_ms } = stormAt(storm, storm.birth_ms + age * storm.life_ms);
      return winds.some((wind) => {
        const turn = Math.abs(((direction_deg - bearingOf(wind) + 540) % 360) - 180);
        return turn < most_deg && Math.abs(speed_ms / Math.min(25, Math.hypot(wind.east, wind.north)) - 1) < 0.11;
      });
    };
    t.true(isNear(0) && isNear(0.5) && isNear(1), `${storm.storm_id} ${storm.kind}`);
  }
});

test('the winds of all lines of an evening are nearly one', (t) => {
  const bearings = boundariesAt(plains, EVENING_MS).map(({ mean }) => bearingOf(mean));
  t.true(bearings.length > 1 && Math.max(...bearings) - Math.min(...bearings) < 10, bearings.join(' '));
});

test('a storm has several cores that come and go about its centre, nearer to it in an ordinary cell', (t) => {
  for (const storm of aDay) {
    const ages = [0.2, 0.4, 0.6, 0.8].map((age) => pulsesAt(storm, storm.birth_ms + age * storm.life_ms));
    const reach_km = (storm.kind === 'ordinary' ? 2 : 5) * storm.core_km;
    t.true(ages.every(({ length }) => length >= 1 && length <= 5));
    t.true(ages.flat().every(({ along_km, left_km }) => Math.hypot(along_km, left_km) < reach_km));
    t.true(ages.every((pulses) => Math.max(...pulses.map(({ share }) => share)) > 0.4));
  }
});

test('the hail of small organised storms comes and goes more than that of large ones', (t) => {
  const organised = aDay.filter(({ kind }) => kind !== 'ordinary');
  const spreads = (from_mm: number, to_mm: number) =>
    organised.filter(({ peak_mm }) => peak_mm >= from_mm && peak_mm < to_mm).map(({ strength_ln }) => strength_ln);
  const [small, large] = [spreads(0, 20), spreads(35, Number.POSITIVE_INFINITY)];
  t.true(small.length > 5 && large.length > 0);
  t.true(Math.min(...small) > 2 * Math.max(...large));
});

test('a life rises over a quarter, stays, and decays over three tenths', (t) => {
  t.deepEqual(
    [-0.1, 0, 0.125, 0.25, 0.5, 0.7, 0.85, 1].map((age) => Number(lifeCurve(age).toFixed(6))),
    [0, 0, 0.5, 1, 1, 1, 0.5, 0],
  );
});

test('the default evening has a supercell at any time of any day that lays 60 km of large hail within three hours', (t) => {
  for (let seed = 0; seed < 8; seed += 1) {
    const scenario = defaultScenario(seed, SITES);
    for (let n = 0; n < 12; n += 1) {
      const from_ms = EVENING_MS + (seed * 31 + n) * 7.3 * 60 * MS_PER_MINUTE;
      const ways_km = stormsBetween(scenario, from_ms, from_ms + 3 * HOUR).map((storm) => {
        const states = Array.from({ length: 37 }, (_, i) => from_ms + i * 5 * MS_PER_MINUTE)
          .filter((time_ms) => time_ms >= storm.birth_ms && time_ms <= storm.birth_ms + storm.life_ms)
          .map((time_ms) => stormAt(storm, time_ms))
          .filter((state) => state.peak_mm >= 25 && isInWindow(scenario, state));
        const [first, last] = [states[0], states.at(-1)];
        return first && last ? distanceKm(first, last) : 0;
      });
      const longest_km = Math.max(0, ...ways_km);
      t.true(longest_km >= 60, `seed ${seed}, ${new Date(from_ms).toISOString()}: ${longest_km}`);
    }
  }
});

test('the default evening has hail at any time of any day: something over 25 mm in every three hours', (t) => {
  for (let seed = 0; seed < 8; seed += 1)
    for (let n = 0; n < 6; n += 1) {
      const start = EVENING_MS + (seed * 31 + n) * 7.3 * 60 * MS_PER_MINUTE;
      const peaks = Array.from({ length: 10 }, (_, i) => start + i * 20 * MS_PER_MINUTE).flatMap((time_ms) =>
        truthAt(defaultScenario(seed, SITES), time_ms).map((storm) => storm.peak_mm),
      );
      t.true(Math.max(...peaks) >= 25, `seed ${seed}, ${new Date(start).toISOString()}: ${Math.max(...peaks)}`);
    }
});

test('the weather of the country does not depend on the window', (t) => {
  const whole = conusScenario(3, 'outbreak', SITES);
  const part = { ...whole, window: SMALL.window };
  t.deepEqual(stormsBetween(whole, EVENING_MS, EVENING_MS + DAY), stormsBetween(part, EVENING_MS, EVENING_MS + DAY));
});

test('most storms of the country are born in the evening', (t) => {
  const country = conusScenario(3, 'marginal', SITES);
  const hours = stormsBetween(country, EVENING_MS, EVENING_MS + 3 * DAY).map((storm) =>
    new Date(storm.birth_ms).getUTCHours(),
  );
  const evening = hours.filter((hour) => hour >= 20 || hour < 2).length / hours.length;
  t.true(evening > 0.5, `${evening}`);
});

test('the truth has a row per scan and storm', (t) => {
  const times = [EVENING_MS, EVENING_MS + 2 * MS_PER_MINUTE];
  const lines = truthCsv(SMALL, times).trimEnd().split('\n');
  t.is(lines.length, 1 + times.reduce((sum, time_ms) => sum + truthAt(SMALL, time_ms).length, 0));
  t.true(lines.every((line) => line.split(',').length === 13));
  t.true(lines[1]?.startsWith('2026-05-01T22:00:00Z,'));
});

const lifeOf = (key: number) => ({ key, birth_ms: EVENING_MS, life_ms: 2 * HOUR });
const lives = Array.from({ length: 2000 }, (_, key) => lifeOf(key));
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

test('strength at an instant is the same whatever was asked before', (t) => {
  const [asked, fresh] = [lifeOf(5), lifeOf(5)];
  for (let n = 17; n > 0; n -= 1) strengthAt(asked, EVENING_MS + n * 7 * MS_PER_MINUTE);
  const at = EVENING_MS + 31 * MS_PER_MINUTE;
  t.is(strengthAt(fresh, at), strengthAt(asked, at));
});

test('strength is about standard normal and forgets in nine minutes', (t) => {
  const at = (minutes: number) => lives.map((life) => strengthAt(life, EVENING_MS + minutes * MS_PER_MINUTE));
  const [now, later] = [at(40), at(52)];
  t.true(Math.abs(mean(now)) < 0.07 && Math.abs(mean(now.map((value) => value ** 2)) - 1) < 0.1);
  const together = mean(now.map((value, i) => value * (later[i] as number)));
  t.true(Math.abs(together - Math.exp(-12 / 9)) < 0.07, `${together}`);
});

const KNOTS_PER_MS = 1 / 0.514444;
const PRESSURE = [1000, 925, 850, 700, 500, 400];
const HEIGHT = [250, 700, 1500, 3100, 5720, 7120];
const FROM_DEG = [165, 180, 190, 210, 220, 250];
const SPEED_KT = [5, 15, 20, 30, 50, 60];

test('supercell motion of the reference sounding, weighted by pressure thickness, agrees with an independent computation in knots', (t) => {
  const profile = PRESSURE.map((pressure_hpa, i) => ({
    pressure_hpa,
    height_m: HEIGHT[i],
    ...windTowards(FROM_DEG[i] + 180, SPEED_KT[i]),
  }));
  const motion = supercellMotion(profile, 7.5 * KNOTS_PER_MS);
  const rounded = ({ east, north }: { east: number; north: number }) => [east, north].map((v) => Number(v.toFixed(3)));
  t.deepEqual(rounded(motion.mean), [14.188, 24.632]);
  t.deepEqual(rounded(motion.right), [22.151, 12.421]);
  t.deepEqual(rounded(motion.left), [6.225, 36.844]);
});

test('without shear both movers go with the mean wind', (t) => {
  const level = (height_m: number) => ({ pressure_hpa: 1000 - height_m / 12, height_m, east: 8, north: 3 });
  const { mean, right, left } = supercellMotion([0, 2000, 4000, 7000].map(level));
  t.deepEqual(right, mean);
  t.deepEqual(left, mean);
});

for (const towards of [0, 45, 179, 300])
  test(`a wind towards ${towards} degrees has that bearing`, (t) => {
    t.true(Math.abs(bearingOf(windTowards(towards, 12)) - towards) < 1e-9);
  });

test('the same key gives the same number on every machine', (t) => {
  t.deepEqual([hashOf(1), hashOf(1, 2, 3), hashOf(-5, 2 ** 40)], [2031924701, 2796823407, 3488929027]);
  const draw = drawsOf(7, 1);
  t.deepEqual([draw(), draw(), draw()], [0.6288583385758102, 0.026964002987369895, 0.5970295034348965]);
});

test('keys that differ in one bit, in order or beyond 32 bits give other numbers', (t) => {
  const keys = [[1, 2], [2, 1], [1, 3], [1], [1, 2, 0], [1, 2 + 2 ** 32], [-1, 2]];
  t.is(new Set(keys.map((key) => hashOf(...key))).size, keys.length);
});

const COUNT = 20_000;
const moments = (values: readonly number[]) => {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return { mean, sd: Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length) };
};
const sample = (one: (draw: () => number) => number) => {
  const draw = drawsOf(3);
  return Array.from({ length: COUNT }, () => one(draw));
};

for (const [name, one, mean, sd] of [
  ['uniform in [2, 4)', (draw) => between(draw, 2, 4), 3, 0.577],
  ['standard normal', normal, 0, 1],
  ['gamma of shape 2 with mean 24', (draw) => gamma2(draw, 24), 24, 16.97],
  ['Poisson with mean 3', (draw) => poisson(draw, 3), 3, 1.732],
  ['logarithm of a lognormal with median 10', (draw) => Math.log(lognormal(draw, 10, 0.6)), Math.log(10), 0.6],
] as const satisfies readonly (readonly [string, (draw: () => number) => number, number, number])[])
  test(`mean and spread are right: ${name}`, (t) => {
    const found = moments(sample(one));
    t.true(Math.abs(found.mean - mean) < 0.03 * sd, `mean ${found.mean}`);
    t.true(Math.abs(found.sd / sd - 1) < 0.03, `spread ${found.sd}`);
  });

test('a Poisson draw with mean 0 is 0', (t) => {
  t.deepEqual(new Set(sample((draw) => poisson(draw, 0))), new Set([0]));
});

const START = Date.parse('2026-05-01T20:00:00Z');

test('the scans of two adjoining stretches are the scans of the whole', (t) => {
  for (const cut of [START + 1, START + MS_PER_HOUR + 17_000, START + 2 * MS_PER_HOUR])
    t.deepEqual(
      [...scanTimes(5, START, cut), ...scanTimes(5, cut, START + 3 * MS_PER_HOUR)],
      scanTimes(5, START, START + 3 * MS_PER_HOUR),
    );
});

test('a scan at the first instant belongs to the stretch, one at its end does not', (t) => {
  const [first, second] = scanTimes(5, START, START + MS_PER_HOUR) as [number, number];
  t.deepEqual(scanTimes(5, first, second), [first]);
});

test('scans come about every 120 s at whole seconds, not aligned with the clock, and one in a hundred is missing', (t) => {
  const times = scanTimes(5, START, START + 240 * MS_PER_HOUR);
  const gaps = times.slice(1).map((time, i) => (time - times[i]) / 1000);
  t.true(times.every((time) => time % 1000 === 0));
  t.true(gaps.every((gap) => [120, 240, 360].some((turn) => Math.abs(gap - turn) <= 10)));
  t.true(new Set(times.map((time) => time % 60_000)).size > 5);
  const missed = 1 - times.length / (240 * 30);
  t.true(missed > 0.005 && missed < 0.016, `missed ${missed}`);
});

test('another number scans at other seconds', (t) => {
  t.notDeepEqual(scanTimes(5, START, START + MS_PER_HOUR), scanTimes(6, START, START + MS_PER_HOUR));
});
