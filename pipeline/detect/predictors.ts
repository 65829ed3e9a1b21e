import { latRow, lonCol } from '../../schemas/geo/lattice.ts';
import type { CellShape } from './cells.ts';
import type { DetectionShape } from './detections.ts';
import type { Predictors } from './hail-model.ts';
import { placeQuality } from './quality.ts';

/** Growth and age of a cell by its track. */
interface CellHistory {
  /** Slope of the largest size over ten minutes; null before four scans. */
  readonly growth_mm_per_min: number | null;
  /** Minutes since the first scan of the track; null for a cell without a track. */
  readonly duration_min: number | null;
}

/** History of a cell from the row of its track in the same scan. */
export function cellHistory(
  track: { readonly size_growth_rate_mm_per_min: number | null; readonly duration_min: number } | undefined,
): CellHistory {
  return {
    growth_mm_per_min: track?.size_growth_rate_mm_per_min ?? null,
    duration_min: track?.duration_min ?? null,
  };
}

/** Model inputs of a storm cell. */
export function cellPredictors(cell: CellShape, scan_time: number, history: CellHistory): Predictors {
  return {
    mesh_mm: cell.estimated_size_mm,
    posh_pct: cell.posh_pct,
    echo_top_50_above_freezing_km: aboveFreezing(cell.echo_top_50_km, latRow(cell.lat), lonCol(cell.lon), scan_time),
    area_km2: cell.area_km2,
    ...history,
  };
}

/** Model inputs of a detection outside every cell, in a component of this area; it has no history. */
export function detectionPredictors(detection: DetectionShape, area_km2: number): Predictors {
  const { row, col, scan_time } = detection;
  return {
    mesh_mm: detection.estimated_size_mm,
    posh_pct: detection.posh_pct,
    echo_top_50_above_freezing_km: aboveFreezing(detection.echo_top_50_km, row, col, scan_time),
    area_km2,
    growth_mm_per_min: null,
    duration_min: null,
  };
}

/** Height of the 50 dBZ echo top above the 0 C level, km. The level does not depend on terrain: null is passed for it. */
function aboveFreezing(echo_top_50_km: number | null, row: number, col: number, scan_time: number): number | null {
  return echo_top_50_km === null ? null : echo_top_50_km - placeQuality(row, col, scan_time, null).freezing_level_km;
}
