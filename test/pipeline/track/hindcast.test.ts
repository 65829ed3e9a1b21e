import test from 'ava';
import { extendTrail, hindcast, motionShare, type TrailStep } from '../../../pipeline/track/hindcast.ts';
import { cellAtPixel, maskOf } from '../../../pipeline/track/track-cell.ts';
import { START } from '../../support/data/parting.ts';
import { square } from '../../support/data/square.ts';

/** A square seen some minutes ago that seemed to move east by one kilometre a minute. */
function step(minutes_ago: number, col: number): TrailStep {
  const { rows, cols } = square(1500, col, 10);
  return { scan_time: START - minutes_ago * 60_000, velocity: { east: 1, north: 0 }, mask: maskOf(rows, cols) };
}

/** Share of that motion after the square was found at a column now. */
function shareOf(found: number, around: readonly number[] = []): number {
  const judge = (col: number) => hindcast([step(10, 3500)], START, cellAtPixel([square(1500, col, 10)]));
  return motionShare(judge(found), around.map(judge));
}

test('all of a motion is published while it forecasts the storm at least as well as no motion', (t) => {
  t.is(shareOf(3512), 1); // 10 km are 12 columns
  t.is(shareOf(3506), 1); // half way between: both overlap by four columns
});

test('a storm that stayed in place is published without motion, one that crept with a part of it', (t) => {
  t.is(shareOf(3500), 0);
  t.is(shareOf(3503), 0.5);
});

test('nothing known is no reason to shrink a motion', (t) => {
  t.is(motionShare(hindcast([], START, new Map()), []), 1);
  t.is(shareOf(3600), 1);
});

test('the storms around speak for a storm without a past, and hardly against one that has its own', (t) => {
  t.is(shareOf(3600, [3500, 3500]), 0);
  t.is(shareOf(3512, [3500, 3500]), 1);
});

test('a trail keeps half an hour, with four minutes between its steps', (t) => {
  let trail: TrailStep[] = [];
  for (let minute = 0; minute <= 60; minute += 2)
    trail = extendTrail(trail, { ...step(0, 3500), scan_time: START + minute * 60_000 });
  t.deepEqual(
    trail.map(({ scan_time }) => (scan_time - START) / 60_000),
    [32, 36, 40, 44, 48, 52, 56, 60],
  );
});
