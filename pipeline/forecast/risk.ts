import { RISK_CATEGORIES, type RiskCategory } from '../../schemas/tables/forecast.ts';

/** Probabilities at which the next category begins. */
const CATEGORY_BOUNDS = [0.02, 0.05, 0.15, 0.3, 0.45] as const;
/** An environment of significant hail lifts the category by one where hail is likely enough. */
const LIFTING_SHIP = 1.5;
const LIFTED_FROM = 0.1;
/** Below this probability a size says nothing. */
const SIZE_FROM = 0.02;
const SEVERE_MM = 25;

/** Risk in a word; `ship` null counts as an ordinary environment. */
export function riskCategory(hail_probability: number, ship: number | null): RiskCategory {
  const rank = CATEGORY_BOUNDS.filter((bound) => hail_probability >= bound).length;
  const lifted = ship !== null && ship >= LIFTING_SHIP && hail_probability >= LIFTED_FROM ? 1 : 0;
  return RISK_CATEGORIES[Math.min(RISK_CATEGORIES.length - 1, rank + lifted)] as RiskCategory;
}

/** Risk from 0 to 100; a size of null counts as 25 mm. */
export function riskScore(hail_probability: number, estimated_size_mm: number | null): number {
  const excess = Math.max(0, (estimated_size_mm ?? SEVERE_MM) - SEVERE_MM) / SEVERE_MM;
  return Math.round(100 * (1 - Math.exp(-(3.2 * hail_probability + 1.1 * hail_probability * excess))));
}

/** The size as it is published: null where hail is too unlikely for one. */
export function publishedSize(hail_probability: number, size_mm: number | null): number | null {
  return hail_probability < SIZE_FROM ? null : size_mm;
}
