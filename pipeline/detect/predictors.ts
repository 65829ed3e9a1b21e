import { latRow, lonCol } from '../../schemas/geo/lattice.ts';
import type { CellShape } from './cells.ts';
import type { DetectionShape } from './detections.ts';
import { type Predictors, vilDensity } from './model.ts';
import { placeQuality } from './quality.ts';

/** What the track of a cell knows of its past. */
export interface CellHistory {
  /** Slope of the largest size over ten minutes; null before four scans. */
  readonly growth_mm_per_min: number | null;
  /** Minutes since the track's first scan; null for a cell without a track. */
  readonly duration_min: number | null;
}

/** The past of a cell, from the row of its track in the same scan. */
export function cellHistory(
  track: { readonly size_growth_rate_mm_per_min: number | null; readonly duration_min: number } | undefined,
): CellHistory {
  return {
    growth_mm_per_min: track?.size_growth_rate_mm_per_min ?? null,
    duration_min: track?.duration_min ?? null,
  };
}

/** What the small model looks at in a storm cell. */
export function cellPredictors(cell: CellShape, scan_time: number, history: CellHistory): Predictors {
  return {
    mesh_mm: cell.estimated_size_mm,
    posh_pct: cell.posh_pct,
    vil_density_g_m3: vilDensity(cell.vil_kg_m2, cell.echo_top_18_km),
    echo_top_50_above_freezing_km: aboveFreezing(cell.echo_top_50_km, latRow(cell.lat), lonCol(cell.lon), scan_time),
    area_km2: cell.area_km2,
    ...history,
  };
}

/** The same for a detection outside every cell, in a component of this area; it has no past. */
export function detectionPredictors(detection: DetectionShape, area_km2: number): Predictors {
  const { row, col, scan_time } = detection;
  return {
    mesh_mm: detection.estimated_size_mm,
    posh_pct: detection.posh_pct,
    vil_density_g_m3: vilDensity(detection.vil_kg_m2, detection.echo_top_18_km),
    echo_top_50_above_freezing_km: aboveFreezing(detection.echo_top_50_km, row, col, scan_time),
    area_km2,
    growth_mm_per_min: null,
    duration_min: null,
  };
}

/** The freezing level has nothing to do with terrain. */
function aboveFreezing(echo_top_50_km: number | null, row: number, col: number, scan_time: number): number | null {
  return echo_top_50_km === null ? null : echo_top_50_km - placeQuality(row, col, scan_time, null).freezing_level_km;
}
