import type { HailProbability } from './predict.ts';

/** What is published of a track besides its place and motion. */
export interface TrackProbability {
  readonly ml_probability: number;
  readonly confidence: number;
  /** Largest probability that the track ever had. */
  readonly peak_ml_probability: number;
}

/**
 * Probability and confidence of every track of a scan, by track_id: those of its cell. A track without a cell keeps the
 * ones it had.
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
    const ml_probability = (cellProbabilities[cell_index] as HailProbability).probability;
    now[track_id] = {
      ml_probability,
      confidence: cellConfidences[cell_index],
      peak_ml_probability: Math.max(ml_probability, last?.peak_ml_probability ?? 0),
    };
  }
  return now;
}
