import weights from '../../data/reference/hail-model.json' with { type: 'json' };
import { SIZE_CAP_MM } from '../../schemas/size.ts';
import { type HailModel, modelProbability, type Predictors } from './hail-model.ts';
import type { ObjectMatch } from './probsevere.ts';

/** ln D = base + slope ln MESH, not fitted. The median of reports grows more slowly than MESH, whose errors are multiplicative. */
const SIZE_LAW = { base: 1.18, slope: 0.62, min_mm: 5, max_mm: 120 } as const;

const MODEL: HailModel = weights;

/** Median size of a ground report, mm, to one decimal, 5..120; not the largest size. */
export function predictedSize(mesh_mm: number): number {
  const { base, slope } = SIZE_LAW;
  const size_mm = Math.exp(base + slope * Math.log(Math.min(SIZE_CAP_MM, mesh_mm)));
  return Math.round(10 * Math.min(SIZE_LAW.max_mm, Math.max(SIZE_LAW.min_mm, size_mm))) / 10;
}

export interface HailProbability {
  /** Probability of hail >= 25.4 mm with this storm within 60 minutes, four decimals. */
  readonly probability: number;
  readonly model_version: string;
  /** A predictor lay outside the fitted range and was clamped to it. */
  readonly out_of_range: boolean;
}

/** Probability of hail >= 25.4 mm with this storm within 60 minutes by our own model. */
export function hailProbability(predictors: Predictors): HailProbability {
  return modelProbability(MODEL, predictors);
}

/**
 * Probability of a storm cell: that of its ProbSevere object; our own model without an object, or where the cell is much weaker
 * than its object and the model gives less.
 */
export function cellProbability(predictors: Predictors, match: ObjectMatch | null): HailProbability {
  const own = hailProbability(predictors);
  if (!match || (match.capped && own.probability < match.probability)) return own;
  return { probability: match.probability, model_version: match.object.model, out_of_range: false };
}
