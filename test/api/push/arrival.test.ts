import test from 'ava';
import { openArrival } from '../../../api/push/arrival.ts';
import { MS_PER_MIN } from '../../../schemas/time.ts';

const START_MS = Date.parse('2026-05-01T20:00:00Z');

/** Minutes of age of scans from minute 0 on, once `elapsed` minutes went by and the machine's clock made a step. */
function ages(elapsed: number, step: number, scans: readonly number[], now?: () => number): number[] {
  let [monotonic, machine] = [0, START_MS];
  const ageOf = openArrival({ now: now ?? (() => machine), machine: () => machine, monotonic: () => monotonic });
  monotonic += elapsed * MS_PER_MIN;
  machine += (elapsed + step) * MS_PER_MIN;
  return scans.map((minute) => ageOf(START_MS + minute * MS_PER_MIN) / MS_PER_MIN);
}

for (const [what, step] of [
  ['goes on', 0],
  ['is set an hour forth', 60],
  ['is set an hour back', -60],
] as const)
  test(`new scans are new and old ones old while the machine's clock ${what}`, (t) => {
    t.deepEqual(ages(10, step, [9, -35]), [1, 45]);
  });

test('a clock that was wrong at the start and is set right is believed', (t) => {
  t.deepEqual(ages(10, 60, [69]), [1]);
  t.deepEqual(ages(10, -60, [-51]), [1]);
});

test('a data clock that is not the machine’s is believed, whatever the machine’s does', (t) => {
  t.deepEqual(
    ages(10, 60, [100], () => START_MS + 101 * MS_PER_MIN),
    [1],
  );
});

test('a scan that lies in the future by every clock is not old', (t) => {
  t.true((ages(10, 0, [200])[0] ?? 1) < 0);
});
