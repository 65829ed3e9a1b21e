/** Words for the climatological risk of a place by its score, 0 to 100: inclusive lower bounds, lowest first. */
const RISK_TIERS = [
  { tier: 'very_low', from: 0 },
  { tier: 'low', from: 10 },
  { tier: 'moderate', from: 30 },
  { tier: 'high', from: 55 },
  { tier: 'very_high', from: 80 },
] as const;

type RiskTier = (typeof RISK_TIERS)[number]['tier'];

export const RISK_TIER_WORDS = RISK_TIERS.map(({ tier }) => tier) as [RiskTier, ...RiskTier[]];

/** Tier of a score; throws RangeError below 0 and for NaN. */
export function riskTier(score: number): RiskTier {
  const found = RISK_TIERS.findLast(({ from }) => score >= from);
  if (found === undefined) throw new RangeError(`score is ${score}, expected 0 to 100`);
  return found.tier;
}

/** With a larger share of built-in rates a cell has no tier: it would rank regions, not what was counted. */
export const TIER_PRIOR_SHARE_MAX = 0.9;

/** Radius around the centre of a geohash4 cell within which hail makes a day with hail, km. */
export const RISK_RADIUS_KM = 10;
/** Months of the year as columns name them. */
export const MONTHS = ['01', '02', '03', '04', '05', '06', '07', '08', '09', '10', '11', '12'] as const;
export type Month = (typeof MONTHS)[number];
