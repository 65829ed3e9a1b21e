import test from 'ava';
import { destination } from '../../../schemas/geo/distance.ts';
import { motionErrors, stormStatistics, survivalCases } from './storm-statistics.ts';

const START = Date.parse('2025-05-01T20:00:00Z');
const at = (minutes: number) => START + minutes * 60_000;
const HOME = { lat: 36, lon: -98 };

/** A storm every 2 minutes for half an hour, that goes 36 km/h east while its tracker says something else. */
const going = (speed_kmh: number, direction_deg: number) =>
  Array.from({ length: 16 }, (_, scan) => ({
    track_id: 'one',
    scan_time: at(2 * scan),
    ...destination(HOME, 90, 1.2 * scan),
    scan_count: scan + 1,
    motion: { speed_kmh, direction_deg },
    is_reshaped: false,
    size_mm: 30,
  }));

test('the error of a motion is its difference from the displacement over the lead, of storms that are mature', (t) => {
  const errors = motionErrors(going(46, 60), 14, 6);
  // The sixth scan is the first that counts, the ninth the last that has a scan 14 minutes later.
  t.is(errors.length, 4);
  for (const { speed_kmh, direction_deg } of errors) {
    t.true(Math.abs(speed_kmh - 10) < 0.05, `${speed_kmh}`);
    t.true(Math.abs(direction_deg + 30) < 0.2, `${direction_deg}`);
  }
});

test('errors of direction go the short way round north', (t) => {
  const north = going(36, 350).map((storm, scan) => ({ ...storm, ...destination(HOME, 10, 1.2 * scan) }));
  for (const { direction_deg } of motionErrors(north, 14, 6)) t.true(Math.abs(direction_deg + 20) < 0.2);
});

test('a storm without a motion, or one that hardly moves, has no error', (t) => {
  t.deepEqual(
    motionErrors(
      going(36, 90).map((storm) => ({ ...storm, motion: null })),
      14,
      6,
    ),
    [],
  );
  t.deepEqual(motionErrors(going(2, 90), 14, 6), []);
});

test('a storm that changes its shape on the way has no error: a jump of its centroid is no motion', (t) => {
  const reshaped = going(46, 60).map((storm, scan) => ({ ...storm, is_reshaped: scan === 9 }));
  // Of the sixth to the ninth scan none is left, the tenth would be the next.
  t.deepEqual(motionErrors(reshaped, 14, 6), []);
  const before = going(46, 60).map((storm, scan) => ({ ...storm, is_reshaped: scan === 5 }));
  t.is(motionErrors(before, 14, 6).length, 4);
});

test('hail survives where the storm has it again after the lead, not where it is smaller or gone', (t) => {
  const series = (track_id: string, sizes: readonly (number | null)[]) =>
    sizes.flatMap((size_mm, scan) => (size_mm === null ? [] : [{ track_id, scan_time: at(5 * scan), size_mm }]));
  const sizes = [
    ...series('stays', [20, 25, 22, 19, 18]),
    ...series('weakens', [20, 15, 10, 18.9, 30]),
    ...series('vanishes', [40, 41, null, null, null]),
  ];
  // Scans reach 20 minutes: 15 minutes after the third there is none.
  t.deepEqual(survivalCases(sizes, 15, 19), [
    { size_mm: 20, survived: true },
    { size_mm: 25, survived: false },
    { size_mm: 20, survived: false },
    { size_mm: 40, survived: false },
    { size_mm: 41, survived: false },
  ]);
});

test('evenings are counted together, a track never goes on in the next', (t) => {
  const [early, late] = [going(46, 60).slice(0, 8), going(46, 60).slice(9)];
  t.is(stormStatistics([going(46, 60), going(46, 120)]).motion_cases, 8);
  t.true(Math.abs(stormStatistics([going(46, 60), going(46, 120)]).motion_direction_deg - 30) < 0.2);
  t.is(stormStatistics([early, late]).motion_cases, 0);
});
