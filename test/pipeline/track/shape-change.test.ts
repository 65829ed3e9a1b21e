import test from 'ava';
import type { TrackCell } from '../../../pipeline/track/track-cell.ts';
import { follow } from '../../support/data/parting.ts';
import { square } from '../../support/data/square.ts';

const BEFORE = 5;
const ROW = 1500;
const COL = 3500;

/** Cells of the scans before and after a change, drifting two pixels east a scan. */
function scans(before: (col: number) => TrackCell, after: (col: number) => TrackCell): TrackCell[][] {
  return Array.from({ length: 2 * BEFORE }, (_, k) => [(k < BEFORE ? before : after)(COL + 2 * k)]);
}

function tracksOf(frames: readonly (readonly TrackCell[])[]): Set<string> {
  return new Set(follow(frames).flatMap(({ step }) => step.trackOfCell));
}

const long = (col: number) => square(ROW, col, 12, 30);
const eastEnd = (col: number) => square(ROW, col + 18, 12, 12);

test('a storm whose western half falls below the threshold in one scan stays the same track', (t) => {
  t.is(tracksOf(scans(long, eastEnd)).size, 1);
});

test('a storm to which a western half rises above the threshold in one scan stays the same track', (t) => {
  t.is(tracksOf(scans(eastEnd, long)).size, 1);
});

test('a change of shape is no motion: speed and direction stay, and the scan says so', (t) => {
  const followed = follow(scans(long, eastEnd));
  const points = followed.map(({ step }) => step.points[0]);
  const [last, changed] = [points[BEFORE - 1], points[BEFORE]];
  t.true(
    Math.abs((changed?.speed_kmh ?? 0) - (last?.speed_kmh ?? 0)) < 0.01,
    `${last?.speed_kmh} ${changed?.speed_kmh}`,
  );
  t.deepEqual([...(followed[BEFORE]?.step.reshaped ?? [])], [changed?.track_id]);
  t.is(followed[BEFORE - 1]?.step.reshaped.size, 0);
});

test('a scrap of less than a fifth of a storm is not the storm', (t) => {
  t.is(tracksOf(scans(long, (col) => square(ROW, col + 25, 12, 5))).size, 2);
});

test('a storm of like size that rises where less than half of another was is a new track', (t) => {
  t.is(tracksOf(scans(long, (col) => square(ROW, col + 16, 12, 30))).size, 2);
});

test('of two pieces in the place of a storm the one with the larger overlap is the storm', (t) => {
  const frames = scans(long, eastEnd).map((cells, k) =>
    k < BEFORE ? cells : [...cells, square(ROW + 40, COL, 12, 30)],
  );
  const followed = follow(frames);
  t.is(followed[BEFORE]?.step.trackOfCell[0], followed[0]?.step.trackOfCell[0]);
  t.is(followed[BEFORE]?.step.points.length, 2);
});
