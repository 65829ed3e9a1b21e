import type { Cell, Detection } from '../../schemas/tables/radar.ts';
import type { CellShape } from './cells.ts';
import type { Detections } from './detections.ts';
import { detectionPredictors, type HailProbability, hailProbability, predictedSize } from './predict.ts';
import type { ObjectMatch } from './probsevere.ts';

/** Columns of a scan's cells besides their shape, each list in the order of the cells. */
interface CellFacts {
  readonly matches: readonly (ObjectMatch | null)[];
  readonly confidences: readonly number[];
  readonly track_ids: readonly string[];
  readonly probabilities: readonly HailProbability[];
}

/** Rows of the cells table. */
export function cellRows(
  cells: readonly CellShape[],
  { matches, confidences, track_ids, probabilities }: CellFacts,
  scan_time: number,
  storm_date: string,
): Cell[] {
  return cells.map((cell, index) => {
    const { probability, model_version, out_of_range } = probabilities[index];
    const { pixelIndex: _, peakIndex: __, ...columns } = cell;
    return {
      ...columns,
      storm_date,
      scan_time,
      track_id: track_ids[index] ?? null,
      ml_predicted_size_mm: predictedSize(cell.estimated_size_mm),
      ml_probability: probability,
      model_version,
      probsevere_id: matches[index]?.probsevere_id ?? null,
      confidence: confidences[index],
      flag_out_of_range: out_of_range,
    };
  });
}

/** Rows of the detections table, with the track and the probability of their cell; outside cells, the probability of their component. */
export function detectionRows(
  { detections, component_area_km2 }: Pick<Detections, 'detections' | 'component_area_km2'>,
  cells: readonly Cell[],
  storm_date: string,
): Detection[] {
  return detections.map((detection, index) => {
    const cell = detection.cell_index === null ? null : cells[detection.cell_index];
    const alone = () => hailProbability(detectionPredictors(detection, component_area_km2[index])).probability;
    return {
      ...detection,
      storm_date,
      track_id: cell?.track_id ?? null,
      ml_probability: cell?.ml_probability ?? alone(),
    };
  });
}

/** Probability columns of the tracks table. */
export interface TrackProbability {
  readonly ml_probability: number;
  readonly confidence: number;
  /** Largest probability over the life of the track. */
  readonly peak_ml_probability: number;
}

/**
 * Probability and confidence of every track of a scan, by track_id, from its cell; a track without a cell keeps its previous values.
 */
export function trackProbabilities(
  points: readonly { readonly track_id: string; readonly cell_index: number | null }[],
  before: Readonly<Record<string, TrackProbability>>,
  cellProbabilities: readonly HailProbability[],
  cellConfidences: readonly number[],
): Record<string, TrackProbability> {
  const now: Record<string, TrackProbability> = {};
  for (const { track_id, cell_index } of points) {
    const last = before[track_id];
    if (cell_index === null) {
      now[track_id] = last as TrackProbability;
      continue;
    }
    const ml_probability = cellProbabilities[cell_index].probability;
    now[track_id] = {
      ml_probability,
      confidence: cellConfidences[cell_index],
      peak_ml_probability: Math.max(ml_probability, last?.peak_ml_probability ?? 0),
    };
  }
  return now;
}
