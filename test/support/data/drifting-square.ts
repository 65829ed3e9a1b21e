import type { ScoredDay } from '../../../pipeline/train/day-scores.ts';
import type { NowcastDay } from '../../../pipeline/train/nowcast-brier.ts';
import { colLon, LATTICES, rowLat } from '../../../schemas/geo/lattice.ts';
import type { TrackPoint } from '../../../schemas/tables/radar.ts';
import { START } from './parting.ts';
import { square } from './square.ts';

export interface Drift {
  readonly scans: number;
  /** Columns that it goes east with each scan of two minutes. */
  readonly columns: number;
  /** Motion that its rows claim. */
  readonly speed_kmh: number;
  readonly direction_deg: number;
}

/** A square of hail of 30 mm that drifts east, followed by one track. */
export function driftingSquare({ scans, columns, speed_kmh, direction_deg }: Drift): ScoredDay & NowcastDay {
  const scan_times = Array.from({ length: scans }, (_, k) => START + k * 120_000);
  const cells = scan_times.map((_, k) => square(1500, 3500 + columns * k));
  return {
    lattice: LATTICES.conus,
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
        ...{ lat, lon, area_km2, speed_kmh, direction_deg },
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
        lat: rowLat(LATTICES.conus, row),
        lon: colLon(LATTICES.conus, cols[i] as number),
        estimated_size_mm: 30,
        cell_index: 0,
        track_id: 'a',
      })),
    ),
  };
}
