import test from 'ava';
import { scanTimes } from '../../../pipeline/simulate/scan-times.ts';
import { MS_PER_HOUR } from '../../../schemas/time.ts';

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
