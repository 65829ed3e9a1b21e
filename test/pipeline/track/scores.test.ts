import test from 'ava';
import { addOffset } from '../../../pipeline/track/local-plane.ts';
import { median, quantile } from '../../../pipeline/track/median.ts';
import { largestStepKm, type ScoredPoint, straightLineRmseKm, trackScores } from '../../../pipeline/track/scores.ts';

const HERE = { lat: 38, lon: -97 };

/** A track through positions in km, two minutes apart. */
function track(track_id: string, kilometres: readonly (readonly [east: number, north: number])[]): ScoredPoint[] {
  return kilometres.map(([east, north], i) => ({
    track_id,
    scan_time: i * 120_000,
    ...addOffset(HERE, { east, north }),
    size: 30 + (i % 2),
    reshaped: false,
  }));
}

const STAIRS = track('stairs', [
  [0, 0],
  [1, 1],
  [2, 0],
  [3, 1],
  [4, 0],
  [5, 1],
]);

test('points on a line have no error about their best line, whatever its direction', (t) => {
  for (const [east, north] of [
    [1, 0],
    [0, 1],
    [0.7, -1.3],
  ] as const) {
    const points = track(
      'line',
      [0, 1, 2, 3, 5, 9].map((k) => [k * east, k * north] as const),
    );
    t.true(straightLineRmseKm(points) < 0.005);
  }
});

test('the error about the best line is orthogonal to it: a square has half its side, not its diagonal', (t) => {
  const square = track('square', [
    [-1, -1],
    [1, -1],
    [1, 1],
    [-1, 1],
  ]);
  t.true(Math.abs(straightLineRmseKm(square) - 1) < 0.005);
});

test('a zigzag of 1 km has an error that agrees with the smaller eigenvalue worked out by hand', (t) => {
  const xx = 35 / 12;
  const yy = 1 / 4;
  const xy = 1 / 4; // mean of (x - 2.5)(y - 0.5) over the six points
  const smallest = (xx + yy) / 2 - Math.sqrt(((xx - yy) / 2) ** 2 + xy ** 2);
  t.true(Math.abs(straightLineRmseKm(STAIRS) - Math.sqrt(smallest)) < 0.002);
});

test('a step over a missed scan counts whole', (t) => {
  const points = track('gap', [
    [0, 0],
    [1, 0],
    [2, 0],
    [5, 4],
  ]);
  t.true(Math.abs(largestStepKm(points) - 5) < 0.01);
});

test('a jump of the centre with a change of shape is no step, but counts for straightness', (t) => {
  const path = [0, 1, 2, 3, 4, 5].map((k) => [k, k < 3 ? 0 : 3] as const);
  const jump = track('jump', path);
  const reshaped = jump.map((point, k) => ({ ...point, reshaped: k === 3 }));
  t.true(Math.abs(largestStepKm(jump) - Math.hypot(1, 3)) < 0.01);
  t.true(Math.abs(largestStepKm(reshaped) - 1) < 0.01);
  t.is(trackScores(reshaped).rmse_median_km, trackScores(jump).rmse_median_km);
});

test('tracks under ten minutes and under six positions stay out of the scores they would spoil', (t) => {
  const short = track('short', [
    [0, 0],
    [40, 0],
  ]);
  const scores = trackScores([...STAIRS, ...short]);
  t.is(scores.tracks, 2);
  t.is(scores.long_tracks, 1);
  t.is(scores.long_duration_median_min, 10);
  t.is(scores.scored_tracks, 1);
  t.true((scores.step_median_km as number) < 1.5);
  t.true(Math.abs((scores.mismatch_sd_median as number) - 0.5) < 1e-12);
});

test('no track, no score', (t) => {
  const { long_tracks, rmse_median_km, step_p90_km } = trackScores([]);
  t.deepEqual([long_tracks, rmse_median_km, step_p90_km], [0, null, null]);
});

test('medians and quantiles lie between their neighbours', (t) => {
  t.is(median([4, 1, 3]), 3);
  t.is(median([4, 1, 3, 2]), 2.5);
  t.is(quantile([0, 10], 0.9), 9);
  t.is(quantile([7], 0.9), 7);
});
