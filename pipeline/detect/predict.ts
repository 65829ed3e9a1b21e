import weights from '../../data/reference/hail-model.json' with { type: 'json' };
import { latRow, lonCol } from '../../schemas/geo/lattice.ts';
import { SIZE_CAP_MM } from '../../schemas/size.ts';
import type { Detection } from '../../schemas/tables/radar.ts';
import type { CellShape } from './cells.ts';
import type { ObjectMatch } from './probsevere.ts';
import { placeQuality } from './quality.ts';

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

/** Inputs of the hail model; null where unknown. */
export interface Predictors {
  readonly mesh_mm: number;
  readonly posh_pct: number | null;
  /** Echo top 50 dBZ minus the 0 C level, both above sea level. */
  readonly echo_top_50_above_freezing_km: number | null;
  /** Area of the storm cell. */
  readonly area_km2: number | null;
  readonly growth_mm_per_min: number | null;
  /** Minutes since the first scan of the storm's track. */
  readonly duration_min: number | null;
}

export const FEATURES = ['ln_mesh', 'posh', 'echo_top_50_above_freezing', 'ln_area', 'growth', 'ln_duration'] as const;
type Feature = (typeof FEATURES)[number];

/** One term of the logistic: weight x (value - mean) / scale, with the value clamped to low .. high. */
interface Term {
  readonly weight: number;
  readonly mean: number;
  readonly scale: number;
  readonly low: number;
  readonly high: number;
  /** Imputation of a missing value: base + slope x ln MESH, its mean at that MESH; `shift` is then added to the score. */
  readonly missing: { readonly base: number; readonly slope: number; readonly shift: number };
}

/** Weights as stored in data/reference/hail-model.json. */
interface HailModel {
  readonly version: string;
  readonly intercept: number;
  readonly terms: Readonly<Record<Feature, Term>>;
  readonly curve: Curve;
}

/** The six features of a case; null where unknown. */
function features(predictors: Predictors): Readonly<Record<Feature, number | null>> {
  const { area_km2, duration_min, posh_pct } = predictors;
  return {
    ln_mesh: Math.log(predictors.mesh_mm),
    posh: posh_pct === null ? null : posh_pct / 100,
    echo_top_50_above_freezing: predictors.echo_top_50_above_freezing_km,
    ln_area: area_km2 === null ? null : Math.log(area_km2),
    growth: predictors.growth_mm_per_min,
    ln_duration: duration_min === null ? null : Math.log(duration_min + 1),
  };
}

function within(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}

/** Linear score of a case, and whether one of its values was clamped to the fitted range. */
function modelScore(
  model: Pick<HailModel, 'intercept' | 'terms'>,
  predictors: Predictors,
): { score: number; out_of_range: boolean } {
  const known = features(predictors);
  let score = model.intercept;
  let out_of_range = false;
  for (const feature of FEATURES) {
    const { weight, mean, scale, low, high, missing } = model.terms[feature];
    // A predictor that was left out has no range to leave.
    if (weight === 0) continue;
    const value = known[feature];
    const held = within(value ?? missing.base + missing.slope * (known.ln_mesh as number), low, high);
    if (value !== null && value !== held) out_of_range = true;
    score += (weight * (held - mean)) / scale + (value === null ? missing.shift : 0);
  }
  return { score, out_of_range };
}

/** Probability, rounded to four decimals: the last bits of exp and log differ between machines. */
export function modelProbability(model: HailModel, predictors: Predictors) {
  const { score, out_of_range } = modelScore(model, predictors);
  return {
    probability: Math.round(onCurve(model.curve, score) * 10_000) / 10_000,
    model_version: model.version,
    out_of_range,
  };
}

/** Calibration curve: non-decreasing, piecewise linear between its knots, constant outside. */
interface Curve {
  readonly score: readonly number[];
  readonly probability: readonly number[];
}

/** Probability on a curve. */
function onCurve({ score, probability }: Curve, at: number): number {
  const upper = score.findIndex((knot) => knot >= at);
  if (upper === 0) return probability[0];
  if (upper < 0) return probability.at(-1) as number;
  const low = score[upper - 1];
  const share = (at - low) / (score[upper] - low);
  const from = probability[upper - 1];
  return from + (probability[upper] - from) * share;
}

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

type PlacedValues = Pick<Detection, 'row' | 'col' | 'scan_time' | 'estimated_size_mm' | 'posh_pct' | 'echo_top_50_km'>;

/** Model inputs of a detection outside every cell, in a component of this area; it has no history. */
export function detectionPredictors(detection: PlacedValues, area_km2: number): Predictors {
  const { row, col, scan_time } = detection;
  return {
    mesh_mm: detection.estimated_size_mm,
    posh_pct: detection.posh_pct,
    echo_top_50_above_freezing_km: aboveFreezing(detection.echo_top_50_km, row, col, scan_time),
    area_km2,
    ...cellHistory(undefined),
  };
}

/** Height of the 50 dBZ echo top above the 0 C level, km. The level does not depend on terrain: null is passed for it. */
function aboveFreezing(echo_top_50_km: number | null, row: number, col: number, scan_time: number): number | null {
  return echo_top_50_km === null ? null : echo_top_50_km - placeQuality(row, col, scan_time, null).freezing_level_km;
}
