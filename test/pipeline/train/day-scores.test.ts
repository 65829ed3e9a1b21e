import test from 'ava';
import { dayScores, type ScoredDay } from '../../../pipeline/train/day-scores.ts';
import { driftingSquare } from '../../support/data/drifting-square.ts';

const SCANS = 25;
const KM_PER_COLUMN = 0.854; // at 40 N
const SPEED_KMH = 60 * KM_PER_COLUMN; // two columns in a scan of two minutes

/** A square of hail that drifts east, with the motion that its rows claim. */
const day = (claimed: { readonly speed_kmh: number; readonly direction_deg: number }) =>
  driftingSquare({ scans: SCANS, columns: 2, ...claimed });

function found(scored: ScoredDay, name: string, lead_min: number | null) {
  return dayScores(scored).find((score) => score.score === name && score.lead_min === lead_min);
}

test('a storm that goes where its motion says scores one, and its errors are none', (t) => {
  const steady = day({ speed_kmh: SPEED_KMH, direction_deg: 90 });
  t.is(found(steady, 'overlap_csi', 8)?.value, 1);
  t.is(found(steady, 'swath_csi', 15)?.value, 1);
  t.true((found(steady, 'position_error_km', 14)?.value as number) < 0.1);
  t.true((found(steady, 'direction_error_deg', 15)?.value as number) < 0.5);
  t.true((found(steady, 'straightness_km', null)?.value as number) < 0.01);
  t.is(found(steady, 'duration_min', null)?.value, 48);
});

test('a storm that goes east while its motion says north is off by 90 degrees and by the diagonal', (t) => {
  const wrong = day({ speed_kmh: SPEED_KMH, direction_deg: 0 });
  t.true(Math.abs((found(wrong, 'direction_error_deg', 15)?.value as number) - 90) < 0.5);
  const error = found(wrong, 'position_error_km', 14);
  const way_km = (14 / 60) * SPEED_KMH;
  t.true(Math.abs((error?.value as number) - way_km * Math.SQRT2) < 0.2, `${error?.value}`);
  t.true(Math.abs((error?.baseline as number) - way_km) < 0.2, `${error?.baseline}`);
  t.is(found(wrong, 'overlap_csi', 8)?.value, 0);
});

test('the baseline is the storm left where it is: of six columns four are the same after two minutes', (t) => {
  const steady = day({ speed_kmh: SPEED_KMH, direction_deg: 90 });
  t.is(found(steady, 'overlap_csi', 4)?.baseline, 12 / 60); // 2 of 6 columns: 12 pixels of 36 + 36 - 12
  t.is(found(steady, 'overlap_csi', 4)?.n, SCANS - 2);
});

test('a date without storms has no scores, and every score names its source', (t) => {
  const quiet = { ...day({ speed_kmh: 0, direction_deg: 0 }), tracks: [], detections: [] };
  t.deepEqual(dayScores(quiet), []);
  t.true(dayScores(day({ speed_kmh: 1, direction_deg: 0 })).every(({ data_source }) => data_source === 'simulated'));
});
