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
export type Feature = (typeof FEATURES)[number];

/** One term of the logistic: weight x (value - mean) / scale, with the value clamped to low .. high. */
export interface Term {
  readonly weight: number;
  readonly mean: number;
  readonly scale: number;
  readonly low: number;
  readonly high: number;
  /** Imputation of a missing value: base + slope x ln MESH, its mean at that MESH; `shift` is then added to the score. */
  readonly missing: { readonly base: number; readonly slope: number; readonly shift: number };
}

/** Weights as stored in data/reference/hail-model.json. */
export interface HailModel {
  readonly version: string;
  readonly intercept: number;
  readonly terms: Readonly<Record<Feature, Term>>;
  readonly curve: Curve;
}

/** The six features of a case; null where unknown. */
export function features(predictors: Predictors): Readonly<Record<Feature, number | null>> {
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

export function within(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}

/** Linear score of a case, and whether one of its values was clamped to the fitted range. */
export function modelScore(
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
export interface Curve {
  readonly score: readonly number[];
  readonly probability: readonly number[];
}

/** Probability on a curve. */
export function onCurve({ score, probability }: Curve, at: number): number {
  const upper = score.findIndex((knot) => knot >= at);
  if (upper === 0) return probability[0];
  if (upper < 0) return probability.at(-1) as number;
  const low = score[upper - 1];
  const share = (at - low) / (score[upper] - low);
  const from = probability[upper - 1];
  return from + (probability[upper] - from) * share;
}
