import { RISK_CATEGORIES, type RiskCategory } from '../../schemas/tables/forecast.ts';

/** Largest values of a model within 40 km in one hour; null where the model has none. */
export interface Predictors {
  readonly reflectivity_dbz: number | null;
  readonly updraft_helicity_m2_s2: number | null;
  readonly hail_mm: number | null;
  readonly cape_j_kg: number | null;
  readonly ship: number | null;
}

/**
 * Reflectivity and updraft helicity at which a hailing storm has a probability of 0.5, the width of the logistic step of the
 * one and the power of the other: p = u^power / (u^power + middle^power), because most of a country has no rotation at all and
 * a probability above 0 there would add up to circles of hail on a quiet day. Judgement, anchored to the climatology of
 * reports: SCIENCE.md, "Hourly forecast".
 */
const STORM_DBZ = { middle: 64, width: 2 } as const;
const STORM_M2_S2 = { middle: 150, power: 2.5 } as const;

/** Sizes of the hail in the model from which hail is likelier. */
const SEVERE_MM = 25;
const LARGE_MM = 50;
const LITTLE_CAPE_J_KG = 250;

const SIZE_MM = { low: 10, high: 110 } as const;

/**
 * Probability that a hailing storm passes within 40 km in the hour: the larger of those by the model's strongest echo and by its
 * strongest rotation; null when the model has neither.
 */
export function stormProbability(
  predictors: Pick<Predictors, 'reflectivity_dbz' | 'updraft_helicity_m2_s2'>,
): number | null {
  const { reflectivity_dbz, updraft_helicity_m2_s2 } = predictors;
  if (reflectivity_dbz === null && updraft_helicity_m2_s2 === null) return null;
  const echo = reflectivity_dbz === null ? 0 : logistic((reflectivity_dbz - STORM_DBZ.middle) / STORM_DBZ.width);
  const turning = Math.max(0, updraft_helicity_m2_s2 ?? 0) ** STORM_M2_S2.power;
  return Math.max(echo, turning / (turning + STORM_M2_S2.middle ** STORM_M2_S2.power));
}

/**
 * Probability of hail >= 25 mm, given a storm. A quantity that the model lacks adds nothing.
 * Source: SCIENCE.md, "Hourly forecast".
 */
export function hailGivenStorm(predictors: Omit<Predictors, 'reflectivity_dbz'>): number {
  const { updraft_helicity_m2_s2, hail_mm, cape_j_kg, ship } = predictors;
  return logistic(
    -1.1 +
      0.9 * Math.log(1 + Math.max(0, updraft_helicity_m2_s2 ?? 0) / 75) +
      0.7 * Math.log(1 + Math.max(0, ship ?? 0)) +
      (hail_mm !== null && hail_mm >= SEVERE_MM ? 0.8 : 0) +
      (hail_mm !== null && hail_mm >= LARGE_MM ? 0.3 : 0) -
      (cape_j_kg !== null && cape_j_kg < LITTLE_CAPE_J_KG ? 0.6 : 0),
  );
}

/**
 * Median of the largest stone, given hail, mm: the geometric mean of the hail size in the model and of a size that grows with
 * the significant hail parameter; one of the two where the other is missing, null without both.
 */
export function conditionalSizeMm({ hail_mm, ship }: Pick<Predictors, 'hail_mm' | 'ship'>): number | null {
  const environment_mm = ship === null ? null : SEVERE_MM * (1 + 0.35 * Math.max(0, ship));
  if (hail_mm === null && environment_mm === null) return null;
  const size_mm = Math.sqrt((hail_mm ?? environment_mm ?? 0) * (environment_mm ?? hail_mm ?? 0));
  return Math.min(SIZE_MM.high, Math.max(SIZE_MM.low, size_mm));
}

export function logistic(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

/** Probabilities at which the next category begins. */
const CATEGORY_BOUNDS = [0.02, 0.05, 0.15, 0.3, 0.45] as const;
/** SHIP from which the category is one higher, and the probability of hail that this requires. */
const LIFTING_SHIP = 1.5;
const LIFTED_FROM = 0.1;
/** Probability from which a size is published. */
export const SIZE_FROM = 0.02;

/** Risk category; `ship` null counts as an ordinary environment. */
export function riskCategory(hail_probability: number, ship: number | null): RiskCategory {
  const rank = CATEGORY_BOUNDS.filter((bound) => hail_probability >= bound).length;
  const lifted = ship !== null && ship >= LIFTING_SHIP && hail_probability >= LIFTED_FROM ? 1 : 0;
  return RISK_CATEGORIES[Math.min(RISK_CATEGORIES.length - 1, rank + lifted)];
}

/** Risk from 0 to 100; a size of null counts as 25 mm. */
export function riskScore(hail_probability: number, estimated_size_mm: number | null): number {
  const excess = Math.max(0, (estimated_size_mm ?? SEVERE_MM) - SEVERE_MM) / SEVERE_MM;
  return Math.round(100 * (1 - Math.exp(-(3.2 * hail_probability + 1.1 * hail_probability * excess))));
}
