import test from 'ava';
import { type NowcastDay, nowcastBrier } from '../../../pipeline/train/nowcast-brier.ts';
import { liveStorms, pointsAround } from '../../../pipeline/train/nowcast-points.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';
import { fitFor, nowcast } from '../../../schemas/nowcast/probability.ts';
import { driftingSquare } from '../../support/data/drifting-square.ts';

/** A square of hail of 30 mm, seen every two minutes, that goes so many columns east with each scan. */
const day = (scans: number, columns: number): NowcastDay =>
  driftingSquare({ scans, columns, speed_kmh: 25.6 * columns, direction_deg: 90 });

test('hail that stays where it is makes persistence perfect, and the probabilities less so', (t) => {
  const [t15, t30, t45] = nowcastBrier(day(25, 0));
  t.deepEqual(
    [t15, t30, t45].map((score) => [score?.lead_min, score?.baseline]),
    [
      [15, 0],
      [30, 0],
      [45, 0],
    ],
  );
  t.true((t15?.value as number) > 0 && (t15?.value as number) < 0.25, `${t15?.value}`);
});

test('the score is the mean square of what the service said less what came, hail looked for pixel by pixel', (t) => {
  const moving = day(25, 2);
  const [first, second] = moving.scan_times as [number, number];
  const seen = { tracks: moving.tracks.filter(({ scan_time }) => scan_time === second), detections: moving.detections };
  const pixels = seen.detections.filter(({ scan_time }) => scan_time === second);
  const storms = liveStorms(seen.tracks, pixels);
  const squares = pointsAround(storms, 0, 0).map((point) => {
    const said = nowcast(point, storms, second, fitFor('simulated')).t30;
    const came = moving.detections.some(
      (pixel) => pixel.scan_time >= second && pixel.scan_time <= second + 30 * 60_000 && distanceKm(pixel, point) <= 1,
    );
    return (said - Number(came)) ** 2;
  });
  const score = nowcastBrier(moving).find(({ lead_min }) => lead_min === 30);
  t.true(first < second);
  t.is(score?.n, squares.length);
  t.true(squares.length > 0);
  t.true(
    Math.abs((score?.value as number) - squares.reduce((sum, square) => sum + square, 0) / squares.length) < 1e-12,
  );
});

test('a storm that a scan missed is asked about where it was seen last, as the service does, until it ends', (t) => {
  const seen = day(25, 0);
  const missed_ms = seen.scan_times[11] as number; // the second time that is asked: 20 minutes after the second scan
  const cases = (state: 'coasted' | 'ended') => {
    const tracks = seen.tracks
      .filter(({ scan_time }) => scan_time <= missed_ms)
      .map((row) => (row.scan_time === missed_ms ? { ...row, state, cell_index: null } : row));
    const detections = seen.detections.filter(({ scan_time }) => scan_time !== missed_ms);
    return nowcastBrier({ ...seen, tracks, detections }).find(({ lead_min }) => lead_min === 15)?.n;
  };
  t.deepEqual([cases('ended'), cases('coasted')], [12, 24]);
});

test('a lead that the scans do not reach, or only over a gap of more than ten minutes, has no score', (t) => {
  t.deepEqual(
    nowcastBrier(day(12, 1)).map(({ lead_min }) => lead_min),
    [15],
  );
  t.deepEqual(nowcastBrier(day(7, 1)), []);
  const whole = day(25, 1);
  const gap = (time: number) => time < whole.scan_times[6] || time > whole.scan_times[12];
  const cut = {
    ...whole,
    scan_times: whole.scan_times.filter(gap),
    tracks: whole.tracks.filter(({ scan_time }) => gap(scan_time)),
    detections: whole.detections.filter(({ scan_time }) => gap(scan_time)),
  };
  t.deepEqual(
    nowcastBrier(cut).map(({ lead_min }) => lead_min),
    [15],
  );
});

test('hail below 19 mm is no strike', (t) => {
  const small = day(25, 0);
  const detections = small.detections.map((pixel) => ({ ...pixel, estimated_size_mm: 18.9 }));
  for (const { baseline, value } of nowcastBrier({ ...small, detections })) {
    t.is(baseline, 0);
    t.true(value < 0.25);
  }
});
