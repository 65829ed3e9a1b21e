import test from 'ava';
import { deviationAt, strengthAt, type Walk } from '../../../pipeline/simulate/walk.ts';
import { EVENING_MS, MS_PER_MINUTE } from '../../support/data/small-evening.ts';

const HOUR = 60 * MS_PER_MINUTE;
const walkOf = (key: number): Walk => ({
  key,
  from_ms: EVENING_MS,
  to_ms: EVENING_MS + 2 * HOUR,
  bearing_deg: 90,
  speed_ms: 10,
});
const walks = Array.from({ length: 2000 }, (_, key) => walkOf(key));
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const spread = (values: readonly number[]) => Math.sqrt(mean(values.map((value) => value ** 2)));

test('a walk at an instant is the same whatever was asked before', (t) => {
  const [asked, fresh] = [walkOf(5), walkOf(5)];
  for (let n = 20; n > 0; n -= 1) deviationAt(asked, EVENING_MS + n * 7 * MS_PER_MINUTE);
  const at = EVENING_MS + 31 * MS_PER_MINUTE;
  t.deepEqual(deviationAt(fresh, at), deviationAt(asked, at));
  t.is(strengthAt(fresh, at), strengthAt(asked, at));
});

test('the way of a walk is the sum of its velocities', (t) => {
  for (const walk of walks.slice(0, 20)) {
    const steps = Array.from({ length: 1200 }, (_, n) => deviationAt(walk, EVENING_MS + (n + 0.5) * 3000));
    const from = deviationAt(walk, EVENING_MS);
    const to = deviationAt(walk, EVENING_MS + HOUR);
    t.true(Math.abs(to.east_km - from.east_km - 3.6 * mean(steps.map(({ east_ms }) => east_ms))) < 1e-3);
    t.true(Math.abs(to.north_km - from.north_km - 3.6 * mean(steps.map(({ north_ms }) => north_ms))) < 1e-3);
  }
});

test('velocity deviates by 24 % along the course and 72 % across it, and forgets in a quarter of an hour', (t) => {
  const at = (minutes: number) => walks.map((walk) => deviationAt(walk, EVENING_MS + minutes * MS_PER_MINUTE));
  const [now, later] = [at(40), at(60)];
  const north = now.map(({ north_ms }) => north_ms);
  t.true(Math.abs(spread(now.map(({ east_ms }) => east_ms)) - 2.4) < 0.1);
  t.true(Math.abs(spread(north) - 7.2) < 0.3);
  const together = mean(north.map((value, i) => value * (later[i]?.north_ms ?? 0))) / 7.2 ** 2;
  t.true(Math.abs(together - Math.exp(-20 / 15)) < 0.07, `${together}`);
});

test('strength is about standard normal, apart from the velocity', (t) => {
  const at = EVENING_MS + HOUR;
  const strengths = walks.map((walk) => strengthAt(walk, at));
  t.true(Math.abs(mean(strengths)) < 0.07 && Math.abs(spread(strengths) - 1) < 0.05);
  const together = mean(walks.map((walk, i) => (strengths[i] as number) * deviationAt(walk, at).north_ms)) / 7.2;
  t.true(Math.abs(together) < 0.07, `${together}`);
});
