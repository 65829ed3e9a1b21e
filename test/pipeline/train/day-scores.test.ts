import test from 'ava';
import { dayScores, type ScoredDay } from '../../../pipeline/train/day-scores.ts';
import type { TrackPoint } from '../../../schemas/tables/tracks.ts';
import { START } from '../../support/data/parting.ts';
import { square } from '../../support/data/square.ts';

const SCANS = 25;
const KM_PER_COLUMN = 0.854; // at 40 N
const SPEED_KMH = 60 * KM_PER_COLUMN; // two columns in a scan of two minutes

/** A square of hail that drifts east, with the motion that its rows claim. */
function day(claimed: { readonly speed_kmh: number; readonly direction_deg: number }): ScoredDay {
  const scan_times = Array.from({ length: SCANS }, (_, k) => START + k * 120_000);
  const cells = scan_times.map((_, k) => square(1500, 3500 + 2 * k));
  return {
    storm_date: '2026-05-01',
    source: 'simulated',
    scan_times,
    tracks: cells.map(
      ({ lat, lon, area_km2 }, k): TrackPoint => ({
        storm_date: '2026-05-01',
        scan_time: scan_times[k] as number,
        track_id: 'a',
        state: 'tracked',
        cell_index: 0,
        ...{ lat, lon, area_km2, ...claimed },
        motion_source: 'track',
        estimated_size_mm: 30,
        ml_probability: 0.5,
        confidence: 0.5,
        trend: 'steady',
        size_growth_rate_mm_per_min: null,
        scan_count: k + 1,
        first_detected: START,
        duration_min: 2 * k,
        peak_estimated_size_mm: 30,
        peak_ml_probability: 0.5,
        peak_area_km2: area_km2,
        parent_track_id: null,
        merged_into: null,
      }),
    ),
    detections: cells.flatMap(({ rows, cols }, k) =>
      Array.from(rows, (row, i) => ({
        scan_time: scan_times[k] as number,
        row,
        col: cols[i] as number,
        estimated_size_mm: 30,
        track_id: 'a',
      })),
    ),
  };
}

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
