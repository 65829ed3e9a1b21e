import test from 'ava';
import { maskOf } from '../../../pipeline/track/mask.ts';
import { csi, type ObjectFrame, overlapAt } from '../../../pipeline/track/overlap.ts';
import { START } from '../../support/data/parting.ts';
import { square } from '../../support/data/square.ts';

const EAST_KM_MIN = 0.01 * 85.4; // one pixel of longitude a minute at 40 N

/** Frames two minutes apart with a square of 6 pixels that starts in a column and drifts two pixels east a frame. */
function frames(count: number, east_km_min: number | null): ObjectFrame[] {
  return Array.from({ length: count }, (_, k) => {
    const { rows, cols } = square(1500, 3500 + 2 * k);
    const velocity = east_km_min === null ? null : { east: east_km_min, north: 0 };
    return { scan_time: START + k * 120_000, objects: [{ mask: maskOf(rows, cols), velocity }] };
  });
}

test('an object moved by its true motion covers what came, at every lead', (t) => {
  for (const lead of [2, 4, 8]) t.is(csi(overlapAt(frames(6, EAST_KM_MIN), lead)), 1);
});

test('an object that is left where it was shares 4 of 6 columns after two minutes: 24 pixels of 48', (t) => {
  t.deepEqual(overlapAt(frames(2, null), 2), { frames: 1, hits: 24, misses: 12, false_alarms: 12 });
});

test('frames without a later one at the lead, within a minute, do not count', (t) => {
  const all = frames(4, EAST_KM_MIN);
  t.is(overlapAt(all, 4).frames, 2);
  t.is(overlapAt([all[0], all[3]] as ObjectFrame[], 4).frames, 0);
  t.is(csi(overlapAt(all, 20)), null);
});

test('the way is that of the minutes between the two frames, not of the lead that was asked for', (t) => {
  const [first, second] = frames(2, EAST_KM_MIN) as [ObjectFrame, ObjectFrame];
  const late = { ...second, scan_time: second.scan_time + 60_000 }; // 3 minutes: a third pixel too far
  t.deepEqual(overlapAt([first, late], 2), { frames: 1, hits: 30, misses: 6, false_alarms: 6 });
});

test('pixels under two objects that move onto each other count once', (t) => {
  const [a, b] = [square(1500, 3500), square(1500, 3512)];
  const towards = (east: number) => ({ east: east * EAST_KM_MIN, north: 0 });
  const first = {
    scan_time: START,
    objects: [
      { mask: maskOf(a.rows, a.cols), velocity: towards(3) },
      { mask: maskOf(b.rows, b.cols), velocity: towards(-3) },
    ],
  };
  const { rows, cols } = square(1500, 3506);
  const second = { scan_time: START + 120_000, objects: [{ mask: maskOf(rows, cols), velocity: null }] };
  t.deepEqual(overlapAt([first, second], 2), { frames: 1, hits: 36, misses: 0, false_alarms: 0 });
});
