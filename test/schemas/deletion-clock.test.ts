import test from 'ava';
import fc from 'fast-check';
import {
  type ClockLook,
  type DeletionClock,
  dueForDeletion,
  isDoubted,
  lookAtClock,
  markForDeletion,
  shareOfSweep,
  vouchedTime,
} from '../../schemas/deletion-clock.ts';
import { MS_PER_DAY, MS_PER_HOUR } from '../../schemas/time.ts';

const START_MS = Date.parse('2026-11-22T12:00:00Z');
const WRONG_MS = Date.parse('2028-11-22T12:00:00Z');

/** A look with nothing but the two clocks. */
const look = (wall_ms: number, run_ms: number, more: Partial<ClockLook> = {}): ClockLook => ({
  wall_ms,
  run_ms,
  newest_scan_ms: null,
  newest_own_ms: null,
  ...more,
});

/** Looks every hour for so long, with the clock at some distance from the time, and returns what was due in the end. */
function run(before: DeletionClock, from_ms: number, hours: number, more: Partial<ClockLook> = {}) {
  let [clock, until_ms] = [before, null as number | null];
  for (let hour = 1; hour <= hours; hour++)
    ({ clock, until_ms } = dueForDeletion(
      lookAtClock(clock, look(from_ms + hour * MS_PER_HOUR, MS_PER_HOUR, more)),
      'it',
    ));
  return { clock, until_ms };
}

test('what has run out is marked, and due a day later', (t) => {
  const first = dueForDeletion(lookAtClock(null, look(START_MS, 0)), 'it');
  t.is(first.until_ms, null);
  t.is(run(first.clock, START_MS, 23).until_ms, null);
  const { clock, until_ms } = run(first.clock, START_MS, 24);
  t.is(until_ms, START_MS);
  const next = markForDeletion(clock, 'it');
  t.is(dueForDeletion(next, 'it').until_ms, null);
  t.is(dueForDeletion(next, 'another').until_ms, null);
});

test('a machine that boots in the wrong year deletes nothing, however long it runs, and goes on once the clock is right', (t) => {
  const before = run(lookAtClock(null, look(START_MS, 0)), START_MS, 30).clock;
  // A new process: 10 s after its start by a clock that is two years ahead.
  const wrong = lookAtClock(before, look(WRONG_MS, 10_000));
  t.true(isDoubted(wrong));
  const { clock, until_ms } = run(wrong, WRONG_MS, 100 * 24);
  t.true((until_ms ?? 0) <= START_MS + 30 * MS_PER_HOUR, 'what was marked before, by the right clock');
  t.true(vouchedTime(clock) <= START_MS + 101 * MS_PER_DAY + 30 * MS_PER_HOUR);
  const right_ms = START_MS + 30 * MS_PER_HOUR + 100 * MS_PER_DAY;
  const right = lookAtClock(clock, look(right_ms, MS_PER_HOUR));
  t.false(isDoubted(right));
  t.true(vouchedTime(run(right, right_ms, 2).clock) >= right_ms);
});

test('a first look by a clock that is far ahead of what was written before trusts what was written', (t) => {
  const clock = lookAtClock(null, look(WRONG_MS, 0, { newest_own_ms: START_MS }));
  t.is(vouchedTime(clock), START_MS);
  t.is(vouchedTime(lookAtClock(null, look(START_MS, 0, { newest_own_ms: START_MS - MS_PER_DAY }))), START_MS);
});

test('observed scans make a clock right at once, after however long a pause', (t) => {
  const before = lookAtClock(null, look(START_MS, 0));
  const later_ms = START_MS + 90 * MS_PER_DAY;
  t.true(isDoubted(lookAtClock(before, look(later_ms, 0))));
  t.is(vouchedTime(lookAtClock(before, look(later_ms, 0, { newest_scan_ms: later_ms - 5 * 60_000 }))), later_ms);
});

test('a mark that the clock has gone back behind is made anew, and its day begins again', (t) => {
  const ahead = dueForDeletion(lookAtClock(null, look(START_MS + 5 * MS_PER_DAY, 0)), 'it').clock;
  const { clock, until_ms } = run(ahead, START_MS, 23);
  t.is(until_ms, null);
  t.is(clock.marks.it?.until_ms, START_MS + MS_PER_HOUR);
  t.is(run(clock, START_MS + 23 * MS_PER_HOUR, 2).until_ms, START_MS + MS_PER_HOUR);
});

test('two steps of the clock within an hour make no day', (t) => {
  let due = dueForDeletion(lookAtClock(null, look(START_MS, 0)), 'it');
  for (const days of [6, 12])
    due = dueForDeletion(lookAtClock(due.clock, look(START_MS + days * MS_PER_DAY, 60_000)), 'it');
  t.is(due.until_ms, null);
});

test('several processes that look in turn count an hour as an hour', (t) => {
  let clock = lookAtClock(null, look(START_MS, 0));
  for (let half = 1; half <= 48; half++)
    clock = lookAtClock(clock, look(START_MS + (half * MS_PER_HOUR) / 2, MS_PER_HOUR));
  t.is(clock.passed_ms, MS_PER_DAY);
});

test('whatever the clock says, nothing goes more than a week before its time, nor before a day has passed', (t) => {
  const step = fc.record({ ran_h: fc.integer({ min: 0, max: 30 }), jump_h: fc.integer({ min: -20_000, max: 20_000 }) });
  const holds = fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
    let [true_ms, offset_ms] = [START_MS, 0];
    let due = dueForDeletion(lookAtClock(null, look(START_MS, 0)), 'it');
    for (const { ran_h, jump_h } of steps) {
      true_ms += ran_h * MS_PER_HOUR;
      // Wrong by years: what is within a week may be a machine that was off.
      offset_ms = Math.abs(jump_h) > 400 ? jump_h * MS_PER_HOUR : offset_ms;
      due = dueForDeletion(lookAtClock(due.clock, look(true_ms + offset_ms, ran_h * MS_PER_HOUR)), 'it');
      if (due.until_ms !== null && (due.until_ms > true_ms + 7 * MS_PER_DAY || true_ms - START_MS < MS_PER_DAY))
        return false;
    }
    return true;
  });
  t.notThrows(() => fc.assert(holds));
});

test('a sweep takes a twentieth at most, and one at least', (t) => {
  t.deepEqual([0, 1, 20, 21, 1000].map(shareOfSweep), [1, 1, 1, 2, 50]);
});
