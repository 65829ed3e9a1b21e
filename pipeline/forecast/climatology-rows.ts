import { MONTHS, type Month, riskTier } from '../../schemas/risk.ts';
import type { ClimatologyCell } from '../../schemas/tables/derived.ts';
import { ANY, GIANT, SEVERE, SIGNIFICANT } from './hail-counts.ts';
import type { HailRates } from './hail-rates.ts';
import type { RiskGrid } from './risk-grid.ts';

/** Weights of the classes of hail in the score: any, severe, significant, giant. */
const SCORE_WEIGHTS = [0.35, 0.4, 0.2, 0.05];

/** Largest published probability: no climatology is certain. */
const MOST_PROBABLE = 0.995;
/** Yearly rate of that probability. */
const MOST_DAYS = -Math.log1p(-MOST_PROBABLE);

type Fact = 'years_of_data' | 'storm_dates' | 'first_date' | 'last_date' | 'data_as_of' | 'data_source';

/**
 * Rows of the climatology in the order of the cells: probabilities of at least one day with hail, scores and risk tiers. `facts` are
 * about the counted storm dates, the same in every row.
 */
export function climatologyRows(
  { cells }: RiskGrid,
  { rates, prior_share }: HailRates,
  facts: Pick<ClimatologyCell, Fact>,
): ClimatologyCell[] {
  const yearScores = scores(rates.map(yearlyRates));
  // The interface does not say which values a monthly score is ranked among; all cells and months are used, so that it shows the
  // season.
  const monthScores = scores(rates.map((byMonth) => Float64Array.from(byMonth.flatMap((rate) => [...rate]))));
  const bounded = boundedRates(rates);
  const yearly = bounded.map(yearlyRates);
  return cells.map(({ geohash4, lat, lon }, cell) => {
    const annual_score = yearScores[cell];
    return {
      geohash4,
      lat,
      lon,
      annual_any: atLeastOnce(yearly[ANY][cell]),
      annual_severe: atLeastOnce(yearly[SEVERE][cell]),
      annual_significant: atLeastOnce(yearly[SIGNIFICANT][cell]),
      annual_giant: atLeastOnce(yearly[GIANT][cell]),
      annual_score,
      risk_tier: riskTier(annual_score),
      peak_month: peakMonth(rates, cell),
      prior_share: prior_share[cell],
      ...facts,
      ...monthly('any', (month) => atLeastOnce(bounded[ANY][month][cell])),
      ...monthly('severe', (month) => atLeastOnce(bounded[SEVERE][month][cell])),
      ...monthly('score', (month) => monthScores[month * cells.length + cell]),
    };
  });
}

/** Yearly rates of a class by cell: the sum of its months. */
function yearlyRates(byMonth: readonly Float64Array[]): Float64Array {
  const [first = new Float64Array()] = byMonth;
  return first.map((_, cell) => byMonth.reduce((sum, rate) => sum + rate[cell], 0));
}

/**
 * Rates with probabilities of at most `MOST_PROBABLE`. The months of a class shrink by one factor, so that they still add up to
 * its year; no class is more frequent than the one before it in any month.
 */
function boundedRates(rates: readonly (readonly Float64Array[])[]): readonly (readonly Float64Array[])[] {
  const bounded: Float64Array[][] = [];
  for (const [k, byMonth] of rates.entries()) {
    const share = yearlyRates(byMonth).map((days) => Math.min(1, MOST_DAYS / days));
    const larger = bounded[k - 1];
    bounded.push(
      byMonth.map((month, m) =>
        month.map((rate, cell) => Math.min(rate * share[cell], larger?.[m]?.[cell] ?? Number.POSITIVE_INFINITY)),
      ),
    );
  }
  return bounded;
}

function monthly<Name extends string>(name: Name, valueAt: (month: number) => number) {
  const values = MONTHS.map((month, at) => [`${name}_${month}`, valueAt(at)]);
  return Object.fromEntries(values) as Record<`${Name}_${Month}`, number>;
}

/** Probability of at least one day at an expected number of days. */
function atLeastOnce(rate: number): number {
  return -Math.expm1(-rate);
}

/** Month, 1 to 12, with the largest rate of severe hail; of equal ones that with more hail of any size, then the first. */
function peakMonth(rates: HailRates['rates'], cell: number): number {
  const more = (k: number, a: number, b: number) => rates[k][b][cell] - rates[k][a][cell];
  const [first] = [...MONTHS.keys()].sort((a, b) => more(SEVERE, a, b) || more(ANY, a, b) || a - b);
  return first + 1;
}

/** Scores 0 to 100: weighted percentile ranks of the rates of every class. */
function scores(rates: readonly Float64Array[]): Uint8Array {
  const ranks = rates.map(percentileRanks);
  return Uint8Array.from(ranks[0], (_, at) =>
    Math.round(100 * ranks.reduce((sum, rank, k) => sum + SCORE_WEIGHTS[k] * rank[at], 0)),
  );
}

/** Percentile rank of each value among all of them, 0..1; equal values share the middle of their ranks. */
export function percentileRanks(values: Float64Array): Float64Array {
  const sorted = values.toSorted();
  const first = new Map<number, number>();
  const end = new Map<number, number>();
  for (const [rank, value] of sorted.entries()) {
    if (!first.has(value)) first.set(value, rank);
    end.set(value, rank + 1);
  }
  return values.map((value) => ((first.get(value) ?? 0) + (end.get(value) ?? 0)) / 2 / sorted.length);
}
