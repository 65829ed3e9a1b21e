import type { Cell } from '../../schemas/tables/cells.ts';
import type { Detection } from '../../schemas/tables/detections.ts';
import type { CellShape } from './cells.ts';
import type { Detections } from './detections.ts';
import { type HailProbability, hailProbability, predictedSize } from './predict.ts';
import { detectionPredictors } from './predictors.ts';
import type { ObjectMatch } from './probsevere.ts';

/** What is known of a scan's cells besides their shape, each list in the order of the cells. */
export interface CellFacts {
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
    const { probability, model_version, out_of_range } = probabilities[index] as HailProbability;
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

/** Rows of the detections table: each has the track and the probability of its cell; outside of cells, of its component. */
export function detectionRows(
  { detections, component_area_km2 }: Pick<Detections, 'detections' | 'component_area_km2'>,
  cells: readonly Cell[],
  storm_date: string,
): Detection[] {
  return detections.map((detection, index) => {
    const cell = detection.cell_index === null ? null : (cells[detection.cell_index] as Cell);
    const alone = () => hailProbability(detectionPredictors(detection, component_area_km2[index])).probability;
    return {
      ...detection,
      storm_date,
      track_id: cell?.track_id ?? null,
      ml_probability: cell?.ml_probability ?? alone(),
    };
  });
}
