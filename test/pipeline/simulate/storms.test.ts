import test from 'ava';
import { conusScenario, defaultScenario } from '../../../pipeline/simulate/scenario.ts';
import { lifeCurve, type Storm, stormAt, stormsBetween } from '../../../pipeline/simulate/storms.ts';
import { truthAt, truthCsv } from '../../../pipeline/simulate/truth.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';
import { EVENING_MS, MS_PER_MINUTE, SITES, SMALL } from '../../support/data/small-evening.ts';

const DAY = 24 * 60 * MS_PER_MINUTE;
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
    const turn = ((child.direction_deg - before.course_deg + 540) % 360) - 180;
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

test('a storm that merges is carried along with its target: only what they close in by tells them apart', (t) => {
  for (const feeder of aDay.filter((storm) => storm.merges_into !== null)) {
    const target = aDay.find((storm) => storm.storm_id === feeder.merges_into);
    if (target) t.is(feeder.walk, target.walk);
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
